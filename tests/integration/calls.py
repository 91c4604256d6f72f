# SPDX-License-Identifier: Apache-2.0
"""The calls that every server gets, in one order, starting from an empty store.

Lease ids are chosen here and keys are few, so that revisions, hashes and replies can be compared
exactly. A section that leaves a timing-dependent number of revisions behind comes last.
"""

import re

from etcd3.etcdrpc import rpc_pb2

from cluster import wait_until

FIRST_LEASE = 0x1001
PROGRESS_REQUEST = b"\x1a\x00"  # WatchRequest.progress_request, which the stubs do not have
MIB = 1 << 20


def all_calls(s):
    put_and_get(s)
    sort_and_cut(s)
    python_client(s)
    raw_ranges(s)
    deletes(s)
    transactions(s)
    errors(s)
    watches(s)
    python_watches(s)
    leases(s)
    cluster_and_maintenance(s)
    compaction(s)
    limits(s)
    expiry(s)
    server_leases(s)
    s.py("lock", _lock)
    watch_from_now(s)


def put_and_get(s):
    s.ctl("put", "a", "1")
    s.ctl("put", "a", "2", "--prev-kv")
    s.ctl("put", "b", "--", "-dash")
    s.ctl("put", "from/stdin", stdin="a value\nof two lines")
    s.ctl("put", "empty", "")
    s.ctl("put", "a", "3", "-w", "json")
    s.ctl("put", "a", "4", "-w", "fields")
    s.ctl("put", "a", "5", "--prev-kv", "-w", "json")
    s.ctl("put", "a", "--ignore-value")
    s.ctl("put", "missing", "--ignore-value")
    s.ctl("put", "a", "5", "--ignore-lease")
    s.ctl("put", "missing", "x", "--ignore-lease")
    s.ctl("get", "a")
    s.ctl("get", "a", "-w", "json")
    s.ctl("get", "a", "-w", "fields")
    s.ctl("get", "a", "--hex")
    s.ctl("get", "a", "--print-value-only")
    s.ctl("get", "missing")
    s.ctl("get", "missing", "-w", "json")
    s.ctl("get", "empty", "-w", "json")
    s.ctl("get", "from/stdin")
    s.ctl("get", "a", "--rev", "2")
    s.ctl("get", "a", "--rev", "3", "-w", "json")
    s.ctl("get", "b", "--rev", "2")
    s.ctl("get", "a", "--consistency", "s", "-w", "json")


def sort_and_cut(s):
    for key, value in (("p/1", "c"), ("p/2", "a"), ("p/3", "b"), ("p", "parent"), ("p0", "after")):
        s.ctl("put", key, value)
    s.ctl("put", "p/1", "cc")
    s.ctl("get", "p/", "--prefix")
    s.ctl("get", "p", "--prefix", "-w", "json")
    s.ctl("get", "p/", "--prefix", "--keys-only")
    s.ctl("get", "p/", "--prefix", "--keys-only", "-w", "json")
    s.ctl("get", "p/", "--prefix", "--limit", "2")
    s.ctl("get", "p/", "--prefix", "--limit", "2", "-w", "json")
    s.ctl("get", "p/", "--prefix", "--limit", "3", "-w", "json")
    s.ctl("get", "p/1", "p/3")
    s.ctl("get", "p/3", "p/1", "-w", "json")
    s.ctl("get", "p/2", "--from-key")
    s.ctl("get", "p/2", "--from-key", "--limit", "1", "-w", "json")
    s.ctl("get", "", "--prefix", "--keys-only")
    s.ctl("get", "", "--from-key", "-w", "json")
    s.ctl("get", "p/", "--prefix", "--rev", "13", "-w", "json")
    for order in ("ASCEND", "DESCEND"):
        for by in ("KEY", "VALUE", "CREATE", "MODIFY", "VERSION"):
            s.ctl("get", "p/", "--prefix", f"--order={order}", f"--sort-by={by}")
    s.ctl("get", "p/", "--prefix", "--sort-by=VALUE")
    s.ctl("get", "p/", "--prefix", "--order=DESCEND", "--sort-by=MODIFY", "--limit=1", "-w", "json")
    s.ctl("get", "p/", "--prefix", "--sort-by=VALUE", "--limit=1", "-w", "json")


def python_client(s):
    def pair(reply):
        value, meta = reply
        if meta is None:
            return None
        return {"value": value.decode(), "key": meta.key.decode(), "version": meta.version,
                "create_revision": meta.create_revision, "mod_revision": meta.mod_revision,
                "lease_id": meta.lease_id}

    def pairs(replies):
        return [pair(reply) for reply in replies]

    def put(client):
        reply = client.put("py/1", "x")
        return {"revision": reply.header.revision, "prev": reply.HasField("prev_kv")}

    def put_prev(client):
        reply = client.put("py/1", "y", prev_kv=True)
        return {"revision": reply.header.revision, "prev": reply.prev_kv.value.decode()}

    s.py("put", put)
    s.py("put prev_kv", put_prev)
    s.py("get", lambda c: pair(c.get("py/1")))
    s.py("get serializable", lambda c: pair(c.get("py/1", serializable=True)))
    s.py("get missing", lambda c: pair(c.get("py/none")))
    s.py("put_if_not_exists new", lambda c: c.put_if_not_exists("py/2", "n"))
    s.py("put_if_not_exists old", lambda c: c.put_if_not_exists("py/2", "m"))
    s.py("replace matching", lambda c: c.replace("py/2", "n", "o"))
    s.py("replace other", lambda c: c.replace("py/2", "n", "q"))
    s.py("get_prefix", lambda c: pairs(c.get_prefix("py/")))
    s.py("get_prefix descending",
         lambda c: pairs(c.get_prefix("py/", sort_order="descend", sort_target="key")))
    s.py("get_prefix keys_only", lambda c: pairs(c.get_prefix("py/", keys_only=True)))
    s.py("get_range", lambda c: pairs(c.get_range("py/1", "py/2")))
    s.py("get_all", lambda c: pairs(c.get_all()))
    s.py("transaction taken", lambda c: _transaction(c, 2))
    s.py("transaction not taken", lambda c: _transaction(c, 77))
    s.py("delete", lambda c: c.delete("py/2"))
    s.py("delete missing", lambda c: c.delete("py/2"))
    s.py("delete prev_kv", lambda c: c.delete("py/1", prev_kv=True, return_response=True)
         .prev_kvs[0].value.decode())
    s.py("delete_prefix", lambda c: c.delete_prefix("py/").deleted)
    s.py("status", lambda c: {"leader is a member": c.status().leader is not None})
    s.py("members", lambda c: [{"name": m.name, "peers": list(m.peer_urls),
                                "clients": [u.replace("http://", "") for u in m.client_urls]}
                               for m in c.members])
    s.py("alarms", lambda c: list(c.list_alarms()))


def _transaction(client, version):
    succeeded, replies = client.transaction(
        compare=[client.transactions.version("py/1") == version,
                 client.transactions.value("py/1") == "y"],
        success=[client.transactions.put("py/3", "t"), client.transactions.get("py/3")],
        failure=[client.transactions.get("py/1")])
    return {"succeeded": succeeded, "replies": [str(type(reply).__name__) for reply in replies]}


def raw_ranges(s):
    def range_(label, **fields):
        s.rpc(f"Range {label}", s.kv.Range, rpc_pb2.RangeRequest(**fields))

    prefix = {"key": b"p/", "range_end": b"p0"}
    range_("one key", key=b"a")
    range_("prefix", **prefix)
    range_("count_only", count_only=True, **prefix)
    range_("count_only with limit", count_only=True, limit=1, **prefix)
    range_("keys_only", keys_only=True, **prefix)
    range_("limit 1", limit=1, **prefix)
    range_("limit 3", limit=3, **prefix)
    range_("negative limit", limit=-1, **prefix)
    range_("negative revision", revision=-5, **prefix)
    range_("old revision", revision=12, **prefix)
    range_("old revision count_only", revision=12, count_only=True, **prefix)
    range_("before the first revision", revision=1, **prefix)
    range_("serializable", serializable=True, **prefix)
    range_("all keys", key=b"\0", range_end=b"\0", keys_only=True)
    range_("reversed", key=b"p0", range_end=b"p/")
    range_("equal ends", key=b"p/", range_end=b"p/")
    range_("min_mod_revision", min_mod_revision=14, **prefix)
    range_("max_mod_revision", max_mod_revision=14, **prefix)
    range_("min_create_revision", min_create_revision=12, **prefix)
    range_("max_create_revision and limit", max_create_revision=12, limit=1, **prefix)
    range_("filters and count_only", min_mod_revision=100, count_only=True, **prefix)
    range_("descending by key", sort_order=rpc_pb2.RangeRequest.DESCEND, limit=2, **prefix)
    range_("binary key", key=b"\0\xff\x80")


def deletes(s):
    def delete(label, **fields):
        s.rpc(f"DeleteRange {label}", s.kv.DeleteRange, rpc_pb2.DeleteRangeRequest(**fields))

    for key in ("d/1", "d/2", "d/3", "d/4", "e"):
        s.ctl("put", key, f"value of {key}")
    s.ctl("del", "d/1")
    s.ctl("del", "d/1")
    s.ctl("del", "d/2", "--prev-kv")
    s.ctl("del", "d/", "--prefix", "--prev-kv")
    s.ctl("put", "d/1", "again")
    s.ctl("get", "d/1", "-w", "json")
    s.ctl("del", "d/1", "-w", "json")
    s.ctl("del", "d/0", "d/9", "-w", "json")
    delete("of nothing", key=b"none")
    delete("one with prev_kv", key=b"e", prev_kv=True)
    delete("reversed", key=b"z", range_end=b"a")
    s.rpc("Put d/a", s.kv.Put, rpc_pb2.PutRequest(key=b"d/a", value=b"1"))
    s.rpc("Put d/b", s.kv.Put, rpc_pb2.PutRequest(key=b"d/b", value=b"2"))
    delete("two with prev_kv", key=b"d/", range_end=b"d0", prev_kv=True)
    s.ctl("get", "d/", "--prefix", "--rev", "30")
    s.ctl("put", "e", "1")
    s.ctl("del", "e", "--from-key")


def _put(key, value=b"v", **fields):
    return rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=key, value=value, **fields))


def _get(key, **fields):
    return rpc_pb2.RequestOp(request_range=rpc_pb2.RangeRequest(key=key, **fields))


def _del(key, **fields):
    return rpc_pb2.RequestOp(request_delete_range=rpc_pb2.DeleteRangeRequest(key=key, **fields))


def _txn(compare=(), success=(), failure=()):
    return rpc_pb2.TxnRequest(compare=compare, success=success, failure=failure)


def _nested(**fields):
    return rpc_pb2.RequestOp(request_txn=_txn(**fields))


def _compare(key, result, **target):
    names = {"version": "VERSION", "create_revision": "CREATE", "mod_revision": "MOD",
             "value": "VALUE", "lease": "LEASE"}
    name = next(field for field in target if field in names)
    return rpc_pb2.Compare(key=key, result=getattr(rpc_pb2.Compare, result),
                           target=getattr(rpc_pb2.Compare, names[name]), **target)


def transactions(s):
    s.ctl("put", "t/1", "one")
    interactive = 'value("t/1") = "one"\n\nput t/2 two\nget t/2\n\nput t/3 three\n\n'
    s.ctl("txn", "-i", stdin=interactive)
    s.ctl("txn", "-i", stdin=interactive.replace('"one"', '"other"'))
    s.ctl("txn", "-i", stdin='mod("t/1") > "0"\nver("t/1") = "1"\n\nget t/1\ndel t/2\n\n\n')
    s.ctl("txn", stdin='create("t/none") = "0"\n\nput t/none x\n\nget t/none\n\n')
    s.ctl("txn", stdin='create("t/none") = "0"\n\nput t/none x\n\nget t/none\n\n')
    s.ctl("txn", "-w", "json", stdin='val("t/1") < "z"\n\nget t/ --prefix\n\n\n')
    s.ctl("txn", stdin="\n\n\n")

    def txn(label, **fields):
        s.rpc(f"Txn {label}", s.kv.Txn, _txn(**fields))

    txn("without anything")
    txn("reads its own put", success=[_get(b"t/r"), _put(b"t/r", b"1"), _get(b"t/r")])
    txn("reads its own delete", success=[_get(b"t/r"), _del(b"t/r"), _get(b"t/r")])
    txn("read only", success=[_get(b"t/1"), _get(b"t/", range_end=b"t0", count_only=True)])
    txn("read only at an old revision", success=[_get(b"t/1", revision=40)])
    txn("with prev_kv", success=[_put(b"t/1", b"uno", prev_kv=True),
                                 _del(b"t/3", prev_kv=True)])
    txn("delete of nothing", success=[_del(b"t/never")])
    txn("several puts share a revision", success=[_put(b"t/x"), _put(b"t/y"), _put(b"t/z")])
    txn("get of what they left", success=[_get(b"t/x"), _get(b"t/y")])
    for result in ("EQUAL", "NOT_EQUAL", "LESS", "GREATER"):
        txn(f"value of a missing key {result}", compare=[_compare(b"t/no", result, value=b"")])
        txn(f"version {result} 2", compare=[_compare(b"t/1", result, version=2)])
    txn("create_revision of a missing key", compare=[_compare(b"t/no", "EQUAL",
                                                              create_revision=0)])
    txn("mod_revision", compare=[_compare(b"t/1", "LESS", mod_revision=1)])
    txn("lease compare", compare=[_compare(b"t/1", "EQUAL", lease=0)])
    txn("range compare true", compare=[_compare(b"t/x", "EQUAL", version=1, range_end=b"t/zz")])
    txn("range compare false", compare=[_compare(b"t/", "EQUAL", version=1, range_end=b"t0")])
    txn("range compare of nothing", compare=[_compare(b"u", "EQUAL", version=0, range_end=b"v")])
    txn("nested", success=[
        _put(b"t/n", b"1"),
        _nested(compare=[_compare(b"t/n", "EQUAL", version=0)],
                success=[_put(b"t/n1"), _get(b"t/n")], failure=[_put(b"t/n2")]),
        _get(b"t/n1"), _get(b"t/n2")])
    txn("nested twice, read only", failure=[], success=[
        _nested(success=[_nested(success=[_get(b"t/1")]), _get(b"t/n")])])
    txn("overlapping deletes", success=[_del(b"t/n", range_end=b"t/o"), _del(b"t/n")])


def errors(s):
    def refused(label, method, request):
        s.rpc(f"refused: {label}", method, request)

    txn = lambda label, **fields: refused(label, s.kv.Txn, _txn(**fields))
    refused("Range of an empty key", s.kv.Range, rpc_pb2.RangeRequest())
    refused("Put of an empty key", s.kv.Put, rpc_pb2.PutRequest(value=b"x"))
    refused("DeleteRange of an empty key", s.kv.DeleteRange, rpc_pb2.DeleteRangeRequest())
    refused("ignore_value with a value", s.kv.Put,
            rpc_pb2.PutRequest(key=b"a", value=b"x", ignore_value=True))
    refused("ignore_lease with a lease", s.kv.Put,
            rpc_pb2.PutRequest(key=b"a", value=b"x", ignore_lease=True, lease=1))
    refused("Range at a future revision", s.kv.Range,
            rpc_pb2.RangeRequest(key=b"a", revision=1_000_000))
    refused("Put with an unknown lease", s.kv.Put,
            rpc_pb2.PutRequest(key=b"a", value=b"x", lease=12345))
    txn("Txn with an empty key in a put", success=[_put(b"")])
    txn("Txn with an empty key in a get", failure=[_get(b"")])
    txn("Txn with an empty key in a compare", compare=[_compare(b"", "EQUAL", version=0)])
    txn("Txn with an empty operation", success=[rpc_pb2.RequestOp()])
    txn("Txn with two puts of a key", success=[_put(b"k"), _put(b"k")])
    txn("Txn with a put in a deleted range",
        success=[_put(b"k5"), _del(b"k", range_end=b"l")])
    txn("Txn with a deleted range and then a put",
        success=[_del(b"k", range_end=b"l"), _put(b"k5")])
    txn("Txn with a nested duplicate", success=[_put(b"k"), _nested(success=[_put(b"k")])])
    txn("Txn with 129 operations", success=[_put(b"k%d" % i) for i in range(129)])
    txn("Txn with 129 compares", compare=[_compare(b"k", "EQUAL", version=0)] * 129)
    txn("Txn with an unknown lease", success=[_put(b"before"), _put(b"k", lease=12345)])
    s.ctl("get", "before", label="nothing of a refused transaction is left")
    txn("Txn at a future revision", success=[_put(b"k"), _get(b"a", revision=1_000_000)])
    txn("Txn at a negative revision", success=[_put(b"k"), _get(b"a", revision=-1)])
    txn("Txn at a more negative revision", success=[_put(b"k"), _get(b"a", revision=-5)])
    txn("Txn whose untaken branch is wrong", failure=[_put(b"k", lease=12345)])
    s.ctl("put", "", "x")
    s.ctl("get", "a", "--rev", "1000000")
    s.ctl("put", "a", "x", "--lease", "abc123")
    s.ctl("put", "a")
    s.ctl("lease", "revoke", "abc123")
    s.ctl("lease", "timetolive", "abc123")
    s.ctl("compact", "1000000")
    refused("Compact of the future", s.kv.Compact, rpc_pb2.CompactionRequest(revision=1_000_000))
    refused("LeaseGrant of too large a TTL", s.lease.LeaseGrant,
            rpc_pb2.LeaseGrantRequest(ID=9, TTL=9_000_000_001))
    refused("MemberRemove of nobody", s.cluster.MemberRemove,
            rpc_pb2.MemberRemoveRequest(ID=42))
    bad = s.channel.unary_unary("/etcdserverpb.KV/Range", request_serializer=bytes,
                                response_deserializer=bytes)
    refused("malformed protobuf", bad, b"\x0a\xff\xff\xff\xff\x0fx")
    unknown = s.channel.unary_unary("/etcdserverpb.KV/Nothing", request_serializer=bytes,
                                    response_deserializer=bytes)
    refused("unknown method", unknown, b"")
    unknown = s.channel.unary_unary("/nowhere.Service/Nothing", request_serializer=bytes,
                                    response_deserializer=bytes)
    refused("unknown service", unknown, b"")


def _create(key, **fields):
    return rpc_pb2.WatchRequest(
        create_request=rpc_pb2.WatchCreateRequest(key=key, **fields)).SerializeToString()


def _cancel(watch_id):
    return rpc_pb2.WatchRequest(
        cancel_request=rpc_pb2.WatchCancelRequest(watch_id=watch_id)).SerializeToString()


def watches(s):
    put = lambda key, value: s.kv.Put(rpc_pb2.PutRequest(key=key, value=value))
    stream = s.watch_stream()

    stream.send(_create(b"w/", range_end=b"w0"))
    s.reply("watch created from now", stream)
    put(b"w/1", b"a")
    s.reply("watch: a put", stream)
    put(b"w/1", b"b")
    s.reply("watch: a change", stream)
    s.kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"w/1"))
    s.reply("watch: a delete", stream)
    s.kv.Txn(_txn(success=[_put(b"w/2"), _put(b"w/3"), _del(b"w/1"), _put(b"other")]))
    s.reply("watch: a transaction in one response", stream)
    s.kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"w/", range_end=b"w0"))
    revision = s.reply("watch: a range delete", stream).header.revision
    stream.send(PROGRESS_REQUEST)
    s.reply("watch: progress on request", stream)

    stream.send(_create(b"w/", range_end=b"w0", start_revision=revision - 4, prev_kv=True))
    s.reply("watch created from an old revision", stream)
    events, response = [], None
    while len(events) < 6:
        response = stream.receive()
        events += [str(event) for event in response.events]
    s.record("watch: the past, with prev_kv",
             {"events": events, "watch_id": response.watch_id,
              "revision": response.header.revision})
    put(b"w/1", b"both")
    both = sorted((stream.receive() for _ in range(2)), key=lambda reply: reply.watch_id)
    s.record("watch: both watchers get the next change", [str(reply.events) for reply in both])
    stream.send(_cancel(1))
    s.reply("watch: cancelled", stream)
    stream.send(_cancel(17))  # nothing comes of it
    put(b"w/1", b"one")
    s.reply("watch: only the first is left", stream)

    no_put = rpc_pb2.WatchCreateRequest.NOPUT
    no_delete = rpc_pb2.WatchCreateRequest.NODELETE
    stream.send(_cancel(0))
    s.reply("watch: the first cancelled", stream)
    stream.send(_create(b"w/1", filters=[no_put]))
    s.reply("watch created with NOPUT", stream)
    stream.send(_create(b"w/1", filters=[no_delete]))
    s.reply("watch created with NODELETE", stream)
    put(b"w/1", b"filtered")
    s.reply("watch: NODELETE sees the put", stream)
    s.kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"w/1"))
    s.reply("watch: NOPUT sees the delete", stream)
    stream.cancel()

    stream = s.watch_stream()
    stream.send(_create(b"w/z", range_end=b"w/a"))
    s.reply("watch of a reversed range", stream)
    stream.send(_create(b"w/future", start_revision=revision + 1000))
    s.reply("watch created from the future", stream)
    stream.send(_create(b""))
    s.reply("watch created on an empty key", stream)
    stream.send(_create(b"w/prev", prev_kv=True))
    s.reply("watch created with prev_kv", stream)
    put(b"w/prev", b"1")
    s.reply("watch: prev_kv of a new key", stream)
    put(b"w/prev", b"2")
    s.reply("watch: prev_kv of a changed key", stream)
    s.kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"w/prev"))
    s.reply("watch: prev_kv of a deleted key", stream)
    stream.half_close()
    put(b"w/prev", b"3")
    s.reply("watch: a half-closed stream goes on", stream)
    stream.cancel()
    s.reply("watch: the client cancels the stream", stream)

    s.ctl("put", "wc/1", "x")
    s.ctl("put", "wc/2", "y")
    s.ctl("del", "wc/1")
    first = s.kv.Range(rpc_pb2.RangeRequest(key=b"wc/2")).kvs[0].mod_revision - 1
    for flags in (("--prefix",), ("--prefix", "--prev-kv")):
        watch = s.ctl_started("watch", "wc/", f"--rev={first}", *flags)
        watch.wait_lines(11 if "--prev-kv" in flags else 9)
        watch.stop()
        s.record("etcdctl watch --rev " + " ".join(flags), watch.lines)
    watch = s.ctl_started("watch", "wc/", "--prefix", f"--rev={first}", "-w", "json")
    watch.wait_lines(1)
    watch.stop()
    s.record("etcdctl watch --rev -w json", watch.lines)
    watch = s.ctl_started("watch", "-i")
    watch.say(f"watch wc/1 --rev={first}")
    watch.wait_lines(6)
    watch.stop()
    s.record("etcdctl watch -i", watch.lines)


def python_watches(s):
    def watched(client):
        events, cancel = client.watch("pw/1")
        client.put("pw/1", "one")
        client.put("pw/1", "two")
        client.delete("pw/1")
        seen = [next(events) for _ in range(3)]
        cancel()
        return [{"type": type(e).__name__, "value": e.value.decode(), "version": e.version,
                 "mod_revision": e.mod_revision} for e in seen]

    def watched_from(client):
        revision = client.put("pw/2", "old").header.revision
        client.put("pw/3", "older")
        events, cancel = client.watch_prefix("pw/", start_revision=revision)
        seen = [next(events) for _ in range(2)]
        cancel()
        return [e.key.decode() for e in seen]

    s.py("watch", watched)
    s.py("watch_prefix from a revision", watched_from)
    s.py("watch_once times out", lambda c: c.watch_once("pw/never", timeout=0.2))


def leases(s):
    grant = rpc_pb2.LeaseGrantRequest
    s.rpc("LeaseGrant with an id", s.lease.LeaseGrant, grant(ID=FIRST_LEASE, TTL=600))
    s.rpc("LeaseGrant of a used id", s.lease.LeaseGrant, grant(ID=FIRST_LEASE, TTL=600))
    s.rpc("LeaseGrant of TTL 0 is raised", s.lease.LeaseGrant, grant(ID=FIRST_LEASE + 1, TTL=0))
    s.rpc("LeaseRevoke at once", s.lease.LeaseRevoke,
          rpc_pb2.LeaseRevokeRequest(ID=FIRST_LEASE + 1))
    s.ctl("put", "l/1", "x", "--lease", f"{FIRST_LEASE:x}")
    s.ctl("put", "l/2", "y", "--lease", f"{FIRST_LEASE:x}", "-w", "json")
    s.ctl("get", "l/1", "-w", "json")
    s.ctl("put", "l/2", "z", "--ignore-lease")
    s.ctl("put", "l/1", "--ignore-value", "--lease", "0")
    s.ctl("get", "l/", "--prefix", "-w", "json")
    s.ctl("lease", "keep-alive", "--once", f"{FIRST_LEASE:x}")
    s.ctl("lease", "keep-alive", "--once", "abc123")
    s.ctl("lease", "list")

    reply = s.lease.LeaseTimeToLive(rpc_pb2.LeaseTimeToLiveRequest(ID=FIRST_LEASE, keys=True))
    s.record("LeaseTimeToLive", {"within": 590 <= reply.TTL <= 600, "granted": reply.grantedTTL,
                                 "keys": sorted(key.decode() for key in reply.keys)})
    s.rpc("LeaseTimeToLive of an unknown lease", s.lease.LeaseTimeToLive,
          rpc_pb2.LeaseTimeToLiveRequest(ID=424242, keys=True))
    out = s.ctl("lease", "timetolive", f"{FIRST_LEASE:x}", "--keys", label="(not compared)")
    s.steps.pop()
    s.record("etcdctl lease timetolive --keys",
             re.sub(r"remaining\(5[89]\ds\)", "remaining(600s)", out).replace("600s", "<ttl>"))

    stream = s.keepalive_stream()
    stream.send(rpc_pb2.LeaseKeepAliveRequest(ID=FIRST_LEASE))
    s.reply("LeaseKeepAlive", stream)
    stream.send(rpc_pb2.LeaseKeepAliveRequest(ID=424242))
    s.reply("LeaseKeepAlive of an unknown lease", stream)
    stream.half_close()
    s.reply("LeaseKeepAlive ends with the client's half-close", stream)

    s.rpc("LeaseLeases", s.lease.LeaseLeases, rpc_pb2.LeaseLeasesRequest())
    s.rpc("Txn puts under a lease", s.kv.Txn,
          _txn(success=[_put(b"l/3", lease=FIRST_LEASE), _get(b"l/3")]))
    s.rpc("LeaseRevoke deletes keys in one revision", s.lease.LeaseRevoke,
          rpc_pb2.LeaseRevokeRequest(ID=FIRST_LEASE))
    s.ctl("get", "l/", "--prefix", "-w", "json")
    s.rpc("LeaseRevoke of an unknown lease", s.lease.LeaseRevoke,
          rpc_pb2.LeaseRevokeRequest(ID=FIRST_LEASE))

    def python_lease(client):
        lease = client.lease(600, lease_id=FIRST_LEASE + 2)
        client.put("l/py", "x", lease=lease)
        ttl = lease.remaining_ttl
        reply = list(lease.refresh())[0]
        seen = {"id": lease.id, "within": 590 <= ttl <= 600, "granted": lease.granted_ttl,
                "keys": [key.decode() for key in lease.keys], "refreshed": reply.TTL}
        lease.revoke()
        return {**seen, "after": client.get("l/py")[0]}

    s.py("lease", python_lease)


def cluster_and_maintenance(s):
    s.ctl("member", "list")
    s.ctl("member", "list", "-w", "json")
    s.ctl("endpoint", "health", label="(not compared)")
    code_and_lines = s.steps.pop()[1]
    s.record("etcdctl endpoint health", {"exit": code_and_lines["exit"],
                                         "lines": [line.split(" took")[0] for line in
                                                   code_and_lines["out"] + code_and_lines["err"]]})
    s.ctl("endpoint", "status", "-w", "json")
    s.ctl("endpoint", "status", "-w", "fields")
    s.ctl("endpoint", "hashkv")
    s.ctl("alarm", "list")
    s.ctl("alarm", "disarm")
    s.rpc("MemberList", s.cluster.MemberList, rpc_pb2.MemberListRequest())
    s.rpc("Status", s.maintenance.Status, rpc_pb2.StatusRequest())
    s.rpc("Alarm GET", s.maintenance.Alarm, rpc_pb2.AlarmRequest())
    s.rpc("HashKV current", s.maintenance.HashKV, rpc_pb2.HashKVRequest())
    s.rpc("HashKV of revision 20", s.maintenance.HashKV, rpc_pb2.HashKVRequest(revision=20))
    s.rpc("HashKV of the future", s.maintenance.HashKV, rpc_pb2.HashKVRequest(revision=1_000_000))
    status, body = s.member.get("/health")
    s.record("GET /health", {"status": status, "body": body.strip()})
    status, body = s.member.get("/version")
    s.record("GET /version", {"status": status, "body": body.strip()})
    status, body = s.member.get("/nothing")
    s.record("GET /nothing", {"status": status, "body": body.strip()})
    status, body = s.member.get("/metrics")
    wanted = ("etcd_server_has_leader ", "etcd_server_is_leader ",
              "etcd_server_leader_changes_seen_total ",
              "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.001\"}",
              "etcd_disk_backend_commit_duration_seconds_bucket{le=\"0.001\"}")
    s.record("GET /metrics", {"status": status, **{name: name in body for name in wanted}})


def compaction(s):
    for i in range(6):
        s.ctl("put", "c", str(i), label=f"etcdctl put c {i}")
    s.ctl("put", "c/gone", "x")
    s.ctl("del", "c/gone")
    revision = s.kv.Range(rpc_pb2.RangeRequest(key=b"c")).kvs[0].mod_revision
    s.ctl("compact", str(revision - 3))
    s.ctl("compact", str(revision - 3))
    s.ctl("compact", "1")
    s.ctl("get", "c", "--rev", str(revision - 4))
    s.ctl("get", "c", "--rev", str(revision - 3))
    s.rpc("Range at a compacted revision", s.kv.Range, rpc_pb2.RangeRequest(key=b"c", revision=2))
    s.rpc("Txn at a compacted revision", s.kv.Txn, _txn(success=[_put(b"k"),
                                                                _get(b"c", revision=2)]))
    s.rpc("Txn that only reads at a compacted revision", s.kv.Txn,
          _txn(success=[_get(b"c", revision=2)]))
    s.rpc("HashKV after a compaction", s.maintenance.HashKV, rpc_pb2.HashKVRequest())
    s.rpc("HashKV of a compacted revision", s.maintenance.HashKV,
          rpc_pb2.HashKVRequest(revision=2))
    s.rpc("Compact physical", s.kv.Compact,
          rpc_pb2.CompactionRequest(revision=revision, physical=True))
    s.rpc("HashKV after a physical compaction", s.maintenance.HashKV, rpc_pb2.HashKVRequest())
    s.ctl("compact", str(revision + 1), "--physical")
    s.ctl("get", "c", "-w", "json")

    stream = s.watch_stream()
    stream.send(_create(b"c", start_revision=3))
    s.reply("watch from a compacted revision is created", stream)
    s.reply("watch from a compacted revision is cancelled", stream)
    stream.cancel()
    watch = s.ctl_started("watch", "c", "--rev", "3")
    s.record("etcdctl watch from a compacted revision", {"exit": watch.wait_end(),
                                                         "out": watch.lines})
    s.py("watch from a compacted revision", lambda c: _compacted_watch(c))
    s.ctl("put", "c", "after")
    current = s.kv.Range(rpc_pb2.RangeRequest(key=b"c")).header.revision
    s.rpc("Compact to the current revision", s.kv.Compact,
          rpc_pb2.CompactionRequest(revision=current))
    s.ctl("get", "", "--prefix", "--keys-only")


def _compacted_watch(client):
    events, cancel = client.watch("c", start_revision=3)
    try:
        return next(events).key.decode()
    finally:
        cancel()


def _lock(client):
    """Two holders of one lock; the leases are the server's own, so it comes after all hashes."""
    lock = client.lock("py/lock", ttl=60)
    taken = lock.acquire(timeout=10)
    second = client.lock("py/lock", ttl=60).acquire(timeout=0)
    return {"taken": taken, "held": lock.is_acquired(), "second": second,
            "released": lock.release()}


def limits(s):
    s.rpc("Put of 1 MiB", s.kv.Put, rpc_pb2.PutRequest(key=b"big", value=b"x" * MIB))
    s.rpc("Range of 1 MiB", s.kv.Range, rpc_pb2.RangeRequest(key=b"big"))
    s.rpc("Put above the request limit", s.kv.Put,
          rpc_pb2.PutRequest(key=b"big", value=b"x" * (3 * MIB // 2 + 1000)))
    s.rpc("Put far above the request limit", s.kv.Put,
          rpc_pb2.PutRequest(key=b"big", value=b"x" * (8 * MIB)))
    s.rpc("DeleteRange of the big one", s.kv.DeleteRange, rpc_pb2.DeleteRangeRequest(key=b"big"))
    s.rpc("Put of a long key", s.kv.Put, rpc_pb2.PutRequest(key=b"k" * 10000, value=b"x"))
    s.rpc("Range of a long key", s.kv.Range, rpc_pb2.RangeRequest(key=b"k" * 10000))
    s.rpc("Txn with 128 puts", s.kv.Txn, _txn(success=[_put(b"m/%03d" % i) for i in range(128)]))
    s.rpc("Range of many", s.kv.Range,
          rpc_pb2.RangeRequest(key=b"m/", range_end=b"m0", count_only=True))


def server_leases(s):
    """Ids that the server chose lie in records, so this comes after all hashes."""
    granted = s.ctl("lease", "grant", "3")
    lease = granted.split()[1]
    s.ctl("put", "l/4", "x", "--lease", lease, label="etcdctl put under a server's lease")
    s.ctl("lease", "list", label="etcdctl lease list of a server's lease")
    alive = s.ctl_started("lease", "keep-alive", lease)
    alive.wait_lines(1)
    s.ctl("lease", "revoke", lease, label="etcdctl lease revoke")
    s.record("etcdctl lease keep-alive until revoked",
             {"exit": alive.wait_end(), "first": alive.lines[0], "last": alive.lines[-1]})
    s.ctl("get", "l/4")


def expiry(s):
    """A lease of the shortest kind takes its keys away, in one revision."""
    stream = s.watch_stream()
    stream.send(_create(b"x/", range_end=b"x0"))
    s.reply("watch created for an expiry", stream)
    s.rpc("LeaseGrant of two seconds", s.lease.LeaseGrant,
          rpc_pb2.LeaseGrantRequest(ID=FIRST_LEASE + 9, TTL=2))
    s.rpc("Txn puts two keys under it", s.kv.Txn,
          _txn(success=[_put(b"x/1", lease=FIRST_LEASE + 9), _put(b"x/2", lease=FIRST_LEASE + 9)]))
    s.reply("watch: the puts", stream)
    s.reply("watch: the expiry", stream)
    stream.cancel()
    s.rpc("LeaseTimeToLive after the expiry", s.lease.LeaseTimeToLive,
          rpc_pb2.LeaseTimeToLiveRequest(ID=FIRST_LEASE + 9))
    s.ctl("get", "x/", "--prefix", "-w", "json")


def watch_from_now(s):
    """etcdctl does not say when its watch stands, so a probe is put until it shows."""
    watch = s.ctl_started("watch", "now/", "--prefix")

    def probed():
        s.kv.Put(rpc_pb2.PutRequest(key=b"now/probe", value=b"probe"))
        return "now/probe" in watch.lines

    wait_until("etcdctl watch standing", probed)
    s.ctl("put", "now/1", "a", label="etcdctl put under a watch")
    s.ctl("del", "now/1", label="etcdctl del under a watch")
    s.ctl("put", "now/end", "z", label="etcdctl put that ends the watch")
    watch.wait_for("z")
    watch.stop()
    triples = [watch.lines[i:i + 3] for i in range(0, len(watch.lines), 3)]
    s.record("etcdctl watch from now", [line for line in triples if line[1] != "now/probe"])
