#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Three members under load, and everything that can happen to them, mixed by a seed: kills, pauses,
links cut one way or both, syncs that fail or hang, a full disk; at times two at once. All kinds come
before one comes again. Nothing acknowledged is lost, and the history of reads and writes on few keys
is linearizable.

    campaign.py --minutes 30
"""

import collections
import contextlib
import random
import time

from cluster import TestFailed, arguments, run, seeded
from clusters import cluster_arguments
from disk import SmallDisk
from fault_kinds import OF_DISKS, OF_LINKS, OF_PROCESSES, STUCK_SECONDS, Faults
from trial import judged, trial_arguments

SMALL_MEGABYTES = 8192  # no limit until the disk is filled
# Of these two may be under way at a time, on two members.
PAIRED = ("kill", "pause", "stuck-sync")


class Campaign:
    def __init__(self, given, trial, disks):
        self.given = given
        self.trial = trial
        self.random = random.Random(given.seed)
        self.faults = Faults(trial.scratch, trial.cluster, self.random, disks)
        self.kinds = [kind for kind in OF_PROCESSES + OF_LINKS + OF_DISKS
                      if disks or kind != "full-disk"]
        self.bag = []
        self.counts = collections.Counter()

    def next_kind(self):
        if not self.bag:
            self.bag = self.random.sample(self.kinds, len(self.kinds))
        return self.bag.pop()

    def victims(self):
        """The members, whoever is to suffer first; more often than not the leader."""
        leader = self.trial.cluster.leader()
        members = self.random.sample(self.trial.cluster.members, len(self.trial.cluster.members))
        if self.random.random() < 0.6:
            members.sort(key=lambda member: member is not leader)
        return leader, members

    def seconds(self, kinds):
        """How long it lasts; at times as long as it may."""
        most = self.given.stall_seconds if "stuck-sync" in kinds else self.given.fault_seconds
        return most if self.random.random() < 0.3 else self.random.uniform(0.5, most)

    def round(self):
        """One fault, or two at once; in words."""
        time.sleep(self.random.uniform(0.2, 0.8))
        begin = time.monotonic_ns()
        leader, (first, second, *_) = self.victims()
        kind = self.next_kind()
        running = [(kind, self.faults.begin(kind, first))]
        if kind in PAIRED + OF_LINKS and self.random.random() < 0.3:
            other = self.random.choice(PAIRED)
            running.append((other, self.faults.begin(other, second)))
        told = []
        for name, fault in running:
            told.append(next(fault))
            self.counts[name] += 1
        seconds = self.seconds([kind for kind, _ in running])
        time.sleep(seconds)
        for _, fault in self.random.sample(running, len(running)):
            for _ in fault:
                pass
        self.trial.settle()
        return (f"{' and '.join(told)}, for {seconds:.1f} s, {leader.name} led; no write for "
                f"{self.trial.probe.silence(begin):.2f} s at most")


@contextlib.contextmanager
def small_disk(given, disks, scratch, cluster):
    """Puts one member's data on a disk that can be filled. RocksDB takes room ahead, and so would not
    miss any for minutes."""
    members = [one for one in cluster.members if one.engine != "rocksdb"] or cluster.members
    member = random.Random(f"{given.seed}/disk").choice(members)
    with SmallDisk(scratch.sub("disk"), SMALL_MEGABYTES) as disk:
        if disk.mounted:
            member.data_dir = f"{disk.path}/data"
            disks[member.name] = disk
        else:
            print("a full disk: not among the faults, mounting a tmpfs was refused", flush=True)
        yield


def campaign(given):
    disks = {}
    with judged(given, "campaign", lambda *made: small_disk(given, disks, *made),
                proxied=True) as trial:
        one = Campaign(given, trial, disks)
        begin, rounds = time.monotonic(), 0
        while time.monotonic() < begin + 60 * given.minutes:
            rounds += 1
            try:
                told = one.round()
            except TestFailed as failed:
                raise TestFailed(f"round {rounds}: {failed}") from None
            minutes = (time.monotonic() - begin) / 60
            print(f"[{minutes:.1f} of {given.minutes:g} min] round {rounds}: {told}; "
                  f"{trial.load.count()} puts and {trial.recorder.done} calls answered", flush=True)
        told = ", ".join(f"{kind} {count}" for kind, count in sorted(one.counts.items()))
        print(f"campaign: {rounds} rounds in {minutes:.1f} minutes: {told}", flush=True)


def main():
    parser = arguments(__doc__)
    cluster_arguments(parser)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--fault-seconds", type=float, default=12, help="of one fault at most")
    parser.add_argument("--stall-seconds", type=float, default=STUCK_SECONDS + 1,
                        help="of a sync that hangs, at most")
    trial_arguments(parser, rate=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    seeded(campaign, parser.parse_args())


if __name__ == "__main__":
    run(main)
