# SPDX-License-Identifier: Apache-2.0
"""How long writes were not possible: a put every few milliseconds to every member, none of which
waits for another, and the moments at which one was acknowledged.
"""

import threading
import time

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

from clusters import CALM_SECONDS, channel_to
from cluster import Background, wait_until

EVERY_SECONDS = 0.02
CALL_SECONDS = 5


class Probe(Background):
    def __init__(self, members):
        super().__init__()
        self._channels = [channel_to(member) for member in members]
        self._lock = threading.Lock()
        self._acknowledged = []  # monotonic ns
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        stubs = [rpc_pb2_grpc.KVStub(channel) for channel in self._channels]
        requests = [rpc_pb2.PutRequest(key=f"probe/{number}".encode(), value=b"x")
                    for number in range(len(stubs))]
        while not self.stopping.wait(EVERY_SECONDS):
            for stub, request in zip(stubs, requests):
                stub.Put.future(request, timeout=CALL_SECONDS).add_done_callback(self._answered)

    def _answered(self, call):
        now = time.monotonic_ns()
        if not call.cancelled() and call.code() == grpc.StatusCode.OK:
            with self._lock:
                self._acknowledged.append(now)

    def stop(self):
        super().stop()
        self._thread.join()
        for channel in self._channels:
            channel.close()

    def _since(self, begin_ns):
        with self._lock:
            return [at for at in self._acknowledged if at > begin_ns]

    def wait_write(self, begin_ns, seconds=CALM_SECONDS):
        """Waits until a write is acknowledged after that moment."""
        wait_until("a write being acknowledged", lambda: self._since(begin_ns), seconds)

    def silence(self, begin_ns):
        """Seconds of the longest time since then in which no write was acknowledged."""
        times = [begin_ns, *self._since(begin_ns), time.monotonic_ns()]
        return max(b - a for a, b in zip(times, times[1:])) / 1e9
