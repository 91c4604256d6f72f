# SPDX-License-Identifier: Apache-2.0
"""Calls to one member, and what came of each, in a form that two members can be compared by.

What legitimately differs between two clusters (ids, terms, log indexes, addresses, file sizes) is
replaced by a word in <angle brackets>, so that everything else must be equal.
"""

import queue
import re
import subprocess
import threading

import etcd3
import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

from cluster import ETCDCTL, TestFailed, etcdctl, spawn, wait_until

RPC_SECONDS = 20
# Fields that count things of the member and not of the store.
OWN_COUNTS = {"raft_term", "raftTerm", "raftIndex", "raftAppliedIndex", "dbSize", "dbSizeInUse"}
OWN_COUNTS_IN_TEXT = re.compile(
    r'("?(?:raft_term|raftTerm|raftIndex|raftAppliedIndex|dbSize|dbSizeInUse|RaftTerm|RaftIndex|'
    r'RaftAppliedIndex|DBSize|DBSizeInUse)"? ?: ?)[1-9]\d*')


def plain(message):
    """A protobuf message as dicts, lists and text, with every field that it has."""
    fields = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.label == field.LABEL_REPEATED:
            fields[field.name] = [_plain_value(field, item) for item in value]
        elif field.message_type is not None:
            if message.HasField(field.name):
                fields[field.name] = _plain_value(field, value)
        else:
            fields[field.name] = _plain_value(field, value)
    return fields


def _plain_value(field, value):
    if field.message_type is not None:
        return plain(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known else value
    if isinstance(value, bytes):
        return value.decode("latin-1") if len(value) <= 64 else f"{len(value)} bytes"
    return value


class Stream:
    """A bidirectional call whose requests and replies go one at a time."""

    def __init__(self, call):
        self._requests = queue.Queue()
        self._replies = queue.Queue()
        self._call = call(iter(self._requests.get, None))
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            for reply in self._call:
                self._replies.put(reply)
            self._replies.put(StopIteration())
        except grpc.RpcError as error:
            self._replies.put(error)

    def send(self, request):
        self._requests.put(request)

    def receive(self):
        """The next reply; an error or the end of the stream comes as an exception object."""
        try:
            return self._replies.get(timeout=RPC_SECONDS)
        except queue.Empty:
            raise TestFailed(f"no reply on a stream within {RPC_SECONDS} s") from None

    def half_close(self):
        self._requests.put(None)

    def cancel(self):
        self._call.cancel()
        self._requests.put(None)


class Session:
    """A member under comparison: makes calls and keeps (label, outcome) of each, in order."""

    def __init__(self, member):
        self.member = member
        self.steps = []
        self._labels = {}
        limits = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
        self.channel = grpc.insecure_channel(member.endpoint, options=limits)
        self.kv = rpc_pb2_grpc.KVStub(self.channel)
        self.lease = rpc_pb2_grpc.LeaseStub(self.channel)
        self.cluster = rpc_pb2_grpc.ClusterStub(self.channel)
        self.maintenance = rpc_pb2_grpc.MaintenanceStub(self.channel)
        self.client = etcd3.client(host="127.0.0.1", port=member.port, timeout=RPC_SECONDS)
        self._words = self._learn_words()

    def close(self):
        # The client's watch thread has no other end than an error when its channel closes.
        threading.excepthook = lambda args: (None if args.thread.name.startswith("etcd3_watch")
                                             else threading.__excepthook__(args))
        self.client.close()
        self.channel.close()

    def _learn_words(self):
        status = self.maintenance.Status(rpc_pb2.StatusRequest(), timeout=RPC_SECONDS)
        words = {self.member.endpoint: "<endpoint>", self.member.peer_url: "<peer>"}
        for number, word in ((status.header.member_id, "<member>"),
                             (status.header.cluster_id, "<cluster>")):
            words[str(number)] = word
            words[f"{number:x}"] = word
        return words

    def learn(self, text, word):
        """From now on `text` is shown as `word`."""
        self._words[text] = word

    # Recording

    def record(self, label, outcome):
        seen = self._labels[label] = self._labels.get(label, 0) + 1
        self.steps.append((label if seen == 1 else f"{label} #{seen}", self._normal(outcome)))

    def _normal(self, value, name=""):
        if isinstance(value, dict):
            return {key: self._normal(item, key) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._normal(item) for item in value]
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            if name in OWN_COUNTS:
                return "<count>" if value > 0 else value
            return self._words.get(str(value), value)
        for text, word in self._words.items():
            value = re.sub(rf"(?<![0-9a-zA-Z]){re.escape(text)}(?![0-9a-zA-Z])", word, value)
        return OWN_COUNTS_IN_TEXT.sub(r"\1<count>", value)

    # etcdctl

    def ctl(self, *args, stdin=None, label=None):
        code, out, err = etcdctl(self.member, *args, stdin=stdin)
        self._learn_lease(out)
        self.record(label or "etcdctl " + " ".join(args), self.ctl_outcome(code, out, err))
        return out

    @staticmethod
    def ctl_outcome(code, out, err):
        return {"exit": code, "out": out.splitlines(), "err": _without_noise(err)}

    def _learn_lease(self, out):
        granted = re.search(r"lease ([0-9a-f]+) granted", out)
        if granted and granted[1] not in self._words:
            word = f"<lease {sum(w.startswith('<lease') for w in self._words.values()) // 2 + 1}>"
            self.learn(granted[1], word)
            self.learn(str(int(granted[1], 16)), word)

    def ctl_started(self, *args):
        """An etcdctl that goes on; give it to ctl_finished()."""
        return Running(self.member, args)

    # gRPC with the generated stubs

    def rpc(self, label, method, request):
        """A unary call; returns the reply, or None if it failed."""
        try:
            reply = method(request, timeout=RPC_SECONDS)
        except grpc.RpcError as error:
            self.record(label, {"code": error.code().name, "details": error.details()})
            return None
        self.record(label, {"code": "OK", **plain(reply)})
        return reply

    def watch_stream(self):
        """Requests are bytes, since the stubs lack newer ones; replies are WatchResponses."""
        return Stream(self.channel.stream_stream(
            "/etcdserverpb.Watch/Watch", request_serializer=bytes,
            response_deserializer=rpc_pb2.WatchResponse.FromString))

    def keepalive_stream(self):
        return Stream(self.lease.LeaseKeepAlive)

    def reply(self, label, stream):
        """Records the next reply of a stream, and returns it."""
        reply = stream.receive()
        if isinstance(reply, grpc.RpcError):
            self.record(label, {"code": reply.code().name, "details": reply.details()})
        elif isinstance(reply, StopIteration):
            self.record(label, {"code": "OK", "end": True})
        else:
            self.record(label, plain(reply))
        return reply

    # python3-etcd3

    def py(self, label, call):
        """call: takes the client of python3-etcd3, returns something plain."""
        try:
            outcome = {"result": call(self.client)}
        except grpc.RpcError as error:
            outcome = {"code": error.code().name, "details": error.details()}
        except Exception as error:  # whatever the client raises is the outcome
            outcome = {"raised": type(error).__name__, "text": str(error)}
        self.record("python " + label, outcome)


class Running:
    """An etcdctl that runs until it is told to stop; its output comes line by line."""

    def __init__(self, member, args):
        environment = {"PATH": "/usr/bin:/bin", "ETCDCTL_API": "3", "HOME": "/nonexistent"}
        self._process = spawn([ETCDCTL, f"--endpoints={member.endpoint}", *args],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=environment, text=True)
        self.lines = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))

    def say(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def wait_for(self, line):
        wait_until(f"etcdctl printing {line!r}", lambda: line in self.lines, RPC_SECONDS)

    def wait_lines(self, count):
        wait_until(f"etcdctl printing {count} lines", lambda: len(self.lines) >= count,
                   RPC_SECONDS)

    def wait_end(self):
        wait_until("etcdctl ending", lambda: self._process.poll() is not None, RPC_SECONDS)
        return self._process.returncode

    def stop(self):
        self._process.kill()
        self._process.wait()


def _without_noise(err):
    """etcdctl's stderr: of its own log lines only what the server said."""
    lines = []
    for line in err.splitlines():
        if line.startswith("{"):
            said = re.search(r'"error":"((?:[^"\\]|\\.)*)"', line)
            line = f"log: {said[1]}" if said else "log"
        lines.append(line)
    return lines
