# SPDX-License-Identifier: Apache-2.0
"""Clusters of several members: start, kill, pause, cut, change, and ask all of them the same.

Member names are m1, m2 and so on and are never used twice. A failure inside `with Cluster(...)`
carries the last log lines of every member.
"""

import json
import os
import time

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

from cluster import Member, TestFailed, etcdctl, wait_until
from proxy import Proxy

ASK_SECONDS = 5
CALM_SECONDS = 60
POLL_SECONDS = 0.1  # a question to a member costs it something
LOG_LINES = 12
LOG_COLUMNS = 300
# Refusals of a membership change that pass by themselves, once members have met.
PASSING_REFUSALS = ("unhealthy cluster", "not enough started members", "too many requests",
                    "no leader", "leader changed", "timed out", "in sync with leader",
                    "context deadline exceeded", "Unavailable", "being changed")
ETCD_FLAGS = ["--log-level=error"]  # of a cluster's members; a warning each call is too much
CHANNEL_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.use_local_subchannel_pool", 1),
]


def channel_to(member):
    """A channel that comes back soon after its member does."""
    return grpc.insecure_channel(member.endpoint, options=CHANNEL_OPTIONS)


class Cluster:
    """engines: one a member, or "etcd". proxied: a fault proxy stands before every member."""

    def __init__(self, scratch, engines, build, flags=(), proxied=False):
        self._scratch = scratch
        self._build = build
        self._flags = list(flags)
        self._made = 0
        self.proxy = Proxy() if proxied else None
        self.members = [self._make(engine) for engine in engines]
        self.gone = []  # members that were removed
        initial = ",".join(f"{m.name}={m.advertised_peer_url}" for m in self.members)
        for member in self.members:
            member.initial_cluster = initial

    def _make(self, engine):
        self._made += 1
        member = Member(self._scratch, engine, self._build, name=f"m{self._made}",
                        flags=self._flags + (ETCD_FLAGS if engine == "etcd" else []))
        if self.proxy:
            port = self.proxy.target(member.name, member.peer_port)
            member.advertised_peer_url = f"http://127.0.0.1:{port}"
        return member

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        words = self.last_words() if kind is not None else ""
        for member in self.members + self.gone:
            member.kill()
        if self.proxy:
            self.proxy.__exit__(kind, value, traceback)
        if kind is not None and issubclass(kind, TestFailed):
            raise TestFailed(f"{value}\n{words}") from None

    def last_words(self):
        """The state and the last log lines of every member."""
        lines = []
        for member in self.members + self.gone:
            if member.process is None:
                continue
            ended = member.process.poll()
            state = "running" if ended is None else f"ended with {ended}"
            lines.append(f"--- {member.name} ({member.engine}), {state}; its log ends:")
            if os.path.exists(member.log_path):
                lines += [line[:LOG_COLUMNS] for line in
                          member.log_tail(LOG_LINES).splitlines()]
        return "\n".join(lines)

    # Processes

    def spawn(self, member):
        member.spawn()
        if self.proxy:
            self.proxy.member_runs(member.name, member.process.pid)

    def start(self):
        for member in self.members:
            self.spawn(member)
        self.wait_healthy()
        return self

    def running(self):
        return [member for member in self.members if member.running()]

    def by_name(self, name):
        return next(member for member in self.members if member.name == name)

    def wait_healthy(self, seconds=CALM_SECONDS, but=()):
        """Every running member answers a linearizable read; `but`: these need not."""
        missing = []

        def healthy():
            for member in self.members:
                if member.process is not None and member.process.poll() is not None:
                    raise TestFailed(f"{member.name} ended with {member.process.returncode}")
            missing[:] = [member.name for member in self.running()
                          if member not in but and not member.healthy()]
            return not missing
        try:
            wait_until("every member being healthy", healthy, seconds,
                       POLL_SECONDS)
        except TestFailed as failed:
            raise TestFailed(f"{failed}; not healthy: {', '.join(missing) or 'nobody'}") from None

    # Questions

    def status(self, member, seconds=1):
        """A member's StatusResponse, None if it does not answer."""
        with channel_to(member) as channel:
            try:
                return rpc_pb2_grpc.MaintenanceStub(channel).Status(rpc_pb2.StatusRequest(),
                                                                    timeout=seconds)
            except grpc.RpcError:
                return None

    def leader(self, seconds=CALM_SECONDS, among=None):
        """The running member that leads in the highest term, and is not contradicted there."""
        def found():
            leading = []
            for member in among or self.running():
                status = self.status(member)
                if status and status.leader and status.leader == status.header.member_id:
                    leading.append((status.raftTerm, member))
            return max(leading, key=lambda one: one[0])[1] if leading else None
        return wait_until("a member leading", found, seconds, POLL_SECONDS)

    def term(self):
        """Of the member that leads."""
        leader = self.leader()
        return wait_until(f"{leader.name} telling its term", lambda: self.status(leader)).raftTerm

    def follower(self):
        """A running member that does not lead."""
        leader = self.leader()
        return next(member for member in self.running() if member is not leader)

    def member_id(self, member):
        status = wait_until(f"{member.name} telling its id", lambda: self.status(member))
        return status.header.member_id

    def revision(self, member):
        """Of the member's own store."""
        with channel_to(member) as channel:
            reply = rpc_pb2_grpc.KVStub(channel).Range(rpc_pb2.RangeRequest(
                key=b"\0", serializable=True), timeout=ASK_SECONDS)
            return reply.header.revision

    def lag(self, member):
        """Revisions that a member is behind the leader, with those between the two looks."""
        leader = self.leader()
        reached = self.revision(member)
        return max(self.revision(leader) - reached, 0)

    def wait_caught_up(self, member, lag_max, seconds=CALM_SECONDS):
        """Waits until a member is at most so many revisions behind; the seconds that it took."""
        begin, seen = time.monotonic(), []

        def near():
            if not member.running():
                raise TestFailed(f"{member.name} ended with {member.process.returncode}")
            try:
                seen.append(self.lag(member))
            except grpc.RpcError as error:
                seen.append(error.details())
                return False
            return seen[-1] <= lag_max
        try:
            wait_until(f"{member.name} catching up", near, seconds, POLL_SECONDS)
        except TestFailed as failed:
            raise TestFailed(f"{failed}; it was behind by: {seen[::max(len(seen) // 10, 1)]}"
                             ) from None
        return time.monotonic() - begin

    def wait_same_revision(self, seconds=CALM_SECONDS):
        """Waits until all running members have applied the same; the revision."""
        seen = {}

        def same():
            try:
                seen.update((m.name, self.revision(m)) for m in self.running())
            except grpc.RpcError as error:
                seen["error"] = error.details()
                return False
            seen.pop("error", None)
            return len(set(seen.values())) == 1
        try:
            wait_until("all members having one revision", same, seconds, POLL_SECONDS)
        except TestFailed as failed:
            raise TestFailed(f"{failed}; they are at {seen}") from None
        return next(iter(seen.values()))

    def check_same_hash(self):
        """HashKV at one revision is the same on all running members; that revision."""
        revision = self.wait_same_revision()
        hashes = {}
        for member in self.running():
            with channel_to(member) as channel:
                reply = rpc_pb2_grpc.MaintenanceStub(channel).HashKV(
                    rpc_pb2.HashKVRequest(revision=revision), timeout=CALM_SECONDS)
                hashes[member.name] = (reply.hash, reply.compact_revision)
        if len(set(hashes.values())) != 1:
            raise TestFailed(f"HashKV at revision {revision}, and the compacted revision, differ: "
                             f"{hashes}")
        return revision

    def metric(self, member, name):
        """The sum of a metric over its labels; 0 if the member does not have it."""
        _, body = member.get("/metrics")
        total = 0.0
        for line in body.splitlines():
            if line.startswith(name) and line[len(name):len(name) + 1] in ("{", " "):
                total += float(line.rsplit(" ", 1)[1])
        return total

    # Membership, one command at a time

    def ctl(self, *args, member=None, seconds=CALM_SECONDS):
        """etcdctl until it succeeds or is refused for good; its stdout."""
        deadline = time.monotonic() + seconds
        while True:
            target = member or self.leader()
            code, out, err = etcdctl(target, *args)
            if code == 0:
                return out
            if time.monotonic() > deadline or not any(text in err for text in PASSING_REFUSALS):
                raise TestFailed(f"etcdctl {' '.join(args)} against {target.name} ended with "
                                 f"{code}: {err or out}")
            time.sleep(0.2)

    def member_list(self):
        listed = json.loads(self.ctl("member", "list", "-w", "json"))["members"]
        return {one["ID"]: one for one in listed}

    def add(self, engine, learner=False):
        """MemberAdd, then the new member's start; it may still have to catch up."""
        member = self._make(engine)
        args = ["--learner"] if learner else []
        out = self.ctl("member", "add", member.name, f"--peer-urls={member.advertised_peer_url}",
                       *args)
        told = dict(line.split("=", 1) for line in out.splitlines() if line.startswith("ETCD_"))
        member.initial_cluster = told["ETCD_INITIAL_CLUSTER"].strip('"')
        member.initial_state = "existing"
        self.members.append(member)
        self.spawn(member)
        return member

    def promote(self, member):
        self.ctl("member", "promote", f"{self.member_id(member):x}")

    def remove(self, member):
        """MemberRemove through another member, and the end of the process."""
        number = self.member_id(member)
        other = next(one for one in self.running() if one is not member)
        try:
            self.ctl("member", "remove", f"{number:x}", member=other)
        except TestFailed:
            # An answer that got lost is no failure if the change was made.
            if number in self.member_list():
                raise
        self.members.remove(member)
        self.gone.append(member)

    def check_gone(self, seconds=CALM_SECONDS):
        """Removed members have ended by themselves."""
        for member in self.gone:
            try:
                member.wait_end(seconds)
            except TestFailed:
                raise TestFailed(f"{member.name} was removed and runs on") from None


def cluster_arguments(parser):
    parser.add_argument("--engines", default="lmdb,rocksdb,lmdb",
                        help="the members' engines, one a member")
    parser.add_argument("--etcd", action="store_true",
                        help="Debian's etcd-server instead, to judge the campaign itself")


def engines_of(given):
    engines = given.engines.split(",")
    return ["etcd"] * len(engines) if given.etcd else engines
