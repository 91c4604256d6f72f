# SPDX-License-Identifier: Apache-2.0
"""A disk that fails under a member: system calls that strace lets fail or hang, and a file system
of its own that can be full.
"""

import os
import signal
import subprocess

from cluster import TestFailed, spawn, wait_until


def injection(scratch, calls, what):
    """The strace command that does `what` (error=EIO:when=3, delay_enter=5s) to these calls. when
    counts each thread's calls by themselves."""
    return ["/usr/bin/strace", "-f", "-qq", "-o", scratch.sub("trace"), "-e", f"trace={calls}",
            "-e", f"inject={calls}:{what}"]


class Tracer:
    """Does `what` to the calls of a process that runs, until end()."""

    def __init__(self, scratch, pid, calls, what):
        self._pid = pid
        self._process = spawn([*injection(scratch, calls, what), "-p", str(pid)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_until("strace taking hold", self._holds)

    def _holds(self):
        if self._process.poll() is not None:
            said = self._process.stderr.read().decode()
            raise TestFailed(f"strace ended with {self._process.returncode}: {said}")
        with open(f"/proc/{self._pid}/status", encoding="ascii") as status:
            return f"TracerPid:\t{self._process.pid}\n" in status.read()

    def end(self):
        """The process goes on as it was, if it still runs."""
        self._process.send_signal(signal.SIGINT)
        self._process.communicate()


class SmallDisk:
    """A tmpfs that can be filled. mounted is False where that is refused; then it is a directory."""

    def __init__(self, path, megabytes):
        self.path = path
        os.mkdir(path)
        self.mounted = self._mount("none", path, "-t", "tmpfs", size=f"{megabytes}m")

    @staticmethod
    def _mount(*arguments, size, options=""):
        done = subprocess.run(["mount", *arguments, "-o", f"{options}size={size}"],
                              stderr=subprocess.DEVNULL, check=False)
        return done.returncode == 0

    def resize(self, size):
        """size: in bytes, or as mount takes it."""
        return self._mount(self.path, size=size, options="remount,")

    def fill(self):
        """Leaves no byte more than there is, though a member writes on meanwhile."""
        def full():
            state = os.statvfs(self.path)
            return self.resize((state.f_blocks - state.f_bfree) * state.f_frsize)
        wait_until("the disk being full", full)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        if self.mounted:
            subprocess.run(["umount", "-l", self.path], check=False)
