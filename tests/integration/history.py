# SPDX-License-Identifier: Apache-2.0
"""Clients on few keys, and what they asked and were told as a history for build/bin/history_check.

Each client has one call under way. A call without an answer may still take effect later, so its
client goes on under a new name and its value is never written again. Keys change from round to
round: what a round left unknown does not weigh on the next.
"""

import json
import os
import random
import subprocess
import threading
import time

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

from cluster import Background, TestFailed, wait_until
from clusters import CALM_SECONDS, channel_to

KEYS = 4
CALL_SECONDS = 2
BACKOFF_SECONDS = 0.02
THINK_SECONDS = 0.005  # between calls, so that the servers keep the machine
SHARES = (("put", 30), ("get", 35), ("cas", 20), ("delete", 5), ("serializable", 10))


class Recorder(Background):
    """Clients that run until stop(); lines go to `path`."""

    def __init__(self, path, members, clients, seed, revision=1):
        super().__init__()
        self.path = path
        self.members = members  # shared with the caller, who may change it
        self._file = open(path, "w", encoding="ascii")
        self._lock = threading.Lock()
        self._round = 0
        self.done = 0
        self.unknown = 0
        self.error = None
        self.write({"op": "start", "revision": revision, "closed": False})
        self._clients = [Client(self, number, random.Random(f"{seed}/{number}"))
                         for number in range(clients)]
        for client in self._clients:
            client.start()

    def new_round(self):
        self._round += 1

    def key(self, generator):
        return f"history/{self._round}/{generator.randrange(KEYS)}"

    def write(self, line):
        with self._lock:
            self._file.write(json.dumps(line) + "\n")

    def note(self, line):
        with self._lock:
            self.done += "return" in line
            self.unknown += line.get("outcome") == "unknown"

    def wait_going_on(self, calls=20, seconds=CALM_SECONDS):
        """Waits until so many more calls were answered."""
        at = self.done

        def going_on():
            if self.error:
                raise TestFailed(f"a client met what it does not understand: {self.error}")
            return self.done >= at + calls
        wait_until(f"{calls} calls of the history being answered", going_on, seconds)

    def stop(self):
        super().stop()
        for client in self._clients:
            client.join()
        self._file.close()
        if self.error:
            raise TestFailed(f"a client met what it does not understand: {self.error}")

    def check(self, build):
        """The checker's verdict, in one line; a violation fails."""
        program = os.path.join(build, "bin", "history_check")
        if not os.path.exists(program):
            raise TestFailed(f"{program} is not there; build it: ninja -C {build} history_check")
        done = subprocess.run([program, self.path], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise TestFailed(f"the history of {self.done} calls ({self.path}) was refused with "
                             f"{done.returncode}:\n{done.stdout}")
        return done.stdout.strip()


class Client(threading.Thread):
    def __init__(self, recorder, number, generator):
        super().__init__(daemon=True)
        self._recorder = recorder
        self._number = number
        self._life = 0
        self._values = 0
        self._random = generator
        self._member = None
        self._channel = None
        self._kv = None
        self._seen = {}  # key -> (value, mod_revision) as last heard

    def _use_another_member(self):
        if self._channel:
            self._channel.close()
        self._member = self._random.choice(list(self._recorder.members))
        self._channel = channel_to(self._member)
        self._kv = rpc_pb2_grpc.KVStub(self._channel)

    def run(self):
        try:
            self._use_another_member()
            while not self._recorder.stopping.is_set():
                self._one_call()
                time.sleep(THINK_SECONDS)
        except Exception as error:  # a client that ends early would pass for one that is content
            self._recorder.error = repr(error)
        finally:
            self._channel.close()

    def _one_call(self):
        kind = self._random.choices([name for name, _ in SHARES], [many for _, many in SHARES])[0]
        key = self._recorder.key(self._random)
        line, call = getattr(self, f"_ask_{kind}")(key)
        line = {"client": f"c{self._number}.{self._life}", "key": key, **line,
                "invoke": time.monotonic_ns()}
        process = self._member.process
        try:
            answer = call()
            line["return"] = time.monotonic_ns()
            line.update(answer)
            # A member that restarts may be behind what its last process had told.
            if process and process is self._member.process:
                line["member"] = f"{self._member.name}/{process.pid}"
        except grpc.RpcError as error:
            self._failed(line, error)
        self._recorder.write(line)
        self._recorder.note(line)

    def _failed(self, line, error):
        line["error"] = f"{error.code().name}: {error.details()}"
        if "failed to connect" in line["error"]:
            line["outcome"] = "not_done"
        else:
            line["outcome"] = "unknown"
            self._life += 1
        time.sleep(BACKOFF_SECONDS)
        self._use_another_member()

    def _value(self):
        self._values += 1
        return f"{self._number}-{self._values}"

    def _ask_put(self, key):
        value = self._value()

        def call():
            reply = self._kv.Put(rpc_pb2.PutRequest(key=key.encode(), value=value.encode()),
                                 timeout=CALL_SECONDS)
            self._seen[key] = (value, reply.header.revision)
            return {"rev": reply.header.revision}
        return {"op": "put", "value": value}, call

    def _ask_get(self, key, serializable=False):
        def call():
            reply = self._kv.Range(rpc_pb2.RangeRequest(
                key=key.encode(), serializable=serializable), timeout=CALL_SECONDS)
            return {"rev": reply.header.revision, **self._shown(key, reply.kvs)}
        line = {"op": "get"}
        if serializable:
            line["serializable"] = True
        return line, call

    def _shown(self, key, pairs):
        if not pairs:
            self._seen[key] = (None, 0)
            return {"value": None}
        value, mod = pairs[0].value.decode(), pairs[0].mod_revision
        self._seen[key] = (value, mod)
        return {"value": value, "mod": mod}

    def _ask_serializable(self, key):
        return self._ask_get(key, serializable=True)

    def _ask_delete(self, key):
        def call():
            reply = self._kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=key.encode()),
                                         timeout=CALL_SECONDS)
            self._seen[key] = (None, 0)
            return {"rev": reply.header.revision, "deleted": reply.deleted}
        return {"op": "delete"}, call

    def _ask_cas(self, key):
        """On what this client last heard of the key, by revision or by value."""
        value = self._value()
        old_value, old_mod = self._seen.get(key, (None, 0))
        by_value = old_value is not None and self._random.random() < 0.5
        if by_value:
            compare = rpc_pb2.Compare(key=key.encode(), target=rpc_pb2.Compare.VALUE,
                                      result=rpc_pb2.Compare.EQUAL, value=old_value.encode())
        else:
            compare = rpc_pb2.Compare(key=key.encode(), target=rpc_pb2.Compare.MOD,
                                      result=rpc_pb2.Compare.EQUAL, mod_revision=old_mod)
        request = rpc_pb2.TxnRequest(
            compare=[compare],
            success=[rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(
                key=key.encode(), value=value.encode()))],
            failure=[rpc_pb2.RequestOp(request_range=rpc_pb2.RangeRequest(key=key.encode()))])

        def call():
            reply = self._kv.Txn(request, timeout=CALL_SECONDS)
            if reply.succeeded:
                self._seen[key] = (value, reply.header.revision)
            else:
                self._shown(key, reply.responses[0].response_range.kvs)
            return {"rev": reply.header.revision, "succeeded": reply.succeeded}
        condition = {"if_value": old_value} if by_value else {"if_mod": old_mod}
        return {"op": "cas", "value": value, **condition}, call
