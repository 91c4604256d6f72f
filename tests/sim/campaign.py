#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs seeds of quorate-sim on several processes, resumably, and sums up what they did."""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

from kept import Kept

CHUNK = 25  # seeds of one process: few enough that their lines fit into a pipe


def engine_of(seed, engine):
    """Of each hundred seeds five run on LMDB and one on RocksDB."""
    if engine != "mixed":
        return engine
    return {7: "lmdb", 27: "lmdb", 47: "lmdb", 67: "lmdb", 87: "lmdb", 50: "rocksdb"}.get(
        seed % 100, "memory")


def chunks(pairs):
    """Runs of seeds that follow each other on one engine."""
    chunk = []
    for seed, engine in pairs:
        if chunk and (len(chunk) == CHUNK or chunk[0][1] != engine or chunk[-1][0] + 1 != seed):
            yield chunk
            chunk = []
        chunk.append((seed, engine))
    if chunk:
        yield chunk


class Campaign:
    def __init__(self, arguments):
        self.arguments = arguments
        # What one build of the program found says nothing of another.
        build = hashlib.sha256(pathlib.Path(arguments.program).read_bytes()).hexdigest()[:16]
        self.kept = Kept(pathlib.Path(arguments.state) / f"runs-{build}.jsonl", arguments.again)
        self.runs = {(run["engine"], run["seed"]): run for run in self.kept.read()}
        self.known = len(self.runs)
        self.started = time.monotonic()

    def add(self, run):
        self.runs[(run["engine"], run["seed"])] = run
        self.kept.add(run)

    def start(self, chunk):
        first, last, engine = chunk[0][0], chunk[-1][0], chunk[0][1]
        command = [self.arguments.program, "--seeds", f"{first}-{last}", "--engine", engine,
                   "--json", "--keep-going"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        return process, chunk

    def take(self, process, chunk):
        """The lines of one process. A seed that has none, when the process ended, aborted it."""
        output, errors = process.communicate()
        engine = chunk[0][1]
        seen = set()
        for line in output.splitlines():
            run = json.loads(line)
            run["engine"] = engine
            seen.add(run["seed"])
            self.add(run)
        left = [(seed, engine) for seed, engine in chunk if seed not in seen]
        if not left:
            return []
        self.add({"seed": left[0][0], "engine": engine, "clean": False, "checker": "abort",
                  "errors": errors[-2000:]})
        return left[1:]

    def progress(self, wanted, done):
        new = len(self.runs) - self.known
        passed = time.monotonic() - self.started
        rate = new / passed if passed > 0 else 0
        left = (wanted - done) / rate if rate > 0 else 0
        failed = sum(not run["clean"] for run in self.runs.values())
        end = "\n" if done == wanted else "\r"
        print(f"simulate: {done} of {wanted} seeds, {failed} failed, {rate:.1f}/s, "
              f"{left / 60:.0f} min left   ", end=end, file=sys.stderr, flush=True)

    def run(self):
        pairs = [(seed, engine_of(seed, self.arguments.engine)) for seed in range(
            self.arguments.first, self.arguments.first + self.arguments.seeds)]
        if self.arguments.past:
            lines = pathlib.Path(self.arguments.past).read_text().splitlines()
            pairs += [(int(line.split()[0]), line.split()[1]) for line in lines
                      if line and not line.startswith("#")]
        wanted = [(seed, engine) for seed, engine in pairs if (engine, seed) not in self.runs]
        work = collections.deque(chunks(wanted))
        running = []
        show = 0.0
        while work or running:
            while work and len(running) < self.arguments.jobs:
                running.append(self.start(work.popleft()))
            for pair in list(running):
                process, chunk = pair
                try:
                    process.wait(timeout=0.05)
                except subprocess.TimeoutExpired:
                    continue
                running.remove(pair)
                rest = self.take(process, chunk)
                if rest:
                    work.appendleft(rest)
            if time.monotonic() - show > 1:
                show = time.monotonic()
                self.progress(len(pairs), sum((engine, seed) in self.runs
                                              for seed, engine in pairs))
        self.progress(len(pairs), len(pairs))
        return self.report()

    def report(self):
        runs = list(self.runs.values())
        failed = sorted((run["seed"], run["engine"], run["checker"])
                        for run in runs if not run["clean"])
        total = collections.Counter()
        faults = collections.Counter()
        engines = collections.Counter()
        for run in runs:
            engines[run["engine"]] += 1
            for name in ("events", "simulated_s", "calls", "unknown_calls", "watch_events",
                         "entries", "starts", "snapshots"):
                total[name] += run.get(name, 0)
            faults.update(run.get("faults", {}))
        summary = {"seeds": len(runs), "engines": dict(engines),
                   "simulated_hours": round(total.pop("simulated_s") / 3600, 2),
                   **{name: int(number) for name, number in total.items()},
                   "faults": dict(faults.most_common()),
                   "failed": [{"seed": seed, "engine": engine, "checker": checker}
                              for seed, engine, checker in failed]}
        if self.arguments.json:
            print(json.dumps(summary))
        else:
            print(f"{summary['seeds']} seeds from {self.arguments.first} on ({', '.join(f'{n} {e}' for e, n in engines.items())}), "
                  f"{summary['simulated_hours']} simulated hours, {summary['events']} events, "
                  f"{summary['calls']} calls ({summary['unknown_calls']} of unknown outcome), "
                  f"{summary['watch_events']} watch events, {summary['starts']} starts, "
                  f"{summary['snapshots']} snapshots")
            print("faults: " + ", ".join(f"{name} {count}" for name, count in faults.most_common()))
            for seed, engine, checker in failed:
                print(f"FAILED [{checker}]: {self.arguments.program} --seed {seed} "
                      f"--engine {engine}")
            print("all clean" if not failed else f"{len(failed)} of {len(runs)} failed")
        return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--state", required=True, help="where what has run is kept")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="begin with a seed by the clock")
    parser.add_argument("--past", help="a file of seeds that failed once, to be run as well")
    parser.add_argument("--engine", default="mixed", help="mixed, memory, lmdb, rocksdb or a path")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--again", action="store_true", help="forget what has run")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.fresh:
        arguments.first = int(time.time()) * 1000
    return Campaign(arguments).run()


if __name__ == "__main__":
    sys.exit(main())
