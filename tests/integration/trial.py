# SPDX-License-Identifier: Apache-2.0
"""A cluster under load, with a recorded history, and the judgement at its end: every acknowledged
put is on every member at its revision, HashKV agrees, and the history is linearizable.
"""

import contextlib
import dataclasses

from cluster import Scratch
from clusters import Cluster, engines_of
from history import Recorder
from load import Load, check_nothing_lost
from probe import Probe


@dataclasses.dataclass
class Trial:
    scratch: Scratch
    cluster: Cluster
    load: Load
    recorder: Recorder
    probe: Probe

    def settle(self, but=()):
        """All are healthy, `but` these, and clients go on, on other keys."""
        self.cluster.wait_healthy(but=but)
        self.recorder.wait_going_on()
        self.recorder.new_round()


def trial_arguments(parser, rate, clients=6):
    parser.add_argument("--rate", type=float, default=rate,
                        help="puts a second at most, through all members together; 0: any number")
    parser.add_argument("--clients", type=int, default=clients, help="that make the history")


@contextlib.contextmanager
def judged(given, name, prepare=None, proxied=False):
    """A Trial of a new cluster. prepare(scratch, cluster) comes before its start, and may give a
    context manager that is left at the end."""
    with Scratch() as scratch, contextlib.ExitStack() as around:
        cluster = Cluster(scratch, engines_of(given), given.build, proxied=proxied)
        if prepare:
            around.enter_context(prepare(scratch, cluster))
        around.enter_context(cluster)
        cluster.start()
        with Load(scratch, given.build, cluster.members, rate=given.rate) as load, \
                Recorder(scratch.sub("history"), cluster.members, given.clients,
                         f"{given.seed}/{name}") as recorder, \
                Probe(list(cluster.members)) as probe:
            yield Trial(scratch, cluster, load, recorder, probe)
        puts = load.acknowledged()
        cluster.wait_healthy()
        revision = check_nothing_lost(cluster, puts)
        print(f"{name}: {len(puts)} acknowledged puts on "
              f"{', '.join(sorted(member.name for member in cluster.members))}, HashKV equal at "
              f"revision {revision}", flush=True)
        said = recorder.check(given.build)
        print(f"{name}: {recorder.done} answered and {recorder.unknown} unanswered calls: {said}",
              flush=True)
