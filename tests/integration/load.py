# SPDX-License-Identifier: Apache-2.0
"""Puts on keys of their own, through every member at once, and the proof that none was lost.

A load is one generator a member. A generator that loses its member comes back when the member does,
with a new prefix, so no key is put twice on purpose: an acknowledged key must be in the store with
version 1 and at exactly the revision of its answer.
"""

import os
import subprocess
import threading

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

from cluster import Background, TestFailed, spawn
from clusters import CALM_SECONDS, channel_to

PREFIX = "load/"
KEY_BYTES = 32
PAGE = 20_000
RETRY_SECONDS = 0.05
FOREVER = "100000"


class Load(Background):
    """rate: puts a second through all members together; 0: as many as they take. Loads of one
    scratch directory, one after the other, have keys of their own and count together."""

    def __init__(self, scratch, build, members, rate=0, outstanding=32, value_bytes=100):
        super().__init__()
        self._program = os.path.join(build, "bin", "quorate-load")
        self._all = scratch.sub("load")
        os.makedirs(self._all, exist_ok=True)
        self._number = len(os.listdir(self._all))
        self._folder = os.path.join(self._all, str(self._number))
        os.mkdir(self._folder)
        self._share = rate / max(len(members), 1)
        self._outstanding = outstanding
        self._value_bytes = value_bytes
        self._drivers = {}
        self._errors = []
        for member in members:
            self.add(member)

    def add(self, member):
        """From now on this member gets its share too."""
        stop = threading.Event()
        driver = threading.Thread(target=self._drive, args=(member, stop), daemon=True)
        self._drivers[member.name] = (driver, stop)
        driver.start()

    def remove(self, member):
        driver, stop = self._drivers.pop(member.name)
        stop.set()
        driver.join()

    def stop(self):
        super().stop()
        for driver, _ in self._drivers.values():
            driver.join()
        if self._errors:
            raise TestFailed(f"the load generator failed: {self._errors[0]}")

    def _drive(self, member, stop):
        runs = 0
        while not (stop.is_set() or self.stopping.is_set()):
            if not member.running():
                stop.wait(RETRY_SECONDS)
                continue
            runs += 1
            name = f"{PREFIX}{self._number}/{member.name}/{runs:04}/"
            # A file of its own for each run: a generator that is killed may leave half a line.
            record = os.path.join(self._folder, name.replace("/", "_"))
            process = spawn([
                self._program, f"--endpoint={member.endpoint}", f"--key-prefix={name}",
                f"--key-bytes={KEY_BYTES}", f"--value-bytes={self._value_bytes}", "--connections=4",
                f"--outstanding={self._outstanding}", "--order=sequential", "--keys=100000000",
                f"--rate={self._share}", f"--record={record}", "--warmup=0",
                f"--seconds={FOREVER}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            while process.poll() is None and not (stop.is_set() or self.stopping.is_set()):
                stop.wait(RETRY_SECONDS)
            ended = process.poll()
            if ended is None:
                process.kill()
            _, said = process.communicate()
            if ended == 2 and b"record" in said:
                self._errors.append(said.decode())
            stop.wait(RETRY_SECONDS)

    def _files(self):
        for folder, _, files in os.walk(self._all):
            yield from (os.path.join(folder, file) for file in files)

    def count(self):
        """Acknowledged puts so far, nearly, of all loads of the scratch directory."""
        return sum(os.path.getsize(path) for path in self._files()) // (KEY_BYTES + 8)

    def acknowledged(self):
        """key -> revision of every acknowledged put."""
        puts = {}
        for path in self._files():
            with open(path, "rb") as lines:
                for line in lines:
                    if line.endswith(b"\n"):
                        key, revision = line.split()
                        puts[key] = int(revision)
        return puts


def next_key(key):
    return key + b"\0"


def stored(member, prefix, revision):
    """(key, create_revision, mod_revision, version) of every key with the prefix, from the member's
    own store at the revision."""
    start, end = prefix, prefix[:-1] + bytes([prefix[-1] + 1])
    with channel_to(member) as channel:
        kv = rpc_pb2_grpc.KVStub(channel)
        while True:
            reply = kv.Range(rpc_pb2.RangeRequest(
                key=start, range_end=end, limit=PAGE, revision=revision, keys_only=True,
                serializable=True), timeout=CALM_SECONDS)
            for pair in reply.kvs:
                yield pair.key, pair.create_revision, pair.mod_revision, pair.version
            if not reply.more:
                return
            start = next_key(reply.kvs[-1].key)


def check_nothing_lost(cluster, puts):
    """On every member: each acknowledged put, once, at its revision. The members' hashes agree."""
    revision = cluster.check_same_hash()
    if len(set(puts.values())) != len(puts):
        seen, twice = {}, []
        for key, at in puts.items():
            if at in seen:
                twice.append((at, seen[at].decode(), key.decode()))
            seen[at] = key
        raise TestFailed(f"two puts were acknowledged with one revision: {twice[:5]}")
    for member in cluster.running():
        missing = dict(puts)
        wrong = []
        try:
            for key, created, modified, version in stored(member, PREFIX.encode(), revision):
                at = missing.pop(key, None)
                if at is not None and (created, modified, version) != (at, at, 1):
                    wrong.append(f"{key.decode()}: acknowledged at {at}, created {created}, "
                                 f"modified {modified}, version {version}")
        except grpc.RpcError as error:
            raise TestFailed(f"reading {member.name}'s store at revision {revision}: "
                             f"{error.code().name}: {error.details()}") from None
        if missing:
            first = sorted(missing.items(), key=lambda put: put[1])[:5]
            raise TestFailed(f"{member.name} ({member.engine}) lacks {len(missing)} of {len(puts)} "
                             f"acknowledged puts at revision {revision}; the first: {first}")
        if wrong:
            raise TestFailed(f"{member.name} ({member.engine}) holds {len(wrong)} acknowledged "
                             f"puts otherwise: {wrong[:5]}")
    return revision
