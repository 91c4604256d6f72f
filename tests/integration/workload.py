# SPDX-License-Identifier: Apache-2.0
"""Clients that write, and a model of the store that says whether what they were told stands.

Each client has one write under way at a time and keys of its own. A write that was answered must be
in the history at exactly the revision of its answer; one that was not may be there once or not at
all; and nothing else may be there. The history is read by a watch, so it is the store's own account.
"""

import random
import threading

import grpc
from etcd3.etcdrpc import kv_pb2, rpc_pb2, rpc_pb2_grpc

from cluster import TestFailed
from session import Stream

RPC_SECONDS = 20
KEYS_EACH = 20
_CRC_POLYNOMIAL = 0x82F63B78


def _crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_CRC_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_CRC = _crc_table()


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def connect(member):
    return grpc.insecure_channel(member.endpoint,
                                 options=[("grpc.max_receive_message_length", -1)])


class Write:
    """One write: its changes are (key, value) in order; value None deletes."""

    def __init__(self, changes):
        self.changes = changes
        self.revision = None  # once answered

    def send(self, kv):
        if len(self.changes) == 1 and self.changes[0][1] is not None:
            key, value = self.changes[0]
            reply = kv.Put(rpc_pb2.PutRequest(key=key, value=value), timeout=RPC_SECONDS)
        else:
            operations = []
            for key, value in self.changes:
                if value is None:
                    operations.append(rpc_pb2.RequestOp(
                        request_delete_range=rpc_pb2.DeleteRangeRequest(key=key)))
                else:
                    operations.append(rpc_pb2.RequestOp(
                        request_put=rpc_pb2.PutRequest(key=key, value=value)))
            reply = kv.Txn(rpc_pb2.TxnRequest(success=operations), timeout=RPC_SECONDS)
        self.revision = reply.header.revision


class Client(threading.Thread):
    """Writes until it is told to stop or a call fails."""

    def __init__(self, member, name, seed, value_bytes):
        super().__init__(daemon=True)
        self._channel = connect(member)
        self._kv = rpc_pb2_grpc.KVStub(self._channel)
        self._name = name
        self._random = random.Random(seed)
        self._value_bytes = value_bytes
        self._present = set()
        self._stopping = threading.Event()
        self.answered = []
        self.unanswered = None
        self.error = None

    def stop(self):
        self._stopping.set()

    def _key(self):
        return f"{self._name}/{self._random.randrange(KEYS_EACH)}".encode()

    def _value(self):
        text = f"{self._name}:{self._random.getrandbits(64):x}"
        return text.encode().ljust(self._value_bytes, b".")

    def _next(self):
        kind = self._random.random()
        if kind < 0.1 and self._present:
            return Write([(self._random.choice(sorted(self._present)), None)])
        if kind < 0.2:
            keys = sorted({self._key() for _ in range(3)})
            return Write([(key, self._value()) for key in keys])
        return Write([(self._key(), self._value())])

    def run(self):
        try:
            while not self._stopping.is_set():
                self.unanswered = self._next()
                self.unanswered.send(self._kv)
                self._settle(self.unanswered)
        except grpc.RpcError as error:
            self.error = error
        finally:
            self._channel.close()

    def _settle(self, write):
        self.answered.append(write)
        self.unanswered = None
        for key, value in write.changes:
            (self._present.discard if value is None else self._present.add)(key)


class Model:
    """All that the store must hold, one revision after the other, with etcd's hash of it."""

    def __init__(self):
        self.revision = 1
        self.live = {}  # key -> KeyValue
        self.hash_at = {1: crc32c(b"key")}

    def add(self, revision, changes):
        if revision != self.revision + 1:
            raise TestFailed(f"revision {revision} follows {self.revision}")
        crc = self.hash_at[self.revision]
        for sub, (key, value) in enumerate(changes):
            record_key = revision.to_bytes(8, "big") + b"_" + sub.to_bytes(8, "big")
            if value is None:
                record_key += b"t"
                record = kv_pb2.KeyValue(key=key)
                del self.live[key]
            else:
                old = self.live.get(key)
                record = kv_pb2.KeyValue(
                    key=key, value=value, mod_revision=revision,
                    create_revision=old.create_revision if old else revision,
                    version=old.version + 1 if old else 1)
                self.live[key] = record
            crc = crc32c(record.SerializeToString(), crc32c(record_key, crc))
        self.revision = revision
        self.hash_at[revision] = crc

    def take(self, member, clients):
        """Reads what the store did since the last time, and holds it against what the clients know.
        Returns the number of answered writes."""
        known = {}
        for client in clients:
            for write in client.answered:
                if write.revision in known:
                    raise TestFailed(f"two writes were answered with revision {write.revision}")
                known[write.revision] = write
        unknown = [client.unanswered for client in clients if client.unanswered]
        current = _current_revision(member)
        lost = [revision for revision in known if revision > current or revision <= self.revision]
        if lost:
            raise TestFailed(f"answered writes at {sorted(lost)[:5]} are not in the store, which "
                             f"went from revision {self.revision} to {current}")
        for revision, changes in watch_history(member, self.revision + 1, current):
            write = known.pop(revision, None)
            if write is None:
                write = next((one for one in unknown if one.changes == changes), None)
                if write is None:
                    raise TestFailed(f"revision {revision} holds {changes}, which nobody wrote")
                unknown.remove(write)
            if write.changes != changes:
                raise TestFailed(f"revision {revision} holds {changes}, but {write.changes} was "
                                 f"answered with it")
            self.add(revision, changes)
        if known:
            raise TestFailed(f"answered writes at {sorted(known)[:5]} are not in the history")
        self.check_state(member)

    def check_state(self, member):
        """The live keys and the hash are the model's."""
        with connect(member) as channel:
            kv = rpc_pb2_grpc.KVStub(channel)
            reply = kv.Range(rpc_pb2.RangeRequest(key=b"\0", range_end=b"\0"),
                             timeout=RPC_SECONDS)
            live = [self.live[key] for key in sorted(self.live)]
            if [kv.SerializeToString() for kv in reply.kvs] != \
                    [record.SerializeToString() for record in live]:
                raise TestFailed(f"the live keys at revision {self.revision} are not the model's")
            maintenance = rpc_pb2_grpc.MaintenanceStub(channel)
            for revision in sorted({self.revision, max(self.revision // 2, 1), 0} - {1}):
                reply = maintenance.HashKV(rpc_pb2.HashKVRequest(revision=revision),
                                           timeout=RPC_SECONDS)
                if reply.hash != self.hash_at[revision or self.revision]:
                    raise TestFailed(f"HashKV of revision {revision} is {reply.hash}, the model's "
                                     f"is {self.hash_at[revision or self.revision]}")


def _current_revision(member):
    with connect(member) as channel:
        reply = rpc_pb2_grpc.KVStub(channel).Range(
            rpc_pb2.RangeRequest(key=b"\0", range_end=b"\0", count_only=True), timeout=RPC_SECONDS)
        return reply.header.revision


def watch_history(member, first, last):
    """(revision, changes) of each revision from first to last, as a watch tells it."""
    if first > last:
        return
    with connect(member) as channel:
        stream = Stream(rpc_pb2_grpc.WatchStub(channel).Watch)
        stream.send(rpc_pb2.WatchRequest(create_request=rpc_pb2.WatchCreateRequest(
            key=b"\0", range_end=b"\0", start_revision=first)))
        changes, revision = [], None
        while revision is None or revision < last or changes:
            reply = stream.receive()
            if isinstance(reply, Exception) or reply.canceled:
                raise TestFailed(f"the watch of the history ended: {reply}")
            for event in reply.events:
                if event.kv.mod_revision != revision and changes:
                    yield revision, changes
                    changes = []
                revision = event.kv.mod_revision
                changes.append((event.kv.key,
                                None if event.type == kv_pb2.Event.DELETE else event.kv.value))
            if revision == last:
                yield revision, changes
                changes = []
        stream.cancel()


def start_clients(member, count, round_name, seed, value_bytes=40):
    clients = [Client(member, f"{round_name}/{n}", f"{seed}/{round_name}/{n}", value_bytes)
               for n in range(count)]
    for client in clients:
        client.start()
    return clients


def stop_clients(clients):
    for client in clients:
        client.stop()
        client.join()
