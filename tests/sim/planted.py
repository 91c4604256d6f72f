#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants known bugs into a copy of the source and counts the seeds that find them."""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from kept import Kept

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATCHES = ROOT / "tests" / "sim" / "planted"
CHECKERS = ("raft", "entries", "hash", "history", "content", "watch", "lease", "calls", "member",
            "liveness", "elections", "queues")
CHUNK = 5          # seeds of one process
HANG_S = 300       # a chunk that takes longer hangs
AHEAD = 2          # programs that are built while the seeds of another run
CRASHED = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGFPE)


class Patch:
    """A planted bug: a diff under comment lines `# guard:`, `# invariant:`, `# found by:`, and
    `# profile:` if it takes seeds of a profile of its own."""

    def __init__(self, path):
        self.path = path
        self.name = path.stem
        self.text = path.read_text()
        self.guard = self.line("guard")
        self.invariant = self.line("invariant")
        self.expected = re.split(r"[, ]+", self.line("found by"))
        self.profile = self.line("profile")
        self.flags = ["--profile", self.profile] if self.profile else []

    def line(self, what):
        found = re.search(rf"^# {what}: (.*(?:\n#  .*)*)$", self.text, re.M)
        return re.sub(r"\n#\s+", " ", found.group(1)) if found else ""

    def diff(self):
        """Without its head: what was found stays true when that is worded anew."""
        return self.text[self.text.index("diff --git"):]

    def problem(self):
        """What is wrong with the patch itself, before anything is built."""
        if not (self.guard and self.invariant and self.line("found by")):
            return "lacks one of its lines guard, invariant, found by"
        unknown = set(self.expected) - set(CHECKERS) - {"abort", "hang"}
        if unknown:
            return f"names unknown checkers: {', '.join(sorted(unknown))}"
        touched = self.touched()
        if not touched or any(not name.startswith("kernel/") for name in touched):
            return "changes something else than the kernel"
        return None

    def touched(self):
        return re.findall(r"^\+\+\+ b/(\S+)", self.text, re.M)

    def apply(self, tree, *flags):
        # The copy may lie within a repository that is not its own.
        environment = dict(os.environ, GIT_CEILING_DIRECTORIES=str(pathlib.Path(tree).parent))
        done = subprocess.run(["git", "apply", *flags, str(self.path)], cwd=tree,
                              capture_output=True, text=True, env=environment)
        return None if done.returncode == 0 else done.stderr.strip()


def all_patches(names):
    patches = [Patch(path) for path in sorted(PATCHES.glob("*.patch"))]
    unknown = set(names) - {patch.name for patch in patches}
    if unknown:
        sys.exit(f"plant: there is no planted bug {', '.join(sorted(unknown))}")
    return [patch for patch in patches if not names or patch.name in names]


def check(patches):
    """Whether every patch still applies to the source as it is."""
    wrong = []
    for patch in patches:
        problem = patch.problem() or patch.apply(ROOT, "--check")
        if problem:
            wrong.append(f"{patch.path.relative_to(ROOT)}: {problem}")
    for line in wrong:
        print(line)
    if not wrong:
        print(f"{len(patches)} planted bugs apply")
    return 1 if wrong else 0


class Tree:
    """A copy of the source with a build directory of its own; one bug in it at a time. The copy is
    taken once, so all bugs of a run are planted into the same source whatever happens to it."""

    SOURCE = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "bench", "cmake", "daemon",
              "interfaces", "kernel", "plugins", "schemas", "scripts", "tests")

    def __init__(self, state):
        self.path = state / "src"
        self.program = self.path / "build" / "bin" / "quorate-sim"
        self.healthy = {}  # of the files that the planted bug changed
        self.environment = dict(os.environ, CCACHE_BASEDIR=str(ROOT), CCACHE_NOHASHDIR="1")

    def refresh(self):
        """Takes what differs only, so that the build stays incremental, and takes bugs out."""
        listed = subprocess.run(["git", "ls-files", "-z", *self.SOURCE], cwd=ROOT,
                                capture_output=True, text=True, check=True).stdout
        wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
        for name in wanted:
            self.put(name, (ROOT / name).read_bytes(), (ROOT / name).stat().st_mode)
        for folder in self.SOURCE:
            for path in (self.path / folder).rglob("*"):
                if path.is_file() and str(path.relative_to(self.path)) not in wanted:
                    path.unlink()

    def put(self, name, content, mode=0o644):
        path = self.path / name
        if path.exists() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode)

    def build(self, jobs):
        log = self.path / "build.log"
        with log.open("w") as out:
            if not (self.path / "build" / "build.ninja").exists():
                subprocess.run(["cmake", "--preset", "release"], cwd=self.path, stdout=out,
                               stderr=out, env=self.environment, check=True)
            done = subprocess.run(["ninja", "-C", "build", f"-j{jobs}", "quorate-sim"],
                                  cwd=self.path, stdout=out, stderr=out, env=self.environment)
        return done.returncode == 0

    def plant(self, patch):
        """Takes out the bug before it. What is wrong, or None."""
        for name, content in self.healthy.items():
            self.put(name, content)
        present = [name for name in patch.touched() if (self.path / name).is_file()]
        self.healthy = {name: (self.path / name).read_bytes() for name in present}
        return patch.apply(self.path)


class Search:
    """Runs seeds from 1 on until one fails; says which is the first."""

    def __init__(self, program, jobs, last, without=(), flags=()):
        self.program, self.jobs, self.last = program, jobs, last
        self.flags = [*flags] + [flag for checker in without for flag in ("--without", checker)]
        self.lock = threading.Lock()
        self.next = 1
        self.first_failed = last + 1
        self.runs = {}

    def take_chunk(self):
        with self.lock:
            if self.next > min(self.last, self.first_failed):
                return None
            first = self.next
            self.next = min(first + CHUNK, self.last + 1)
            return first, self.next - 1

    def add(self, seed, run):
        with self.lock:
            self.runs[seed] = run
            if not run["clean"]:
                self.first_failed = min(self.first_failed, seed)

    def work(self):
        while (chunk := self.take_chunk()) is not None:
            first, last = chunk
            command = [str(self.program), "--seeds", f"{first}-{last}", "--json", "--no-minimise",
                       *self.flags]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, errors="replace")
            try:
                output, errors = process.communicate(timeout=HANG_S)
                ended = "abort"
                if process.returncode not in (0, 1, *CRASHED):
                    raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: "
                                       f"{errors[-300:]}")
            except subprocess.TimeoutExpired:
                process.kill()
                output, errors = process.communicate()
                ended = "hang"
            seen = first - 1
            for line in output.splitlines():
                run = json.loads(line)
                seen = run["seed"]
                self.add(seen, run)
            if seen < last and (seen < first or self.runs[seen]["clean"]):
                said = re.findall(r"^.*(?:check failed|CHECK).*$", errors, re.M | re.I)
                self.add(seen + 1, {"clean": False, "checker": ended, "simulated_s": 0,
                                    "why": (said or [errors[-300:]])[0]})

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for future in [pool.submit(self.work) for _ in range(self.jobs)]:
                future.result()
        if self.first_failed > self.last:
            return None
        failed = self.runs[self.first_failed]
        return {"seeds": self.first_failed, "checker": failed["checker"],
                "why": failed.get("why", ""),
                "simulated_s": round(sum(self.runs[seed].get("simulated_s", 0)
                                         for seed in range(1, self.first_failed + 1)), 1)}


class Proof:
    def __init__(self, arguments):
        self.arguments = arguments
        self.state = pathlib.Path(arguments.state).resolve()
        self.kept = Kept(self.state / "found.jsonl", arguments.again)
        self.found = {(result["name"], result["patch"]): result for result in self.kept.read()}
        self.tree = Tree(self.state)

    @staticmethod
    def key(patch):
        return patch.name, hashlib.sha256(patch.diff().encode()).hexdigest()[:16]

    def keep(self, patch, result):
        name, digest = self.key(patch)
        result = {"name": name, "patch": digest, **result}
        self.found[(name, digest)] = result
        self.kept.add(result)
        return result

    def say(self, text):
        print(f"plant: {text}", file=sys.stderr, flush=True)

    def planted(self, patch):
        """Plants and builds; what is wrong, or None."""
        problem = patch.problem() or self.tree.plant(patch)
        if problem:
            return f"does not apply: {problem}"
        if not self.tree.build(self.arguments.jobs):
            return f"does not build: see {self.tree.path / 'build.log'}"
        return None

    def build_all(self, patches, built):
        """A program for each patch, into the queue `built`: (patch, program, problem, seconds)."""
        programs = self.state / "programs"
        shutil.rmtree(programs, ignore_errors=True)
        programs.mkdir(parents=True)
        try:
            self.tree.refresh()
            for patch in patches:
                started = time.monotonic()
                problem = self.planted(patch)
                program = programs / patch.name
                if problem is None:
                    shutil.copy2(self.tree.program, program)
                built.put((patch, program, problem, round(time.monotonic() - started, 1)))
        except Exception as error:  # pylint: disable=broad-except
            built.put(error)

    def find(self, patch, program):
        """The first seed that speaks, and what the same seeds say without the checker it was."""
        started = time.monotonic()
        most = self.arguments.seeds_max
        result = Search(program, self.arguments.jobs, most, flags=patch.flags).run()
        if result is None:
            result = {"problem": f"not found in {most} seeds", "tried": most}
        elif result["checker"] in CHECKERS:
            other = Search(program, self.arguments.jobs, result["seeds"],
                           [result["checker"]], patch.flags).run()
            result["without"] = other["checker"] if other else "passes"
        result["run_s"] = round(time.monotonic() - started, 1)
        return result

    def is_open(self, patch):
        result = self.found.get(self.key(patch))
        return result is None or ("problem" in result and
                                  result.get("tried", 0) < self.arguments.seeds_max)

    def run(self, patches):
        todo = [patch for patch in patches if self.is_open(patch)]
        built = queue.Queue(AHEAD)
        threading.Thread(target=self.build_all, args=(todo, built), daemon=True).start()
        for number in range(1, len(todo) + 1):
            got = built.get()
            if isinstance(got, Exception):
                raise got
            patch, program, problem, build_s = got
            result = {"problem": problem} if problem else self.find(patch, program)
            program.unlink(missing_ok=True)
            result = self.keep(patch, {**result, "build_s": build_s})
            outcome = result.get("problem") or f"{result['checker']} after {result['seeds']} seeds"
            if "without" in result:
                outcome += f", without it {result['without']}"
            self.say(f"{number} of {len(todo)}, {patch.name}: {outcome}")
        return self.report(patches)

    def report(self, patches):
        results = [(patch, self.found.get(self.key(patch), {"problem": "not run"}))
                   for patch in patches]
        if self.arguments.json:
            for patch, result in results:
                print(json.dumps({"name": patch.name, "guard": patch.guard, **result}))
        else:
            print("| bug | the guard that it breaks | found by | without it | seeds | of | virtual s |")
            print("| --- | --- | --- | --- | --: | --- | --: |")
            for patch, result in results:
                if "problem" in result:
                    print(f"| {patch.name} | {patch.guard} | **{result['problem']}** | | | "
                          f"{patch.profile} | |")
                else:
                    print(f"| {patch.name} | {patch.guard} | {result['checker']} | "
                          f"{result.get('without', '')} | {result['seeds']} | {patch.profile} | "
                          f"{result['simulated_s']:.0f} |")
            seeds = sorted(result["seeds"] for _, result in results if "seeds" in result)
            by = collections.Counter(result["checker"] for _, result in results
                                     if "seeds" in result)
            print()
            print(f"{len(seeds)} of {len(results)} found" +
                  (f"; seeds needed: median {seeds[len(seeds) // 2]}, most {seeds[-1]}; by " +
                   ", ".join(f"{name} {count}" for name, count in by.most_common())
                   if seeds else ""))
        return 1 if any("problem" in result for _, result in results) else 0

    def checkers(self, patches):
        """For each checker: the bugs that it found first, and those that no other finds."""
        print()
        print("| checker | finds first | of these pass without it | for example | seeds |")
        print("| --- | --: | --: | --- | --: |")
        lacking = 0
        for checker in CHECKERS:
            mine = [result for patch in patches
                    if (result := self.found.get(self.key(patch), {})).get("checker") == checker]
            alone = sorted((result["seeds"], result["name"]) for result in mine
                           if result.get("without") == "passes")
            seeds, name = alone[0] if alone else ("", "**none**")
            print(f"| {checker} | {len(mine)} | {len(alone)} | {name} | {seeds} |")
            lacking += not alone
        return 1 if lacking else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", default=str(ROOT / "build" / "planted"),
                        help="where the copy of the source and what was found is kept")
    parser.add_argument("--only", action="append", default=[], help="the name of a planted bug")
    parser.add_argument("--seeds-max", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--again", action="store_true", help="forget what was found")
    parser.add_argument("--check", action="store_true", help="only whether the patches apply")
    parser.add_argument("--checkers", action="store_true",
                        help="fail unless each checker has a bug that passes without it")
    parser.add_argument("--table", action="store_true", help="print what was found")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    patches = all_patches(arguments.only)
    if arguments.check:
        return check(patches)
    proof = Proof(arguments)
    if arguments.table:
        code = proof.report(patches)
        return proof.checkers(patches) or code if arguments.checkers else code
    if shutil.which("ninja") is None:
        sys.exit("plant: ninja is missing; scripts/setup installs what is needed")
    code = proof.run(patches)
    return proof.checkers(patches) or code if arguments.checkers else code


if __name__ == "__main__":
    sys.exit(main())
