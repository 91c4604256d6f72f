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
import typing

from kept import Kept

CHUNK = 25  # seeds of one process: few enough that their lines fit into a pipe


class Job(typing.NamedTuple):
    seed: int
    engine: str
    profile: str

    def flags(self):
        return ["--engine", self.engine, "--profile", self.profile]


def engine_of(seed, engine):
    """Of each hundred seeds five run on LMDB and one on RocksDB."""
    if engine != "mixed":
        return engine
    return {7: "lmdb", 27: "lmdb", 47: "lmdb", 67: "lmdb", 87: "lmdb", 50: "rocksdb"}.get(
        seed % 100, "memory")


def profile_of(seed, profile):
    """Of each hundred seeds twenty are storms of elections, ten have tight queues and five must
    hold no election; in fives, so that one process runs several."""
    if profile != "mixed":
        return profile
    five = seed // 5
    if five % 5 == 3:
        return "storm"
    return {0: "steady", 6: "tight", 16: "tight"}.get(five % 20, "any")


def past(path):
    """The jobs of a file with a line for each: SEED ENGINE [PROFILE]."""
    for line in pathlib.Path(path).read_text().splitlines():
        if line and not line.startswith("#"):
            seed, engine, profile = (line.split() + ["any"])[:3]
            yield Job(int(seed), engine, profile)


def chunks(jobs):
    """Runs of seeds that follow each other on one engine, of one profile."""
    chunk = []
    for job in jobs:
        if chunk and (len(chunk) == CHUNK or chunk[-1]._replace(seed=job.seed) != job or
                      chunk[-1].seed + 1 != job.seed):
            yield chunk
            chunk = []
        chunk.append(job)
    if chunk:
        yield chunk


class Campaign:
    def __init__(self, arguments):
        self.arguments = arguments
        # What one build of the program found says nothing of another.
        build = hashlib.sha256(pathlib.Path(arguments.program).read_bytes()).hexdigest()[:16]
        self.kept = Kept(pathlib.Path(arguments.state) / f"runs-{build}.jsonl", arguments.again)
        self.runs = {Job(run["seed"], run["engine"], run["profile"]): run
                     for run in self.kept.read()}
        self.known = len(self.runs)
        self.started = time.monotonic()

    def add(self, job, run):
        run.update(job._asdict())
        self.runs[job] = run
        self.kept.add(run)

    def start(self, chunk):
        command = [self.arguments.program, "--seeds", f"{chunk[0].seed}-{chunk[-1].seed}",
                   *chunk[0].flags(), "--json", "--keep-going"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        return process, chunk

    def take(self, process, chunk):
        """The lines of one process. A seed that has none, when the process ended, aborted it."""
        output, errors = process.communicate()
        seen = set()
        for line in output.splitlines():
            run = json.loads(line)
            seen.add(run["seed"])
            self.add(chunk[0]._replace(seed=run["seed"]), run)
        left = [job for job in chunk if job.seed not in seen]
        if not left:
            return []
        self.add(left[0], {"clean": False, "checker": "abort", "errors": errors[-2000:]})
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
        first = self.arguments.first
        jobs = [Job(seed, engine_of(seed, self.arguments.engine),
                    profile_of(seed, self.arguments.profile))
                for seed in range(first, first + self.arguments.seeds)]
        if self.arguments.past:
            jobs += past(self.arguments.past)
        work = collections.deque(chunks(job for job in jobs if job not in self.runs))
        running = []
        show = 0.0
        while work or running:
            while work and len(running) < self.arguments.jobs:
                running.append(self.start(work.popleft()))
            for each in list(running):
                process, chunk = each
                try:
                    process.wait(timeout=0.05)
                except subprocess.TimeoutExpired:
                    continue
                running.remove(each)
                rest = self.take(process, chunk)
                if rest:
                    work.appendleft(rest)
            if time.monotonic() - show > 1:
                show = time.monotonic()
                self.progress(len(jobs), sum(job in self.runs for job in jobs))
        self.progress(len(jobs), len(jobs))
        return self.report()

    def report(self):
        runs = list(self.runs.values())
        failed = sorted((job, run["checker"]) for job, run in self.runs.items()
                        if not run["clean"])
        total = collections.Counter()
        faults = collections.Counter()
        engines = collections.Counter(run["engine"] for run in runs)
        profiles = collections.Counter(run["profile"] for run in runs)
        for run in runs:
            for name in ("events", "simulated_s", "calls", "unknown_calls", "watch_events",
                         "entries", "starts", "snapshots"):
                total[name] += run.get(name, 0)
            faults.update(run.get("faults", {}))
        summary = {"seeds": len(runs), "engines": dict(engines), "profiles": dict(profiles),
                   "simulated_hours": round(total.pop("simulated_s") / 3600, 2),
                   **{name: int(number) for name, number in total.items()},
                   "faults": dict(faults.most_common()),
                   "failed": [{**job._asdict(), "checker": checker} for job, checker in failed]}
        if self.arguments.json:
            print(json.dumps(summary))
        else:
            kinds = ", ".join(f"{n} {name}" for name, n in (engines + profiles).items())
            print(f"{summary['seeds']} seeds from {self.arguments.first} on ({kinds}), "
                  f"{summary['simulated_hours']} simulated hours, {summary['events']} events, "
                  f"{summary['calls']} calls ({summary['unknown_calls']} of unknown outcome), "
                  f"{summary['watch_events']} watch events, {summary['starts']} starts, "
                  f"{summary['snapshots']} snapshots")
            print("faults: " + ", ".join(f"{name} {count}" for name, count in faults.most_common()))
            for job, checker in failed:
                print(f"FAILED [{checker}]: {self.arguments.program} --seed {job.seed} "
                      f"{' '.join(job.flags())}")
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
    parser.add_argument("--profile", default="mixed", help="mixed, any, storm, tight or steady")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--again", action="store_true", help="forget what has run")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.fresh:
        arguments.first = int(time.time()) * 1000
    return Campaign(arguments).run()


if __name__ == "__main__":
    sys.exit(main())
