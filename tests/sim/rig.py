#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small proof of the simulator's rig, from the objects of a build: for each checker a planted bug,
which it finds, and which passes the same seeds when it is off. Only the files that a bug changes are
compiled anew, and linked before the archive that holds the healthy ones."""

import argparse
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from planted import CHECKERS, ROOT, Search, all_patches

# Each is seen by one checker alone, and soon.
BUGS = {"applied-before-own-sync": "raft", "outcome-depends-on-who-waits": "entries",
        "hash-that-members-do-not-compare": "hash", "compare-ignored": "history",
        "range-ignores-its-limit": "content", "watchers-read-again-after-a-snapshot": "watch",
        "lease-expires-a-second-early": "lease", "call-answered-twice": "calls",
        "name-of-the-data-directory-not-synced": "member",
        "lost-proposal-never-answered": "liveness", "campaign-without-a-pre-vote": "elections",
        "late-reads-kept": "queues"}
assert set(BUGS.values()) == set(CHECKERS)


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"rig: this failed: {shlex.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


class Build:
    def __init__(self, folder):
        self.folder = folder
        lines = run(["ninja", "-t", "commands", "quorate-sim"], folder).splitlines()
        self.link = next(line for line in lines if " -o bin/quorate-sim " in line)
        self.compile = lines

    def plant(self, patch, scratch):
        """The path of a simulator with the bug in it."""
        for name in patch.touched():
            source = scratch / name
            source.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source)
        wrong = patch.apply(scratch)
        if wrong:
            sys.exit(f"rig: {patch.path.name} does not apply: {wrong}")
        objects = " ".join(str(self.compiled(name, scratch)) for name in patch.touched())
        program = scratch / "quorate-sim"
        run(["sh", "-c", self.link.replace(" -o bin/quorate-sim ",
                                           f" {objects} -o {program} ")], self.folder)
        return program

    def compiled(self, name, scratch):
        """The object of a planted file."""
        healthy = next((line for line in self.compile if line.endswith(f" -c {ROOT / name}")), None)
        if healthy is None:
            sys.exit(f"rig: no command of {self.folder} compiles {name} by itself; "
                     "configure with QUORATE_UNITY=OFF")
        source = scratch / name
        planted_object = source.with_suffix(".o")
        command = re.sub(r" -MF \S+", f" -MF {source.with_suffix('.d')}", healthy)
        command = re.sub(r" -o \S+", f" -o {planted_object}", command)
        run(["sh", "-c", command.replace(f" -c {ROOT / name}", f" -c {source}")], self.folder)
        return planted_object


def prove(patch, checker, program, seeds):
    found = Search(program, 1, seeds, flags=patch.flags).run()
    if found is None or found["checker"] != checker:
        return (f"{patch.name}: " + (f"{found['checker']} found it" if found else
                                     f"nobody found it in {seeds} seeds") +
                f", and it should be {checker}")
    without = Search(program, 1, found["seeds"], [checker], patch.flags).run()
    if without is not None:
        return (f"{patch.name}: {without['checker']} finds it after {without['seeds']} seeds with "
                f"{checker} turned off: {without['why']}")
    print(f"{patch.name}: {checker} found it after {found['seeds']} seeds; they pass without it",
          flush=True)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="the folder of a build of quorate-sim")
    parser.add_argument("--seeds-max", type=int, default=60)
    arguments = parser.parse_args()
    build = Build(pathlib.Path(arguments.build).resolve())
    wrong = []
    for patch in all_patches(list(BUGS)):
        with tempfile.TemporaryDirectory(prefix="quorate-rig-") as scratch:
            program = build.plant(patch, pathlib.Path(scratch))
            wrong.append(prove(patch, BUGS[patch.name], program, arguments.seeds_max))
    wrong = [each for each in wrong if each]
    for each in wrong:
        print(f"rig: {each}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
