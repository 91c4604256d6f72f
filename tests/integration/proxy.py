#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A proxy for the links between members: what goes from one to another can be cut, one way or both,
delayed, and healed.

Members advertise the proxy's addresses and listen on others. All members share one address of a
target, so who dialled is found out by the owner of the dialling socket. A direction is of bytes,
not of connections: "m1 to m2" is what m1 sends on the connections it dialled and on those it
accepted.

As a process it takes one JSON object a line on stdin and answers each with one on stdout; `Proxy`
is the other end of that. It ends with its stdin.
"""

import asyncio
import collections
import json
import os
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import TestFailed, spawn  # noqa: E402

HIGH_WATER = 1 << 20  # bytes that wait for a slow reader before the sender is held back
RESET = struct.pack("ii", 1, 0)


class Proxy:
    """The proxy's process, from the test's side."""

    def __init__(self):
        self._process = spawn([sys.executable, os.path.abspath(__file__)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)

    def _ask(self, **request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        reply = json.loads(line) if line else {"error": "the proxy's process ended"}
        if "error" in reply:
            raise TestFailed(f"the fault proxy could not do {request}: {reply['error']}")
        return reply

    def target(self, name, port):
        """The port that stands for the member from now on."""
        return self._ask(do="target", name=name, port=port)["port"]

    def member_runs(self, name, pid):
        """Which process dials as this member."""
        self._ask(do="runs", name=name, pid=pid)

    def cut(self, sender, receiver, how="swallow"):
        """Nothing gets from sender to receiver. how: "swallow" loses the bytes, and healing ends
        the connections that lost some; "hold" keeps them, as a network does that loses packets."""
        self._ask(do="cut", sender=sender, receiver=receiver, how=how)

    def delay(self, sender, receiver, seconds):
        self._ask(do="delay", sender=sender, receiver=receiver, seconds=seconds)

    def heal(self):
        """All directions pass again."""
        self._ask(do="heal")

    def figures(self):
        """Per direction "a>b": bytes passed and bytes swallowed."""
        return self._ask(do="figures")["figures"]

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self._process.kill()
        self._process.wait()


class Closed:
    """The end of a connection after all its bytes."""


class Reset:
    """The end of a connection as a process's death leaves it."""


class Direction:
    """What holds for all bytes from one member to another."""

    def __init__(self):
        self.fault = None  # "swallow" or "hold"
        self.delay = 0.0
        self.passed = 0
        self.swallowed = 0


class End(asyncio.Protocol):
    """One end of a proxied connection: what it receives goes to `other` as its direction says."""

    def __init__(self, proxy):
        self.proxy = proxy
        self.transport = None
        self.other = None
        self.direction = None  # of what this end receives
        self.waiting = collections.deque()  # (due, bytes or how it ended)
        self.pump = None
        self.torn = False  # bytes of this end were lost
        self.ended = False
        self.waiting_bytes = 0

    def connection_made(self, transport):
        self.transport = transport
        transport.set_write_buffer_limits(high=HIGH_WATER)
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data):
        if self.direction is None:  # the dialler's first bytes, before it is known
            self.waiting.append((0, data))
            return
        if self.direction.fault == "swallow":
            self.direction.swallowed += len(data)
            self.torn = True
        elif self.direction.fault is None and not self.waiting and not self.direction.delay:
            self.pass_on(data)
        else:
            self.queue(data)

    def connection_lost(self, error):
        self.ended = True
        if self.other is None:
            self.proxy.ends.discard(self)
        else:
            # Across a cut nothing gets, not even the news of an end.
            self.queue(Closed if error is None else Reset)

    def queue(self, data):
        due = asyncio.get_running_loop().time() + self.direction.delay
        self.waiting.append((due, data))
        if isinstance(data, bytes):
            self.waiting_bytes += len(data)
        if self.waiting_bytes > HIGH_WATER and not self.ended:
            self.transport.pause_reading()
        self.drain()

    def drain(self):
        """Passes on what is due, and comes back for the rest."""
        self.pump = None
        loop = asyncio.get_running_loop()
        while self.waiting and self.direction.fault is None:
            due, data = self.waiting[0]
            if due > loop.time():
                self.pump = self.pump or loop.call_at(due, self.drain)
                return
            self.waiting.popleft()
            if isinstance(data, bytes):
                self.waiting_bytes -= len(data)
                self.pass_on(data)
            else:
                self.proxy.ends.discard(self)
                self.other.end(data)
        if not self.waiting and not self.ended:
            self.transport.resume_reading()

    def pass_on(self, data):
        self.direction.passed += len(data)
        if not self.other.transport.is_closing():
            self.other.transport.write(data)

    def pause_writing(self):
        if not self.other.ended:
            self.other.transport.pause_reading()

    def resume_writing(self):
        if not self.other.ended and self.other.waiting_bytes <= HIGH_WATER:
            self.other.transport.resume_reading()

    def end(self, how):
        if self.ended:
            return
        if how is Closed:
            self.transport.close()
        else:
            sock = self.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.transport.abort()


class Process:
    """The proxy itself, in its own process."""

    def __init__(self):
        self.directions = {}
        self.ends = set()
        self.pids = {}

    def direction(self, sender, receiver):
        return self.directions.setdefault((sender, receiver), Direction())

    async def target(self, name, port):
        def accepted():
            end = End(self)
            asyncio.ensure_future(self.join(end, name, port))
            return end
        loop = asyncio.get_running_loop()
        server = await loop.create_server(accepted, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    async def join(self, near, target, port):
        """Connects an accepted connection to its target, once its dialler is known."""
        self.ends.add(near)
        await asyncio.sleep(0)  # connection_made comes first
        dialler = self.owner(near.transport.get_extra_info("peername")[1])
        if dialler is None:
            near.end(Reset)
            return
        try:
            _, far = await asyncio.get_running_loop().create_connection(
                lambda: End(self), "127.0.0.1", port)
        except OSError:
            near.end(Reset)
            return
        self.ends.add(far)
        near.other, far.other = far, near
        far.direction = self.direction(target, dialler)
        early, near.waiting = near.waiting, collections.deque()
        near.direction = self.direction(dialler, target)
        for _, data in early:
            near.data_received(data)
        if near.ended:
            near.queue(Closed)

    def owner(self, port):
        """The member whose process holds the dialling end of a connection from this port."""
        wanted = f"0100007F:{port:04X}"
        with open("/proc/net/tcp", encoding="ascii") as table:
            inodes = [fields[9] for fields in map(str.split, table) if fields[1] == wanted]
        links = {f"socket:[{inode}]" for inode in inodes}
        for name, pid in self.pids.items():
            folder = f"/proc/{pid}/fd"
            try:
                for file in os.listdir(folder):
                    try:
                        if os.readlink(f"{folder}/{file}") in links:
                            return name
                    except OSError:
                        pass
            except OSError:
                pass
        return None

    def heal(self):
        for direction in self.directions.values():
            direction.fault, direction.delay = None, 0.0
        for end in list(self.ends):
            if end.torn:
                end.end(Reset)
                end.other.end(Reset)
                end.waiting.clear()
                self.ends.discard(end)
            elif end.direction is not None:
                end.drain()

    async def do(self, request):
        action = request.pop("do")
        if action == "target":
            return {"port": await self.target(**request)}
        if action == "runs":
            self.pids[request["name"]] = request["pid"]
        elif action == "cut":
            self.direction(request["sender"], request["receiver"]).fault = request["how"]
        elif action == "delay":
            self.direction(request["sender"], request["receiver"]).delay = request["seconds"]
        elif action == "heal":
            self.heal()
        elif action == "figures":
            return {"figures": {f"{a}>{b}": [d.passed, d.swallowed]
                                for (a, b), d in sorted(self.directions.items())}}
        else:
            return {"error": f"no such action: {action}"}
        return {}

    async def run(self):
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            try:
                reply = await self.do(json.loads(line))
            except (OSError, ValueError, KeyError, TypeError) as error:
                reply = {"error": repr(error)}
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    asyncio.run(Process().run())
