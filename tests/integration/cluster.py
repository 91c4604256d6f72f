# SPDX-License-Identifier: Apache-2.0
"""Real members on loopback in five verbs: start, stop, kill, wait until ready, and look.

A Member is a process of ours or Debian's etcd, with its own data directory and ports asked from
the system. It dies with the test that started it. Nothing waits by the clock: every wait polls for
a condition and fails with the member's last log lines when the condition does not come.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

# gRPC's own threads must not be dragged into the processes that are started here.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

ETCD = "/usr/bin/etcd"
ETCDCTL = "/usr/bin/etcdctl"
ENGINES = ("lmdb", "rocksdb", "memory")
READY_SECONDS = 120


class TestFailed(Exception):
    """What was wrong, in a sentence."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(what, condition, seconds=READY_SECONDS, every=0.01):
    """Polls until condition() is true, and returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TestFailed(f"{what} did not happen within {seconds} s")
        time.sleep(every)


def spawn(command, **options):
    """Starts a process that does not outlive this one."""
    return subprocess.Popen(["/usr/bin/setpriv", "--pdeathsig", "KILL", *command], **options)


class Background:
    """Something that goes on until stop(), or until the test has failed."""

    def __init__(self):
        self.stopping = threading.Event()

    def stop(self):
        self.stopping.set()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        if kind is None:
            self.stop()
        else:
            self.stopping.set()


class Scratch:
    """A directory of its own, removed at the end unless the test failed and asked to keep it."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="quorate-", dir=os.environ.get("TMPDIR", "/tmp"))

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        if kind is not None and os.environ.get("QUORATE_KEEP"):
            print(f"kept: {self.path}", file=sys.stderr)
            return
        shutil.rmtree(self.path, ignore_errors=True)

    def sub(self, name):
        return os.path.join(self.path, name)


class Member:
    """One member. engine: one of ENGINES, or "etcd" for Debian's etcd-server."""

    def __init__(self, scratch, engine, build="build", name="default", flags=(), prefix=(),
                 environment=None):
        self.engine = engine
        self.name = name
        place = f"{name}-{os.path.basename(engine)}"
        self.data_dir = scratch.sub(place)
        self.log_path = scratch.sub(f"{place}.log")
        self.port = free_port()
        self.peer_port = free_port()
        self.program = ETCD if engine == "etcd" else os.path.join(build, "bin", "quorated")
        self.flags = list(flags)
        self.prefix = list(prefix)  # a tracer, for fault injection
        self.environment = environment
        self.process = None
        self.advertised_peer_url = self.peer_url  # another one when a proxy stands before it
        self.initial_cluster = f"{name}={self.peer_url}"
        self.initial_state = "new"

    @property
    def endpoint(self):
        return f"127.0.0.1:{self.port}"

    @property
    def peer_url(self):
        return f"http://127.0.0.1:{self.peer_port}"

    def command(self):
        url = f"http://{self.endpoint}"
        own = ["--log-level=warn"] if self.engine == "etcd" else [f"--backend={self.engine}"]
        return self.prefix + [
            self.program,
            f"--name={self.name}",
            f"--data-dir={self.data_dir}",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            f"--listen-peer-urls={self.peer_url}",
            f"--initial-advertise-peer-urls={self.advertised_peer_url}",
            f"--initial-cluster={self.initial_cluster}",
            f"--initial-cluster-state={self.initial_state}",
            "--logger=zap",
        ] + own + self.flags

    def spawn(self):
        """Starts the process without waiting for anything."""
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("ETCD_", "QUORATE_"))}
        environment.update(self.environment or {})
        with open(self.log_path, "ab") as log:
            self.process = spawn(self.command(), stdout=log, stderr=log, env=environment)
        return self

    def start(self):
        self.spawn()
        return self.wait_ready()

    def wait_ready(self):
        def ready():
            if self.process.poll() is not None:
                raise TestFailed(f"{self.engine} ended with {self.process.returncode} instead of "
                                 f"getting ready; its log ends:\n{self.log_tail()}")
            return self.healthy()
        try:
            wait_until(f"{self.engine} getting ready", ready)
        except TestFailed as failed:
            raise TestFailed(f"{failed}; its log ends:\n{self.log_tail()}") from None
        return self

    def healthy(self):
        try:
            return self.get("/health")[0] == 200
        except OSError:
            return False

    def get(self, path):
        """Status and body of an HTTP GET on the client port."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()

    def server_pid(self):
        """The member's own process, below a tracer if there is one."""
        if not self.prefix:
            return self.process.pid
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as children:
            found = children.read().split()
        return int(found[0]) if found else None

    def kill(self):
        """As a power cut for the process: SIGKILL."""
        if self.running():
            os.kill(self.server_pid() or self.process.pid, signal.SIGKILL)
            self.process.wait()

    def running(self):
        return self.process is not None and self.process.poll() is None

    def pause(self):
        """The process stands still, its connections stay open."""
        os.kill(self.server_pid(), signal.SIGSTOP)

    def resume(self):
        os.kill(self.server_pid(), signal.SIGCONT)

    def stop(self):
        """SIGTERM; the exit code."""
        os.kill(self.server_pid(), signal.SIGTERM)
        return self.wait_end()

    def wait_end(self, seconds=READY_SECONDS):
        """Waits until the process ends by itself; the exit code."""
        wait_until(f"{self.engine} ending", lambda: self.process.poll() is not None, seconds)
        return self.process.returncode

    def log(self):
        with open(self.log_path, errors="replace") as log:
            return log.read()

    def last_words(self):
        """The text of the last line of the log, or of stderr."""
        line = self.log().splitlines()[-1]
        return json.loads(line)["msg"] if line.startswith("{") else line

    def log_tail(self, lines=15):
        """The last lines; of neighbours that differ in numbers alone, the last."""
        told, last = [], None
        for line in self.log().splitlines():
            words = re.sub(r"\d+", "#", line)
            if words == last:
                told.pop()
            told.append(line)
            last = words
        return "\n".join(told[-lines:])

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.kill()


def etcdctl(member, *args, stdin=None, seconds=60):
    """Runs Debian's etcdctl against a member; (exit code, stdout, stderr)."""
    environment = {"PATH": "/usr/bin:/bin", "ETCDCTL_API": "3", "HOME": "/nonexistent"}
    done = subprocess.run([ETCDCTL, f"--endpoints={member.endpoint}", *args], input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                          timeout=seconds, check=False, text=True, errors="backslashreplace")
    return done.returncode, done.stdout, done.stderr


def arguments(description):
    """The options that every integration test takes; the caller may add more."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", default="build", help="the build directory")
    parser.add_argument("--engine", action="append", help="an engine; all unless given")
    return parser


def seeded(campaign, given):
    """Runs campaign(given) by given.seed, which is printed and named in what fails."""
    print(f"seed {given.seed}", flush=True)
    try:
        campaign(given)
    except TestFailed as failed:
        raise TestFailed(f"seed {given.seed}: {failed}") from None


def run(main):
    """Ends the process with main()'s outcome, a failure as a sentence."""
    try:
        main()
    except TestFailed as failed:
        print(f"FAILED: {failed}", file=sys.stderr)
        sys.exit(1)
