#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A start that cannot work ends at once with one sentence that says what to do, with an exit code
that is not 0, and leaves the data as it was.
"""

import os
import shutil
import socket

from cluster import Member, Scratch, TestFailed, arguments, etcdctl, run
from faults import expect_refusal


def put(member, key, value):
    if etcdctl(member, "put", key, value)[1] != "OK\n":
        raise TestFailed(f"put {key} was not answered OK")


def expect_value(member, key, value):
    got = etcdctl(member, "get", key, "--print-value-only")[1]
    if got != value + "\n":
        raise TestFailed(f"{key} is {got!r} after the refused start, not {value!r}")


def refused(scratch, build, what, pattern, engine="lmdb", flags=(), prepare=None):
    """A fresh member, started so that it cannot work."""
    member = Member(scratch, engine, build, name=what.replace(" ", "-"), flags=flags)
    if prepare:
        prepare(member)
    expect_refusal(member, pattern)
    print(f"refused: {what}: {member.last_words()}")


def fresh_starts(scratch, build):
    refused(scratch, build, "an unknown engine", r"no-such-engine", engine="no-such-engine")
    refused(scratch, build, "an engine by a wrong path", r"/nowhere/x\.so", engine="/nowhere/x.so")
    not_plugin = scratch.sub("text.so")
    with open(not_plugin, "w", encoding="utf-8") as file:
        file.write("not a library\n")
    refused(scratch, build, "a file that is no plugin", r"text\.so", engine=not_plugin)
    refused(scratch, build, "a plugin of another kind", r"frontend_etcd.*backend",
            engine=os.path.join(build, "lib/quorate/plugins/frontend_etcd.so"))
    refused(scratch, build, "a plugin directory that is not there", r"/nowhere",
            flags=["--plugin-dir=/nowhere"])
    refused(scratch, build, "an unknown engine option", r"no-such-option.*",
            flags=["--backend-option=no-such-option=1"])
    refused(scratch, build, "an unknown flag", r"did you mean --data-dir", flags=["--data-dri=x"])
    refused(scratch, build, "a member outside its cluster", r"couldn't find local name",
            flags=["--initial-cluster=other=http://127.0.0.1:1"])

    def make_file(member):
        with open(member.data_dir, "w", encoding="utf-8") as file:
            file.write("in the way\n")

    refused(scratch, build, "a file in place of the data directory", r"-lmdb", prepare=make_file)

    def make_unwritable(member):
        member.data_dir = "/proc/quorate"

    refused(scratch, build, "a data directory that cannot be made", r"/proc/quorate",
            prepare=make_unwritable)


def busy_port(scratch, build):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()

        def take(member):
            member.port = holder.getsockname()[1]

        refused(scratch, build, "a busy port", r"address already in use", prepare=take)


def other_engine(scratch, build):
    with Member(scratch, "lmdb", build, name="engine") as member:
        member.start()
        put(member, "k", "kept")
        member.stop()
        member.engine = "rocksdb"
        expect_refusal(member, r"lmdb.*rocksdb|rocksdb.*lmdb")
        print(f"refused: the data of another engine: {member.last_words()}")
        member.engine = "lmdb"
        member.start()
        expect_value(member, "k", "kept")
        member.stop()


def two_servers(scratch, build):
    with Member(scratch, "lmdb", build, name="first") as first:
        first.start()
        put(first, "k", "kept")
        second = Member(scratch, "lmdb", build, name="second")
        second.data_dir = first.data_dir
        expect_refusal(second, r"in use|another|lock")
        print(f"refused: a data directory in use: {second.last_words()}")
        expect_value(first, "k", "kept")
        first.stop()


def other_cluster(scratch, build):
    """The log of one cluster beside the store of another."""
    with Member(scratch, "lmdb", build, name="one") as one, \
            Member(scratch, "lmdb", build, name="two", flags=["--initial-cluster-token=t"]) as two:
        for member in (one, two):
            member.start()
            put(member, "k", member.name)
            member.stop()
        own_log, kept = os.path.join(one.data_dir, "wal"), scratch.sub("kept-log")
        os.rename(own_log, kept)
        shutil.copytree(os.path.join(two.data_dir, "wal"), own_log)
        expect_refusal(one, r"cluster|member")
        print(f"refused: the log of another cluster: {one.last_words()}")
        shutil.rmtree(own_log)
        os.rename(kept, own_log)
        one.start()
        expect_value(one, "k", "one")
        one.stop()


def main():
    given = arguments(__doc__).parse_args()
    with Scratch() as scratch:
        fresh_starts(scratch, given.build)
        busy_port(scratch, given.build)
        other_engine(scratch, given.build)
        two_servers(scratch, given.build)
        other_cluster(scratch, given.build)


if __name__ == "__main__":
    run(main)
