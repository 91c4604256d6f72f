#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The campaigns' own judges: the proxy cuts what it is told to and nothing else, the probe sees how
long no write is possible, and the check for lost puts finds a put that is missing, changed, or
acknowledged twice.
"""

import os
import socket
import time

from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

from cluster import Scratch, TestFailed, arguments, run
from clusters import Cluster, channel_to
from load import Load, check_nothing_lost
from probe import Probe
from proxy import Proxy

SOON = 5  # seconds; what comes, comes well before
NEVER = 0.3  # seconds to wait for what must not come


class Link:
    """A connection that a dialled to b through the proxy. Both are this process."""

    def __init__(self, proxy):
        listener = socket.create_server(("127.0.0.1", 0))
        port = proxy.target("b", listener.getsockname()[1])
        self.a = socket.create_connection(("127.0.0.1", port))
        listener.settimeout(SOON)
        self.b, _ = listener.accept()
        listener.close()


def expect(end, text):
    end.settimeout(SOON)
    got = end.recv(100)
    if got != text:
        raise TestFailed(f"{text} was sent and {got} came")


def expect_nothing(end):
    end.settimeout(NEVER)
    try:
        got = end.recv(100)
    except TimeoutError:
        return
    raise TestFailed(f"nothing was to come, and {got} came")


def expect_end(end):
    end.settimeout(SOON)
    try:
        got = end.recv(100)
    except ConnectionResetError:
        return
    if got:
        raise TestFailed(f"the connection was to end, and {got} came")


def swallowed_bytes(proxy):
    link = Link(proxy)
    proxy.cut("a", "b")
    link.a.sendall(b"lost")
    expect_nothing(link.b)
    link.b.sendall(b"passes")
    expect(link.a, b"passes")
    proxy.heal()
    expect_end(link.b)
    expect_end(link.a)


def held_bytes(proxy):
    link = Link(proxy)
    proxy.cut("b", "a", how="hold")
    link.b.sendall(b"late")
    expect_nothing(link.a)
    link.a.sendall(b"passes")
    expect(link.b, b"passes")
    proxy.heal()
    expect(link.a, b"late")


def delayed_bytes(proxy):
    link = Link(proxy)
    proxy.delay("a", "b", 2 * NEVER)
    link.a.sendall(b"slow")
    expect_nothing(link.b)
    expect(link.b, b"slow")
    proxy.heal()


def ends(proxy):
    link = Link(proxy)
    link.a.sendall(b"last words")
    link.a.close()
    expect(link.b, b"last words")
    expect_end(link.b)
    link = Link(proxy)
    proxy.cut("a", "b")
    link.a.close()
    expect_nothing(link.b)
    proxy.heal()
    expect_end(link.b)


def other_links(proxy):
    proxy.cut("a", "c")
    link = Link(proxy)
    link.a.sendall(b"another link")
    expect(link.b, b"another link")
    proxy.heal()


def judge_the_proxy():
    with Proxy() as proxy:
        proxy.member_runs("a", os.getpid())
        for check in (swallowed_bytes, held_bytes, delayed_bytes, ends, other_links):
            check(proxy)
    print("the proxy: cuts what it is told to")


def judge_the_probe(cluster):
    with Probe(cluster.members) as probe:
        probe.wait_write(time.monotonic_ns())
        begin = time.monotonic_ns()
        for member in cluster.members:
            member.pause()
        time.sleep(NEVER)
        for member in cluster.members:
            member.resume()
        resumed = time.monotonic_ns()
        probe.wait_write(resumed)
        silence, whole = probe.silence(begin), (time.monotonic_ns() - begin) / 1e9
        if not NEVER <= silence <= whole:
            raise TestFailed(f"nobody could write for {NEVER} s of {whole} s, and the probe says "
                             f"{silence}")
    print(f"the probe: saw no write for {silence:.2f} s")


def must_fail(what, cluster, puts):
    try:
        check_nothing_lost(cluster, puts)
    except TestFailed as failed:
        print(f"{what}: {str(failed)[:100]}...")
        return
    raise TestFailed(f"{what} went unnoticed")


def judge_the_check(build):
    with Scratch() as scratch, Cluster(scratch, ["etcd"] * 3, build) as cluster:
        cluster.start()
        with Load(scratch, build, cluster.members, rate=2000) as load:
            while load.count() < 1000:
                cluster.wait_healthy()
        judge_the_probe(cluster)
        puts = load.acknowledged()
        check_nothing_lost(cluster, puts)
        first, second = sorted(puts)[:2]
        must_fail("a put that never was", cluster, {**puts, b"load/0/m1/0001/none": 1 << 40})
        must_fail("a put at another revision", cluster, {**puts, first: 1 << 40})
        must_fail("one revision for two puts", cluster, {**puts, first: puts[second]})
        with channel_to(cluster.leader()) as channel:
            kv = rpc_pb2_grpc.KVStub(channel)
            kv.Put(rpc_pb2.PutRequest(key=first, value=b"again"))
            must_fail("a put that was made twice", cluster, puts)
            kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=first))
            must_fail("a put that is gone", cluster, puts)


def main():
    given = arguments(__doc__).parse_args()
    judge_the_proxy()
    judge_the_check(given.build)


if __name__ == "__main__":
    run(main)
