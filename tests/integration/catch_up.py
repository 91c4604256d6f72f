#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Members that are far behind, under load. One that is added behind the start of the others' WAL
catches up by a snapshot from a member with another engine, and stays caught up, also when it and
its leader are killed meanwhile. One that was down for many entries catches up from the WAL, without
a snapshot. Nothing acknowledged is lost.
"""

import contextlib
import os
import random
import time

import grpc

from cluster import Scratch, TestFailed, arguments, run, wait_until
from clusters import Cluster, cluster_arguments, engines_of
from load import Load, check_nothing_lost

# Snapshots that a member has received and installed; etcd's name.
RECEIVED = "etcd_network_snapshot_receive_success"
CATCH_UP_SECONDS = 300
# "Caught up" is to be less than this long behind.
LAG_SECONDS = 1


def another_engine(engine):
    return {"etcd": "etcd", "lmdb": "rocksdb"}.get(engine, "lmdb")


def snapshots_taken(cluster, member):
    """How many snapshots a member has installed: by its metric, which begins anew with its process,
    and by the generations of its engine, each of which began with one."""
    counted = int(cluster.metric(member, RECEIVED))
    folder = os.path.join(member.data_dir, "backend")
    if not os.path.isdir(folder):
        return counted
    generations = [int(name) for name in os.listdir(folder) if name.isdigit()]
    return max([counted] + [number - 1 for number in generations])


@contextlib.contextmanager
def started(given, etcd_snapshot_count):
    """A scratch directory and a cluster that runs."""
    flags = [f"--snapshot-count={etcd_snapshot_count}"] if given.etcd else given.flag
    with Scratch() as scratch, Cluster(scratch, engines_of(given), given.build, flags) as cluster:
        yield scratch, cluster.start()


def fill(scratch, given, cluster, puts):
    """As fast as it goes, so that the WAL's start moves on."""
    with Load(scratch, given.build, cluster.members, value_bytes=given.value_bytes,
              outstanding=128) as load:
        wait_until(f"{puts} puts being acknowledged", lambda: load.count() >= puts,
                   CATCH_UP_SECONDS)


def stays_caught_up(given, cluster, member):
    """The greatest lag over the time that is given, in revisions."""
    lags, end = [], time.monotonic() + given.hold
    while time.monotonic() < end:
        try:
            lags.append(cluster.lag(member))
        except grpc.RpcError as error:
            raise TestFailed(f"{member.name} was caught up and does not answer: "
                             f"{error.details()}") from None
        if lags[-1] > 3 * LAG_SECONDS * given.rate:
            raise TestFailed(f"{member.name} was caught up and is {lags[-1]} revisions behind "
                             f"again")
        time.sleep(0.2)
    return max(lags)


def rate_of(load, since, before):
    return (load.count() - before) / (time.monotonic() - since)


def check_added(given):
    with started(given, 5000) as (scratch, cluster):
        fill(scratch, given, cluster, given.fill)
        with Load(scratch, given.build, cluster.members, rate=given.rate) as load:
            before, since = load.count(), time.monotonic()
            leader = cluster.leader()
            member = cluster.add(another_engine(leader.engine))
            took = cluster.wait_caught_up(member, LAG_SECONDS * given.rate, CATCH_UP_SECONDS)
            snapshots = snapshots_taken(cluster, member)
            if not snapshots:
                raise TestFailed(f"{member.name} caught up in {took:.1f} s without a snapshot: "
                                 f"{RECEIVED} is 0 and its engine is in its first generation; was "
                                 f"the WAL's start still there? --fill more")
            lag = stays_caught_up(given, cluster, member)
            again = snapshots_taken(cluster, member)
            if again != snapshots:
                raise TestFailed(f"{member.name} needed another snapshot after it had caught up: "
                                 f"{again} in all")
            rate = rate_of(load, since, before)
        puts = load.acknowledged()
        revision = check_nothing_lost(cluster, puts)
        print(f"added {member.name} ({member.engine}) behind {given.fill} puts, {leader.engine} "
              f"led: caught up in {took:.1f} s by {snapshots} snapshot(s) under {rate:.0f} puts/s, "
              f"at most {lag} revisions behind in {given.hold:.0f} s; {len(puts)} puts and HashKV "
              f"equal on all at revision {revision}", flush=True)


def check_kills(given):
    """The member that catches up, and its leader, are killed meanwhile."""
    generator = random.Random(given.seed)
    with started(given, 5000) as (scratch, cluster):
        fill(scratch, given, cluster, given.fill)
        told = []
        with Load(scratch, given.build, cluster.members, rate=given.rate) as load:
            member = cluster.add(another_engine(cluster.leader().engine))
            for _ in range(given.kills):
                time.sleep(generator.uniform(0, 2))
                leader = cluster.leader(among=cluster.members[:-1])
                victim = generator.choice([member, member, leader])
                victim.kill()
                told.append(victim.name)
                time.sleep(generator.uniform(0, 0.5))
                cluster.spawn(victim)
            took = cluster.wait_caught_up(member, LAG_SECONDS * given.rate, CATCH_UP_SECONDS)
        puts = load.acknowledged()
        cluster.wait_healthy()
        revision = check_nothing_lost(cluster, puts)
        print(f"added {member.name} ({member.engine}) behind {given.fill} puts and killed "
              f"{', '.join(told)}: caught up {took:.1f} s later, "
              f"{snapshots_taken(cluster, member)} snapshot(s); {len(puts)} puts and HashKV equal "
              f"on all at revision {revision}", flush=True)


def check_was_down(given):
    with started(given, 1000000) as (scratch, cluster):
        member = cluster.follower()
        fill(scratch, given, cluster, 1000)
        member.kill()
        down = cluster.revision(cluster.leader())
        fill(scratch, given, cluster, 1000 + given.entries)
        others = cluster.running()
        with Load(scratch, given.build, others, rate=given.rate) as load:
            before, since = load.count(), time.monotonic()
            missed = cluster.revision(cluster.leader()) - down
            cluster.spawn(member)
            took = cluster.wait_caught_up(member, LAG_SECONDS * given.rate, CATCH_UP_SECONDS)
            lag = stays_caught_up(given, cluster, member)
            rate = rate_of(load, since, before)
        snapshots = snapshots_taken(cluster, member)
        if snapshots:
            raise TestFailed(f"{member.name} was down for {missed} entries and took "
                             f"{snapshots} snapshot(s) for what the WAL holds")
        puts = load.acknowledged()
        revision = check_nothing_lost(cluster, puts)
        print(f"{member.name} ({member.engine}) was down for {missed} entries: caught up in "
              f"{took:.1f} s without a snapshot under {rate:.0f} puts/s, at most {lag} revisions "
              f"behind in {given.hold:.0f} s; {len(puts)} puts and HashKV equal on all at revision "
              f"{revision}", flush=True)


CASES = {"added": check_added, "kills": check_kills, "was-down": check_was_down}


def main():
    parser = arguments(__doc__)
    cluster_arguments(parser)
    parser.add_argument("--case", action="append", choices=sorted(CASES), help="all unless given")
    parser.add_argument("--fill", type=int, default=300_000, help="puts before a member is added")
    parser.add_argument("--entries", type=int, default=100_000, help="that a member is down for")
    parser.add_argument("--value-bytes", type=int, default=256)
    parser.add_argument("--rate", type=float, default=5000, help="puts a second meanwhile")
    parser.add_argument("--kills", type=int, default=10, help="while a member catches up")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--hold", type=float, default=20, help="seconds it must stay caught up")
    parser.add_argument("--flag", action="append", default=[], help="another flag for our members")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    for name in given.case or CASES:
        try:
            CASES[name](given)
        except TestFailed as failed:
            raise TestFailed(f"{name}: {failed}") from None


if __name__ == "__main__":
    run(main)
