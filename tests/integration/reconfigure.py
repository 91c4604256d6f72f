#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A cluster of three becomes five, then three others, one command at a time, while clients write
through every member. No acknowledged write is lost, removed members end, and the history of reads
and writes on few keys is linearizable.
"""

import random

from cluster import Scratch, TestFailed, arguments, run
from clusters import Cluster, cluster_arguments, engines_of
from history import Recorder
from load import Load, check_nothing_lost


class Campaign:
    def __init__(self, given, cluster, load, recorder):
        self.given = given
        self.cluster = cluster
        self.load = load
        self.recorder = recorder
        self.engines = engines_of(given)

    def settle(self, told):
        """All are healthy and clients go on."""
        self.cluster.wait_healthy()
        self.recorder.wait_going_on()
        names = ", ".join(f"{m.name} ({m.engine})" for m in self.cluster.members)
        print(f"{told}; now {names}; {self.load.count()} puts acknowledged", flush=True)
        self.recorder.new_round()

    def add(self, engine):
        member = self.cluster.add(engine)
        took = self.cluster.wait_caught_up(member, self.given.rate)
        self.load.add(member)
        self.settle(f"added {member.name}, caught up in {took:.1f} s")

    def add_learner(self, engine):
        member = self.cluster.add(engine, learner=True)
        took = self.cluster.wait_caught_up(member, self.given.rate)
        self.cluster.promote(member)
        self.load.add(member)
        self.settle(f"added {member.name} as a learner, caught up in {took:.1f} s, promoted")

    def remove(self, member):
        led = self.cluster.leader() is member
        self.cluster.remove(member)
        self.load.remove(member)
        self.settle(f"removed {member.name}{', which led' if led else ''}")

    def all_changes(self):
        first, second, third = self.cluster.members[:3]
        self.add(self.engines[0])
        self.add_learner(self.engines[1])
        self.remove(self.cluster.leader())  # the hardest first
        for member in [one for one in (first, second, third) if one in self.cluster.members][:-1]:
            self.remove(member)
            if len(self.cluster.members) == 3:
                self.add(self.engines[2])
        for member in [one for one in (first, second, third) if one in self.cluster.members]:
            self.remove(member)


def round_of_changes(given, seed):
    with Scratch() as scratch, Cluster(scratch, engines_of(given), given.build) as cluster:
        cluster.start()
        with Load(scratch, given.build, cluster.members, rate=given.rate) as load, \
                Recorder(scratch.sub("history"), cluster.members, given.clients, seed) as recorder:
            Campaign(given, cluster, load, recorder).all_changes()
        puts = load.acknowledged()
        cluster.wait_healthy()
        cluster.check_gone()
        listed = sorted(one["name"] for one in cluster.member_list().values())
        if listed != sorted(member.name for member in cluster.members):
            raise TestFailed(f"the member list names {listed}")
        revision = check_nothing_lost(cluster, puts)
        print(f"{len(puts)} acknowledged puts on {', '.join(listed)}, HashKV equal at revision "
              f"{revision}", flush=True)
        print(f"{recorder.done} answered and {recorder.unknown} unanswered calls: "
              f"{recorder.check(given.build)}", flush=True)


def main():
    parser = arguments(__doc__)
    cluster_arguments(parser)
    parser.add_argument("--rounds", type=int, default=1, help="whole clusters to change")
    parser.add_argument("--rate", type=float, default=2000, help="puts a second at most")
    parser.add_argument("--clients", type=int, default=4, help="that make the history")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    for number in range(given.rounds):
        try:
            round_of_changes(given, f"{given.seed}/{number}")
        except TestFailed as failed:
            raise TestFailed(f"round {number + 1}, seed {given.seed}: {failed}") from None


if __name__ == "__main__":
    run(main)
