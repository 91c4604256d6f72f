#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Watches and leases across the deaths of leaders.

Watches that are opened before, and re-opened by revision on another member as clients do, are told
every event once, in order. A lease that is kept alive through leader changes does not expire; one
that is not kept alive does, once, and its keys go on every member.
"""

import queue
import random
import threading
import time

import grpc
from etcd3.etcdrpc import kv_pb2, rpc_pb2, rpc_pb2_grpc

from cluster import Scratch, TestFailed, arguments, run, seeded, wait_until
from clusters import CALM_SECONDS, Cluster, channel_to, cluster_arguments, engines_of
from workload import watch_history

CALL_SECONDS = 2
BACKOFF_SECONDS = 0.05
KEYS = 30
TTL = 5
KEPT_KEY, LOST_KEY = b"lease/kept", b"lease/lost"


class Roamer(threading.Thread):
    """A client that has one member at a time and goes to another when a call fails."""

    def __init__(self, members, generator):
        super().__init__(daemon=True)
        self.members = members
        self.random = generator
        self.member = None
        self.channel = None
        self.stopping = threading.Event()
        self.failure = None
        self.moves = -1
        self.move()

    def move(self):
        if self.channel:
            self.channel.close()
        others = [member for member in self.members if member is not self.member]
        self.member = self.random.choice(others)
        self.channel = channel_to(self.member)
        self.moves += 1

    def run(self):
        try:
            while not self.stopping.is_set():
                try:
                    self.work()
                except grpc.RpcError:
                    self.stopping.wait(BACKOFF_SECONDS)
                    self.move()
        except TestFailed as failed:
            self.failure = failed
        except Exception as error:  # an end that nobody sees would look like success
            self.failure = TestFailed(repr(error))
        finally:
            self.channel.close()

    def stop(self):
        self.stopping.set()
        self.join()
        if self.failure:
            raise self.failure


class Writer(Roamer):
    """Puts, deletes and transactions of several keys; keeps what was acknowledged, by revision."""

    def __init__(self, members, generator):
        super().__init__(members, generator)
        self.acknowledged = {}  # revision -> changes as watch_history() gives them
        self._count = 0

    def work(self):
        self._count += 1
        names = sorted({f"watched/{self.random.randrange(KEYS):02}".encode()
                        for _ in range(self.random.choice([1, 1, 1, 3]))})
        value = f"{self._count}".encode()
        changes = [(key, None if self.random.random() < 0.2 else value) for key in names]
        reply = rpc_pb2_grpc.KVStub(self.channel).Txn(rpc_pb2.TxnRequest(success=[
            rpc_pb2.RequestOp(request_delete_range=rpc_pb2.DeleteRangeRequest(key=key))
            if new is None else
            rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=key, value=new))
            for key, new in changes]), timeout=CALL_SECONDS)
        real = [change for change, answer in zip(changes, reply.responses)
                if change[1] is not None or answer.response_delete_range.deleted]
        if real:
            self.acknowledged[reply.header.revision] = real


class Watcher(Roamer):
    """Keeps every event of the whole store from `first` on, in the order it came."""

    def __init__(self, members, generator, first):
        super().__init__(members, generator)
        self.next = first
        self.events = []  # (revision, key, value or None)

    def work(self):
        requests = queue.Queue()
        requests.put(rpc_pb2.WatchRequest(create_request=rpc_pb2.WatchCreateRequest(
            key=b"\0", range_end=b"\0", start_revision=self.next)))
        call = rpc_pb2_grpc.WatchStub(self.channel).Watch(iter(requests.get, None))
        threading.Thread(target=lambda: (self.stopping.wait(), call.cancel()), daemon=True).start()
        try:
            for reply in call:
                if reply.compact_revision:
                    raise TestFailed(f"the watch was cancelled as compacted at "
                                     f"{reply.compact_revision}")
                if reply.canceled:
                    break
                self._take(reply.events)
            self.stopping.wait(BACKOFF_SECONDS)
            self.move()
        finally:
            requests.put(None)

    def _take(self, events):
        for event in events:
            value = None if event.type == kv_pb2.Event.DELETE else event.kv.value
            self.events.append((event.kv.mod_revision, event.kv.key, value))
        if events:
            self.next = events[-1].kv.mod_revision + 1


class Keeper(Roamer):
    """Keeps a lease alive, a third of its time to live after the last answer."""

    def __init__(self, members, generator, lease):
        super().__init__(members, generator)
        self.lease = lease
        self.answers = 0

    def work(self):
        requests = queue.Queue()
        call = rpc_pb2_grpc.LeaseStub(self.channel).LeaseKeepAlive(
            iter(requests.get, None), timeout=TTL / 3 + CALL_SECONDS)
        try:
            requests.put(rpc_pb2.LeaseKeepAliveRequest(ID=self.lease))
            reply = next(call, None)
            if reply is not None and reply.TTL <= 0:
                raise TestFailed(f"lease {self.lease:x} was kept alive {self.answers} times "
                                 f"through {self.moves} moves, and {self.member.name} says it is gone")
            self.answers += reply is not None
        finally:
            requests.put(None)
            call.cancel()
        self.stopping.wait(TTL / 3)


def call_anywhere(cluster, what, call):
    """call(channel) on any running member until it answers."""
    def answered():
        for member in cluster.running():
            with channel_to(member) as channel:
                try:
                    return call(channel)
                except grpc.RpcError:
                    pass
        return None
    return wait_until(what, answered, CALM_SECONDS)


def grant(cluster, key):
    """A lease with a key on it; its id."""
    lease = call_anywhere(cluster, "a lease being granted", lambda channel: rpc_pb2_grpc.LeaseStub(
        channel).LeaseGrant(rpc_pb2.LeaseGrantRequest(TTL=TTL), timeout=CALL_SECONDS)).ID
    call_anywhere(cluster, f"{key} being put", lambda channel: rpc_pb2_grpc.KVStub(channel).Put(
        rpc_pb2.PutRequest(key=key, value=b"held", lease=lease), timeout=CALL_SECONDS))
    return lease


def present(member, key):
    with channel_to(member) as channel:
        reply = rpc_pb2_grpc.KVStub(channel).Range(
            rpc_pb2.RangeRequest(key=key, serializable=True), timeout=CALL_SECONDS)
        return bool(reply.kvs)


def kill_leader(cluster, generator):
    leader = cluster.leader()
    leader.kill()
    time.sleep(generator.uniform(0, 2))
    cluster.spawn(leader)
    cluster.wait_healthy()
    return leader


def check_watchers(cluster, watchers, writer, first):
    """Each was told exactly what every member's history holds."""
    last = cluster.check_same_hash()
    for watcher in watchers:
        wait_until("a watch being told all", lambda w=watcher: w.failure or w.next > last,
                   CALM_SECONDS)
        watcher.stop()
    for member in cluster.running():
        history = [(revision, changes)
                   for revision, changes in watch_history(member, first, last)]
        for revision, changes in history:
            told = writer.acknowledged.get(revision)
            if told is not None and told != changes:
                raise TestFailed(f"revision {revision} was acknowledged as {told}, and "
                                 f"{member.name} holds {changes}")
        missing = writer.acknowledged.keys() - {revision for revision, _ in history}
        if missing:
            raise TestFailed(f"{member.name} lacks acknowledged revisions {sorted(missing)[:5]}")
        expected = [(revision, *change) for revision, changes in history for change in changes]
        for number, watcher in enumerate(watchers):
            compare(expected, watcher.events, f"watch {number + 1} ({watcher.moves} moves)", member)
    return last


def compare(expected, events, name, member):
    if events == expected:
        return
    at = next((i for i, (a, b) in enumerate(zip(expected, events)) if a != b),
              min(len(expected), len(events)))
    raise TestFailed(f"{name} was told {len(events)} events, the history of {member.name} has "
                     f"{len(expected)}; they part at number {at}: told {events[at:at + 3]}, "
                     f"expected {expected[at:at + 3]}, after {expected[max(at - 1, 0):at]}")


def check_lost_lease(cluster, watcher):
    """The lease that nobody kept is gone everywhere, and its key was deleted once."""
    wait_until("the forgotten lease expiring",
               lambda: not any(present(member, LOST_KEY) for member in cluster.running()),
               4 * TTL + CALM_SECONDS)
    for member in cluster.running():
        if not present(member, KEPT_KEY):
            raise TestFailed(f"the key of the lease that was kept alive is gone on {member.name}")
    wait_until("the watch seeing the deletion",
               lambda: any(event[1:] == (LOST_KEY, None) for event in watcher.events))


def campaign(given):
    generator = random.Random(given.seed)
    with Scratch() as scratch, Cluster(scratch, engines_of(given), given.build) as cluster:
        cluster.start()
        first = cluster.wait_same_revision() + 1
        watchers = [Watcher(cluster.members, random.Random(generator.random()), first)
                    for _ in range(given.watches)]
        writer = Writer(cluster.members, random.Random(generator.random()))
        keeper = Keeper(cluster.members, random.Random(generator.random()),
                        grant(cluster, KEPT_KEY))
        clients = [*watchers, writer, keeper]
        for client in clients:
            client.start()
        grant(cluster, LOST_KEY)
        for number in range(given.rounds):
            time.sleep(generator.uniform(0.3, 1.5))
            leader = kill_leader(cluster, generator)
            print(f"round {number + 1}: killed {leader.name} ({leader.engine}); "
                  f"{len(writer.acknowledged)} writes acknowledged, {cluster.leader().name} leads",
                  flush=True)
            for client in clients:
                if client.failure:
                    raise client.failure
        check_lost_lease(cluster, watchers[0])
        answers = keeper.answers
        wait_until("the lease being kept alive", lambda: keeper.failure or keeper.answers > answers)
        writer.stop()
        last = check_watchers(cluster, watchers, writer, first)
        keeper.stop()  # not before: its lease's end would be an event more
        deletions = [event for event in watchers[0].events if event[1:] == (LOST_KEY, None)]
        if len(deletions) != 1:
            raise TestFailed(f"the key of the forgotten lease was deleted {len(deletions)} times")
        print(f"{given.rounds} leaders killed: {given.watches} watches, re-opened "
              f"{', '.join(str(watcher.moves) for watcher in watchers)} times, were each told "
              f"{len(watchers[0].events)} events to revision {last}, once and in order; a lease "
              f"kept alive {keeper.answers} times lived on, one that was not expired once")


def main():
    parser = arguments(__doc__)
    cluster_arguments(parser)
    parser.add_argument("--rounds", type=int, default=20, help="leaders to kill")
    parser.add_argument("--watches", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    seeded(campaign, parser.parse_args())


if __name__ == "__main__":
    run(main)
