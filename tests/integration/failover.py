#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The leader is killed, paused, or loses one direction of a link or of all its links, again and
again, while writers write through every member. Afterwards every acknowledged put is on every member at its revision,
HashKV agrees, and the history of reads and writes on few keys is linearizable.
"""

import random
import time

from cluster import Scratch, TestFailed, arguments, run
from clusters import Cluster, cluster_arguments, engines_of
from history import Recorder
from load import Load, check_nothing_lost

FAULTS = ("kill", "pause", "one-way", "mute", "deaf")
OF_LINKS = ("one-way", "mute", "deaf")


class Campaign:
    """What every round needs."""

    def __init__(self, given, cluster, load, recorder, generator):
        self.given = given
        self.cluster = cluster
        self.load = load
        self.recorder = recorder
        self.random = generator

    def work(self, low, high):
        """Lets clients work; the moment of a fault is the one thing that real time decides."""
        time.sleep(self.random.uniform(low, high))

    def kill(self):
        leader = self.cluster.leader()
        leader.kill()
        self.work(0, 2)
        self.cluster.spawn(leader)
        return f"killed {leader.name} ({leader.engine})"

    def pause(self):
        leader = self.cluster.leader()
        seconds = self.random.uniform(1, self.given.pause_max)
        leader.pause()
        time.sleep(seconds)
        leader.resume()
        return f"paused {leader.name} for {seconds:.1f} s"

    def one_way(self):
        """One direction between the leader and another; the bytes are lost, or late."""
        leader = self.cluster.leader()
        other = self.random.choice(self.others(leader))
        sender, receiver = self.random.sample([leader, other], 2)
        return f"{self.cut_all([(sender, receiver)])}, {leader.name} led"

    def mute(self):
        """Nothing gets out of the leader."""
        leader = self.cluster.leader()
        return self.cut_all([(leader, other) for other in self.others(leader)])

    def deaf(self):
        """Nothing gets to the leader."""
        leader = self.cluster.leader()
        return self.cut_all([(other, leader) for other in self.others(leader)])

    def others(self, member):
        return [one for one in self.cluster.running() if one is not member]

    def cut_all(self, pairs):
        how = self.random.choice(["swallow", "hold"])
        seconds = self.random.uniform(2, self.given.pause_max)
        for sender, receiver in pairs:
            self.cluster.proxy.cut(sender.name, receiver.name, how)
        time.sleep(seconds)
        self.cluster.proxy.heal()
        told = ", ".join(f"{sender.name} to {receiver.name}" for sender, receiver in pairs)
        return f"cut {told} ({how}) for {seconds:.1f} s"

    def round(self, number, fault):
        before, begin = self.load.count(), time.monotonic_ns()
        self.recorder.new_round()
        self.work(0.3, 1)
        told = getattr(self, fault.replace("-", "_"))()
        self.cluster.wait_healthy()
        self.recorder.wait_going_on()
        silence = self.recorder.longest_silence(begin)
        print(f"round {number}: {told}; {self.load.count() - before} puts acknowledged in "
              f"{(time.monotonic_ns() - begin) / 1e9:.1f} s, none for {silence:.2f} s at most, "
              f"{self.cluster.leader().name} leads", flush=True)


def campaign(given, fault):
    generator = random.Random(f"{given.seed}/{fault}")
    with Scratch() as scratch, \
            Cluster(scratch, engines_of(given), given.build,
                    proxied=fault in OF_LINKS) as cluster:
        cluster.start()
        with Load(scratch, given.build, cluster.members, rate=given.rate) as load, \
                Recorder(scratch.sub("history"), cluster.members, given.clients,
                         given.seed) as recorder:
            one = Campaign(given, cluster, load, recorder, generator)
            rounds, end = 0, time.monotonic() + 60 * (given.minutes or 0)
            while rounds < given.rounds or time.monotonic() < end:
                rounds += 1
                try:
                    one.round(rounds, fault)
                except TestFailed as failed:
                    raise TestFailed(f"round {rounds}: {failed}") from None
        puts = load.acknowledged()
        cluster.wait_healthy()
        revision = check_nothing_lost(cluster, puts)
        print(f"{fault}: {rounds} rounds, {len(puts)} acknowledged puts on every member, HashKV "
              f"equal at revision {revision}", flush=True)
        said = recorder.check(given.build)
        print(f"{fault}: {recorder.done} answered and {recorder.unknown} unanswered calls: {said}")


def main():
    parser = arguments(__doc__)
    cluster_arguments(parser)
    parser.add_argument("--fault", action="append", choices=FAULTS,
                        help="one kind; all unless given")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--minutes", type=float, help="go on for so long at least")
    parser.add_argument("--rate", type=float, default=5000,
                        help="puts a second at most, through all members together; 0: any number")
    parser.add_argument("--clients", type=int, default=6, help="that make the history")
    parser.add_argument("--pause-max", type=float, default=10, help="seconds of a pause or a cut")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    for fault in given.fault or FAULTS:
        try:
            campaign(given, fault)
        except TestFailed as failed:
            raise TestFailed(f"{fault}, seed {given.seed}: {failed}") from None


if __name__ == "__main__":
    run(main)
