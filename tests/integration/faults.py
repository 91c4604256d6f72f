#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The disk fails under a member: a sync or a write returns an error, the file system is full, a
log file is cut or a bit of it turns. The member ends with a sentence, or refuses to start with one,
and nothing acknowledged is lost; quoratectl says of the log what the member says.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

from cluster import ENGINES, Member, Scratch, TestFailed, arguments, run, wait_until
from disk import SmallDisk, injection
from workload import Model, start_clients, stop_clients

CLIENTS = 4
# Early enough to hit the start, late enough to hit a running member.
SYNCS = (1, 2, 5, 20, 80)
WRITES = (1, 3, 30)
SKIPPED = 77


def tracer(scratch, calls, error, when):
    """A command prefix: the `when`-th of these calls in each thread fails."""
    return [*injection(scratch, calls, f"error={error}:when={when}"), "--seccomp-bpf",
            "/usr/bin/setpriv", "--pdeathsig", "KILL"]


def expect_sentence(member, pattern):
    """The member's log has a line that matches."""
    if not re.search(pattern, member.log(), re.IGNORECASE):
        raise TestFailed(f"no sentence like {pattern!r}; the log ends:\n{member.log_tail()}")


def expect_refusal(member, pattern):
    """Starting ends by itself, with an error and a sentence."""
    with open(member.log_path, "w", encoding="utf-8"):
        pass
    member.spawn()
    code = member.wait_end()
    if code == 0:
        raise TestFailed(f"the start was refused, and yet the exit code is 0:\n"
                         f"{member.log_tail()}")
    if code < 0:
        raise TestFailed(f"signal {-code} ended the start:\n{member.log_tail()}")
    expect_sentence(member, pattern)


def write_until_it_ends(member, name, value_bytes=40):
    clients = start_clients(member, CLIENTS, name, name, value_bytes)
    code = member.wait_end()
    stop_clients(clients)
    return code, clients


def failing_call(scratch, member, model, calls, error, when):
    """One run in which a system call fails; the next run finds all that was acknowledged."""
    member.prefix = tracer(scratch, calls, error, when)
    member.spawn()
    wait_until("ready or ended", lambda: member.healthy() or member.process.poll() is not None)
    if member.process.poll() is None:
        code, clients = write_until_it_ends(member, f"{calls}-{when}")
    else:
        code, clients = member.process.returncode, []
    if code <= 0:
        raise TestFailed(f"{calls} failing at {when} ended the member with {code}:\n"
                         f"{member.log_tail()}")
    expect_sentence(member, "input/output error" if error == "EIO" else "no space left")
    member.prefix = []
    member.start()
    model.take(member, clients)
    answered = sum(len(client.answered) for client in clients)
    member.stop()
    print(f"{member.engine}: {calls} fails with {error} at {when}: {answered} writes kept")


def check_failing_calls(engine, build):
    with Scratch() as scratch, Member(scratch, engine, build) as member:
        member.start().stop()
        model = Model()
        for when in SYNCS:
            failing_call(scratch, member, model, "fdatasync", "EIO", when)
        for when in WRITES:
            failing_call(scratch, member, model, "pwritev,pwrite64", "ENOSPC", when)


def check_full_disk(engine, build):
    """A file system of its own fills up; with more room the member goes on where it was."""
    with Scratch() as scratch, SmallDisk(scratch.sub("disk"), megabytes=80) as disk, \
            Member(scratch, engine, build) as member:
        if not disk.mounted:
            print("a full disk: not tested, mounting a tmpfs was refused")
            return False
        member.data_dir = os.path.join(disk.path, "data")
        model = Model()
        code, clients = write_until_it_ends(member.start(), "full", value_bytes=100_000)
        if code <= 0:
            raise TestFailed(f"a full disk ended the member with {code}:\n{member.log_tail()}")
        expect_sentence(member, "no space left")
        disk.resize("512m")
        member.start()
        model.take(member, clients)
        member.stop()
    print(f"{engine}: a full disk: nothing lost")
    return True


def log_files(member):
    """The log's files that hold something, the fullest last, with the length of what they hold."""
    found = []
    for path in glob.glob(os.path.join(member.data_dir, "wal", "*")):
        with open(path, "rb") as file:
            used = len(file.read().rstrip(b"\0"))
        found.append((used, path))
    return sorted(found)


def flip(path, offset):
    """Turns a bit of the first byte from offset on that is not padding."""
    with open(path, "r+b") as file:
        file.seek(offset)
        rest = file.read()
        skipped = len(rest) - len(rest.lstrip(b"\0"))
        file.seek(offset + skipped)
        file.write(bytes([rest[skipped] ^ 0x10]))


class LogTool:
    """quoratectl on a member's log. Whatever it says, it changes nothing there."""

    def __init__(self, build, member):
        self._program = os.path.join(build, "bin", "quoratectl")
        self._dir = member.data_dir

    def _files(self):
        return {path: (os.stat(path).st_size, os.stat(path).st_mtime_ns)
                for path in glob.glob(os.path.join(self._dir, "**"), recursive=True)}

    def _run(self, code, *arguments):
        before = self._files()
        done = subprocess.run([self._program, "wal", *arguments], capture_output=True, text=True,
                              check=False)
        if done.returncode != code:
            raise TestFailed(f"quoratectl wal {' '.join(arguments)} ended with {done.returncode} "
                             f"instead of {code}: {done.stdout[-2000:]}{done.stderr}")
        if code != 2 and self._files() != before:
            raise TestFailed(f"quoratectl wal {' '.join(arguments)} changed a file")
        return done.stdout + done.stderr

    def expect(self, code, pattern):
        """verify ends with the code and a sentence that matches."""
        said = self._run(code, "verify", self._dir)
        if not re.search(pattern, said):
            raise TestFailed(f"quoratectl says nothing like {pattern!r}: {said}")
        return said.splitlines()[0]

    def check_dump(self):
        """Every line is JSON, every entry is readable, and indexes follow one another."""
        lines = map(json.loads, self._run(0, "dump", self._dir, "--json").splitlines())
        entries = [line for line in lines if line.get("type") == "entry"]
        puts = [entry for entry in entries if entry["summary"].startswith("put ")]
        if not puts or any("not readable" in entry["summary"] for entry in entries):
            raise TestFailed(f"the dump shows entries as {entries[:5]}")
        if [entry["index"] for entry in entries] != \
                list(range(entries[0]["index"], entries[0]["index"] + len(entries))):
            raise TestFailed("the indexes in the dump do not follow one another")


def check_damaged_log(engine, build):
    """Damage in the midst of the log is refused; with the file mended, all is there."""
    with Scratch() as scratch, Member(scratch, engine, build) as member:
        member.start()
        tool = LogTool(build, member)
        tool.expect(2, "in use by a running member")
        model = Model()
        clients = start_clients(member, CLIENTS, "damage", engine)
        wait_until("some answered writes",
                   lambda: sum(len(client.answered) for client in clients) > 300)
        member.kill()
        stop_clients(clients)
        tool.expect(0, "is whole")
        tool.check_dump()
        used, path = log_files(member)[-1]
        shutil.copyfile(path, scratch.sub("whole"))
        for part in (3, 2):
            flip(path, used // part)
            expect_refusal(member, rf"damaged in .*{os.path.basename(path)}")
            print(f"{engine}: {tool.expect(1, rf'{os.path.basename(path)} at byte [0-9]+: .*lost: entr')}")
            shutil.copyfile(scratch.sub("whole"), path)
        os.truncate(path, used // 2)
        expect_refusal(member, rf"{os.path.basename(path)}")
        print(f"{engine}: {tool.expect(1, rf'{os.path.basename(path)}: the file had')}")
        shutil.copyfile(scratch.sub("whole"), path)
        member.start()
        model.take(member, clients)
        member.stop()
        tool.expect(0, "it ends with a mark")
    print(f"{engine}: a damaged log is refused, and whole again loses nothing")


def main():
    parser = arguments(__doc__)
    parser.add_argument("--only", choices=("calls", "full-disk", "log"), help="one of the parts")
    given = parser.parse_args()
    complete = True
    for engine in given.engine or ENGINES:
        if given.only in (None, "calls"):
            check_failing_calls(engine, given.build)
        if given.only in (None, "log"):
            check_damaged_log(engine, given.build)
        if given.only in (None, "full-disk"):
            complete = check_full_disk(engine, given.build) and complete
    if not complete:
        sys.exit(SKIPPED)


if __name__ == "__main__":
    run(main)
