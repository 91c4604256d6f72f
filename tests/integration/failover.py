#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long a cluster does not take writes when its leader is killed, pauses, cannot be heard, or its
disk hangs: the same fault again and again, under load, with the timeouts that members have by
default. Nothing acknowledged is lost, and the history of reads and writes on few keys is
linearizable.
"""

import random
import statistics
import time

from cluster import TestFailed, arguments, run
from clusters import cluster_arguments
from fault_kinds import OF_LINKS, Faults
from trial import judged, trial_arguments

KINDS = ("kill", "stuck-sync", "pause", "isolate", "mute", "deaf", "one-way", "two-way")
# A leader that others hear, or hear from, need not be replaced.
MUST_REPLACE = ("kill", "stuck-sync", "pause", "isolate", "mute")


def lose_leader(trial, faults, kind, generator):
    """One round; the seconds without a write, and what happened in words."""
    time.sleep(generator.uniform(0.3, 1))  # the moment of a fault is what real time decides
    leader = trial.cluster.leader()
    others = [member for member in trial.cluster.members if member is not leader]
    begin = time.monotonic_ns()
    fault = faults.begin(kind, leader)
    told = next(fault)
    if kind in MUST_REPLACE:
        trial.cluster.leader(among=others)
    trial.probe.wait_write(time.monotonic_ns())
    time.sleep(generator.uniform(1, 2))
    silence = trial.probe.silence(begin)
    for _ in fault:
        pass
    trial.settle()
    return silence, f"{told}, which led; no write for {silence * 1000:.0f} ms"


def repeat(given, kind):
    generator = random.Random(f"{given.seed}/{kind}")
    with judged(given, kind, proxied=kind in OF_LINKS) as trial:
        faults = Faults(trial.scratch, trial.cluster, generator)
        silences = []
        for number in range(1, given.rounds + 1):
            try:
                silence, told = lose_leader(trial, faults, kind, generator)
            except TestFailed as failed:
                raise TestFailed(f"round {number}: {failed}") from None
            silences.append(silence * 1000)
            print(f"round {number}: {told}; {trial.cluster.leader().name} leads", flush=True)
        print(f"{kind}: time without writes over {len(silences)} rounds: median "
              f"{statistics.median(silences):.0f} ms, from {min(silences):.0f} to "
              f"{max(silences):.0f} ms", flush=True)


def main():
    parser = arguments(__doc__)
    cluster_arguments(parser)
    parser.add_argument("--fault", action="append", choices=KINDS,
                        help="one kind; kill and stuck-sync unless given")
    parser.add_argument("--rounds", type=int, default=20)
    trial_arguments(parser, rate=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    for kind in given.fault or KINDS[:2]:
        try:
            repeat(given, kind)
        except TestFailed as failed:
            raise TestFailed(f"{kind}, seed {given.seed}: {failed}") from None


if __name__ == "__main__":
    run(main)
