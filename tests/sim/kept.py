# SPDX-License-Identifier: Apache-2.0
"""Results that outlive the run that found them: a file with a JSON object a line."""

import json


class Kept:
    def __init__(self, path, again):
        """again: what was kept is forgotten."""
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if again:
            path.unlink(missing_ok=True)

    def read(self):
        if not self.path.exists():
            return
        for line in self.path.read_text().splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue  # cut off when the last run was stopped

    def add(self, result):
        with self.path.open("a") as file:
            file.write(json.dumps(result) + "\n")
