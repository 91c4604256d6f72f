# SPDX-License-Identifier: Apache-2.0
"""What can happen to a cluster's members, their links and their disks.

Each kind is a generator: it lets the fault happen to a member, yields what it did in words, and,
when it is resumed, ends the fault. So several can be under way at a time.
"""

import time

from cluster import TestFailed
from disk import Tracer

OF_LINKS = ("one-way", "two-way", "mute", "deaf", "isolate")
OF_PROCESSES = ("kill", "kill-all", "pause")
OF_DISKS = ("stuck-sync", "sync-error", "full-disk")
STUCK_SECONDS = 30
NO_SPACE = "no space left"
ENDING_SECONDS = 1  # within which a member ends whose write had failed


def expect_end(member, words):
    """The member ended by itself, and said why."""
    code = member.wait_end()
    said = member.last_words()
    if code <= 0 or words not in said.lower():
        raise TestFailed(f"{member.name} ended with {code}, and its last words are not of "
                         f"{words!r}: {said}")


class Faults:
    """disks: the SmallDisk of each member that has one, by name."""

    def __init__(self, scratch, cluster, generator, disks=()):
        self._scratch = scratch
        self._cluster = cluster
        self._random = generator
        self._disks = dict(disks)

    def begin(self, kind, victim):
        return getattr(self, kind.replace("-", "_"))(victim)

    def _others(self, member):
        return [one for one in self._cluster.members if one is not member]

    # Processes

    def kill(self, victim):
        victim.kill()
        yield f"killed {victim.name} ({victim.engine})"
        self._cluster.spawn(victim)

    def kill_all(self, _victim):
        victims = self._cluster.running()
        for victim in victims:
            victim.kill()
        yield f"killed {', '.join(victim.name for victim in victims)}"
        for victim in victims:
            self._cluster.spawn(victim)

    def pause(self, victim):
        victim.pause()
        yield f"paused {victim.name}"
        victim.resume()

    # Links

    def _cut(self, pairs):
        how = self._random.choice(["swallow", "hold"])
        for sender, receiver in pairs:
            self._cluster.proxy.cut(sender.name, receiver.name, how)
        told = ", ".join(f"{sender.name} to {receiver.name}" for sender, receiver in pairs)
        yield f"cut {told} ({how})"
        self._cluster.proxy.heal()

    def one_way(self, victim):
        """One direction between the member and another; the bytes are lost, or late."""
        other = self._random.choice(self._others(victim))
        return self._cut([tuple(self._random.sample([victim, other], 2))])

    def two_way(self, victim):
        other = self._random.choice(self._others(victim))
        return self._cut([(victim, other), (other, victim)])

    def mute(self, victim):
        """Nothing gets out of the member."""
        return self._cut([(victim, other) for other in self._others(victim)])

    def deaf(self, victim):
        """Nothing gets to the member."""
        return self._cut([(other, victim) for other in self._others(victim)])

    def isolate(self, victim):
        return self._cut([pair for other in self._others(victim)
                          for pair in ((victim, other), (other, victim))])

    # Disks

    def stuck_sync(self, victim):
        """The member's next sync, in each of its threads, takes half a minute or until the end."""
        tracer = Tracer(self._scratch, victim.server_pid(), "fdatasync",
                        f"delay_enter={STUCK_SECONDS}s:when=1")
        yield f"fdatasync hangs in {victim.name} ({victim.engine})"
        tracer.end()

    def sync_error(self, victim):
        tracer = Tracer(self._scratch, victim.server_pid(), "fdatasync", "error=EIO")
        expect_end(victim, "input/output error")
        tracer.end()
        yield f"fdatasync failed in {victim.name} ({victim.engine}), which ended"
        self._cluster.spawn(victim)

    def full_disk(self, _victim):
        """Of a member that has a small disk, whoever that is. It ends, or has room of its own."""
        name = self._random.choice(sorted(self._disks))
        member, disk = self._cluster.by_name(name), self._disks[name]
        disk.fill()
        yield f"the disk of {name} ({member.engine}) is full"
        disk.resize("90%")
        time.sleep(ENDING_SECONDS)
        if not member.running():
            expect_end(member, NO_SPACE)
            self._cluster.spawn(member)
