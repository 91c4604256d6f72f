#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A cluster of three becomes five, then three others, one command at a time, while clients write
through every member. No acknowledged write is lost, removed members end, and the history of reads
and writes on few keys is linearizable. The elections are counted: one for each leader that is removed
will do on a machine that has time for its members.
"""

import random

from cluster import TestFailed, arguments, run
from clusters import cluster_arguments, engines_of
from trial import judged, trial_arguments


class Campaign:
    def __init__(self, given, trial):
        self.given = given
        self.trial = trial
        self.cluster = trial.cluster
        self.load = trial.load
        self.engines = engines_of(given)
        self.leaders_removed = 0

    def settle(self, told):
        self.trial.settle()
        names = ", ".join(f"{m.name} ({m.engine})" for m in self.cluster.members)
        print(f"{told}; now {names}; {self.load.count()} puts acknowledged", flush=True)

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
        self.leaders_removed += led
        self.cluster.remove(member)
        self.load.remove(member)
        self.settle(f"removed {member.name}{', which led' if led else ''}")

    def next_of(self, old):
        """Whom to remove: the leader at once, which is the hardest, or last."""
        leader = self.cluster.leader()
        others = [member for member in old if member is not leader]
        if self.given.leader_last:
            return others[0] if others else leader
        return leader if leader in old else others[0]

    def all_changes(self):
        old = self.cluster.members[:3]
        self.add(self.engines[0])
        self.add_learner(self.engines[1])
        while old:
            member = self.next_of(old)
            old.remove(member)
            self.remove(member)
            if old and len(self.cluster.members) == 3:
                self.add(self.engines[2])


def round_of_changes(given, number):
    with judged(given, f"round {number}") as trial:
        term = trial.cluster.term()
        campaign = Campaign(given, trial)
        campaign.all_changes()
        elections = trial.cluster.term() - term
        told = f"{elections} elections, and {campaign.leaders_removed} leaders were removed"
        print(told, flush=True)
        if given.no_needless_election and elections > campaign.leaders_removed:
            raise TestFailed(told)
        trial.cluster.check_gone()
        listed = sorted(one["name"] for one in trial.cluster.member_list().values())
        if listed != sorted(member.name for member in trial.cluster.members):
            raise TestFailed(f"the member list names {listed}")


def main():
    parser = arguments(__doc__)
    cluster_arguments(parser)
    parser.add_argument("--rounds", type=int, default=1, help="whole clusters to change")
    parser.add_argument("--leader-last", action="store_true",
                        help="remove the leader last, so that one election will do (default: first)")
    parser.add_argument("--no-needless-election", action="store_true",
                        help="fail if more are held than leaders are removed (default: count)")
    trial_arguments(parser, rate=2000, clients=4)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    for number in range(1, given.rounds + 1):
        try:
            round_of_changes(given, number)
        except TestFailed as failed:
            raise TestFailed(f"round {number}, seed {given.seed}: {failed}") from None


if __name__ == "__main__":
    run(main)
