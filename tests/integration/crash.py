#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One member is killed with SIGKILL, again and again, while clients write. After each restart every
acknowledged write is there with its revision, no revision is used twice, and HashKV agrees with a
model of the store.
"""

import random
import time

from cluster import ENGINES, Member, Scratch, TestFailed, arguments, run, wait_until
from workload import Model, start_clients, stop_clients

CLIENTS = 4


def kill_and_check(member, model, name, generator):
    """One round: writes, a kill at a random moment, a restart, and the model's verdict."""
    clients = start_clients(member, CLIENTS, name, generator.random())
    wait_until("the first answered write", lambda: any(client.answered for client in clients))
    # The moment of the kill is the one thing here that real time decides.
    time.sleep(generator.uniform(0, 0.3))
    member.kill()
    stop_clients(clients)
    member.start()
    model.take(member, clients)
    return sum(len(client.answered) for client in clients)


def check_engine(engine, build, rounds, seed):
    generator = random.Random(f"{seed}/{engine}")
    with Scratch() as scratch, Member(scratch, engine, build) as member:
        member.start()
        model, answered = Model(), 0
        for number in range(rounds):
            try:
                answered += kill_and_check(member, model, f"r{number}", generator)
            except TestFailed as failed:
                raise TestFailed(f"{engine}, kill {number + 1}, seed {seed}: {failed}") from None
        code = member.stop()
        if engine != "etcd" and code != 0:
            raise TestFailed(f"{engine}: SIGTERM ended the member with {code}")
        member.start()
        model.take(member, [])
    print(f"{engine}: {rounds} kills, {answered} acknowledged writes, revision {model.revision}: "
          f"nothing lost")


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=50, help="kills for each engine")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    for engine in given.engine or ENGINES:
        check_engine(engine, given.build, given.rounds, given.seed)


if __name__ == "__main__":
    run(main)
