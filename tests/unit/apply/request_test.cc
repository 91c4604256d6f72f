// SPDX-License-Identifier: Apache-2.0
#include "apply/request.h"

#include <capnp/any.h>
#include <catch2/catch.hpp>

#include "base/random.h"
#include "unit/apply/requests.h"

namespace quorate::apply {
namespace {

Request decoded(const Bytes& body) {
  auto request = Request::decode_client(body);
  REQUIRE(request.status().code() == Code::kOk);
  return *std::move(request);
}
Code decode_code(const Bytes& body) {
  return Request::decode_client(body).status().code();
}
Code validated(const Op& op) {
  return validate(decoded(body_of(op)), RequestLimits()).code();
}
Op keeping(Op op, bool value, bool lease) {
  op.ignore_value = value;
  op.ignore_lease = lease;
  return op;
}
Op sorted(int32_t order, int32_t target) {
  Op op = range("a");
  op.sort_order = order;
  op.sort_target = target;
  return op;
}
Op nested(int depth) {
  return depth == 0 ? put("k", "v") : txn({}, {nested(depth - 1)});
}

// ---------------------------------------------------------------- the entry

TEST_CASE("an entry comes back with its header and its body untouched", "[request]") {
  const EntryHeader header{EntryKind::kInternal, 7, 11, 12, 13, "user"};
  const Bytes entry = encode_entry(header, "12345678");
  CHECK(entry.size() == entry_size(header, 8));
  CHECK(entry.size() % 8 == 0);
  const auto back = decode_entry(entry);
  REQUIRE(back.has_value());
  CHECK(back->header.kind == EntryKind::kInternal);
  CHECK(back->header.lease_ttl_min == 7);
  CHECK(back->header.request_id == 11);
  CHECK(back->header.auth_revision == 12);
  CHECK(back->header.prepared_id == 13);
  CHECK(back->header.user == "user");
  CHECK(back->body.slice() == "12345678");
}

TEST_CASE("an entry's header has the layout that the log's format states", "[request]") {
  const EntryHeader header{EntryKind::kClient, 2, 0x0102, 3, 4, "ab"};
  const Bytes entry = encode_entry(header, "");
  CHECK(entry.slice() == Slice("\x01\x01\x02\x00\x02\x00\x00\x00"
                               "\x02\x01\x00\x00\x00\x00\x00\x00"
                               "\x03\x00\x00\x00\x00\x00\x00\x00"
                               "\x04\x00\x00\x00\x00\x00\x00\x00"
                               "ab\x00\x00\x00\x00\x00\x00",
                               40));
}

TEST_CASE("what no kernel wrote is no entry", "[request]") {
  const std::string good(encode_entry({}, "12345678").slice());
  for (size_t size = 0; size < 32; ++size) {
    CHECK(decode_entry(Bytes::copy(good.substr(0, size))).status().code() == Code::kCorrupt);
  }
  for (const auto& [place, byte] : {std::pair{0, 2}, {0, 0}, {1, 0}, {1, 4}, {3, 0x7f}, {2, 64}}) {
    std::string bad = good;
    bad[static_cast<size_t>(place)] = static_cast<char>(byte);
    CHECK(decode_entry(Bytes::copy(bad)).status().code() == Code::kCorrupt);
  }
}

// ---------------------------------------------------------------- decoding

TEST_CASE("a put comes back field by field, in place", "[request]") {
  Op op = with_prev(put("key", "value", -3));
  op.ignore_lease = true;
  const Bytes body = body_of(op);
  const Request request = decoded(body);
  const PutOp* put = request.get_if<PutOp>();
  REQUIRE(put != nullptr);
  CHECK(put->key == "key");
  CHECK(put->value == "value");
  CHECK(put->lease == -3);
  CHECK(put->prev_kv);
  CHECK(put->ignore_lease);
  CHECK_FALSE(put->ignore_value);
  CHECK(put->key.data() > body.data());
  CHECK(put->key.data() < body.data() + body.size());
}

TEST_CASE("a body at any address is read", "[request]") {
  const std::string bytes = "x" + std::string(body_of(put("key", "value")).slice());
  const Bytes shifted = Bytes::copy(bytes).sub(1, bytes.size() - 1);
  CHECK(decoded(shifted).get_if<PutOp>()->value == "value");
}

TEST_CASE("a transaction comes back with what is nested in it", "[request]") {
  const Request request = decoded(body_of(
      txn({{"a", 3, 1, 0, "v", ""}}, {put("b", "1"), txn({}, {del("c", "d")})}, {range("e")})));
  const TxnOp* outer = request.get_if<TxnOp>();
  REQUIRE(outer != nullptr);
  REQUIRE(outer->compares.size() == 1);
  CHECK(outer->compares[0].value == "v");
  REQUIRE(outer->success.size() == 2);
  const auto& inner = std::get<std::unique_ptr<TxnOp>>(outer->success[1]);
  CHECK(std::get<DeleteRangeOp>(inner->success.at(0)).range_end == "d");
  CHECK(std::get<RangeOp>(outer->failure.at(0)).key == "e");
}

TEST_CASE("an internal entry is never read as a client's", "[request]") {
  const Bytes body = internal_body([](auto to) {
    auto stamp = to.initExpireLeases(1)[0];
    stamp.setLease(5);
    stamp.setGrantRevision(6);
    stamp.setGrantIndex(7);
  });
  const auto request = Request::decode_internal(body);
  REQUIRE(request.has_value());
  const auto* op = request->get_if<ExpireLeasesOp>();
  REQUIRE(op != nullptr);
  REQUIRE(op->stamps.size() == 1);
  CHECK(op->stamps[0].grant_index == 7);
  CHECK(Request::decode_client(body).has_value() == false);
}

TEST_CASE("bytes that are no message are refused, whatever they are", "[request]") {
  CHECK(decode_code(Bytes()) == Code::kDamagedRequest);
  CHECK(decode_code(Bytes::copy("1234567")) == Code::kDamagedRequest);
  CHECK(decode_code(Bytes::copy(std::string(64, '\xff'))) == Code::kDamagedRequest);
}

TEST_CASE("an empty message is an empty range, which validation refuses", "[request]") {
  const Request request = decoded(Bytes::copy(std::string(8, '\0')));
  CHECK(validate(request, RequestLimits()).code() == Code::kEmptyKey);
}

TEST_CASE("damage at any place gives an answer, and twice the same", "[request]") {
  const std::string good(body_of(txn({{"a"}}, {put("b", "1"), txn({}, {del("c")})})).slice());
  Random random(1);
  for (int round = 0; round < 4000; ++round) {
    std::string bad = good;
    for (uint64_t n = 1 + random.below(3); n > 0; --n) {
      bad[random.below(bad.size())] = static_cast<char>(random.next());
    }
    const auto first = Request::decode_client(Bytes::copy(bad));
    const auto second = Request::decode_client(Bytes::copy(bad));
    REQUIRE(first.status().code() == second.status().code());
    if (first) REQUIRE(validate(*first, kNoLimits).code() == validate(*second, kNoLimits).code());
  }
}

TEST_CASE("a field that this version does not know is refused as a whole", "[request]") {
  capnp::MallocMessageBuilder builder;
  auto root = builder.initRoot<schema::Request>();
  auto put = root.initPut();
  put.setKey(to_data(std::string("k")));
  capnp::AnyStruct::Builder any(kj::cp(root));
  auto larger = any.getPointerSection()[0].initAsAnyStruct(
      capnp::_::structSize<schema::PutRequest>().data + 1,
      capnp::_::structSize<schema::PutRequest>().pointers);
  REQUIRE(larger.getDataSection().size() > 0);
  const auto segment = builder.getSegmentsForOutput()[0].asBytes();
  const Bytes body = Bytes::copy({reinterpret_cast<const char*>(segment.begin()), segment.size()});
  CHECK(decode_code(body) == Code::kUnsupported);
}

TEST_CASE("a kind of request that this version does not know is refused", "[request]") {
  std::string body(body_of(put("k", "v")).slice());
  body[8] = 100;  // the union's tag in the root's data word
  CHECK(decode_code(Bytes::copy(body)) == Code::kUnsupported);
}

TEST_CASE("transactions nest sixteen deep and no deeper", "[request]") {
  CHECK(decode_code(body_of(nested(kTxnDepthMax))) == Code::kOk);
  CHECK(decode_code(body_of(nested(kTxnDepthMax + 1))) == Code::kTooManyOps);
}

TEST_CASE("a list that says more elements than it has bytes costs nothing", "[request]") {
  capnp::MallocMessageBuilder builder;
  auto root = builder.initRoot<schema::Request>();
  auto txn = root.initTxn();
  capnp::AnyStruct::Builder any(kj::cp(txn));
  // A list of half a million structs without any bytes.
  any.getPointerSection()[1].initAsListOfAnyStruct(0, 0, 500'000);
  const auto segment = builder.getSegmentsForOutput()[0].asBytes();
  const Bytes body = Bytes::copy({reinterpret_cast<const char*>(segment.begin()), segment.size()});
  REQUIRE(body.size() < 200);
  CHECK(decode_code(body) == Code::kDamagedRequest);
}

// ---------------------------------------------------------------- validation

TEST_CASE("every operation needs a key", "[request]") {
  for (const Op& op : {put("", "v"), range(""), del("")}) {
    CHECK(validated(op) == Code::kEmptyKey);
    CHECK(validated(txn({}, {op})) == Code::kEmptyKey);
    CHECK(validated(txn({}, {}, {op})) == Code::kEmptyKey);
    CHECK(validated(txn({}, {txn({}, {}, {op})})) == Code::kEmptyKey);
  }
  CHECK(validated(txn({{""}}, {})) == Code::kEmptyKey);
}

TEST_CASE("a put keeps a value or a lease, or gives it, not both", "[request]") {
  CHECK(validated(keeping(put("k", "v"), true, false)) == Code::kValueProvided);
  CHECK(validated(keeping(put("k", "v", 1), false, true)) == Code::kLeaseProvided);
  CHECK(validated(keeping(put("k", "v", 1), true, true)) == Code::kValueProvided);
  CHECK(validated(keeping(put("k", ""), true, true)) == Code::kOk);
  CHECK(validated(txn({}, {}, {keeping(put("k", "v"), true, false)})) == Code::kValueProvided);
}

TEST_CASE("sort options outside their enumerations are refused", "[request]") {
  CHECK(validated(sorted(2, 4)) == Code::kOk);
  for (const Op& op : {sorted(3, 0), sorted(-1, 0), sorted(0, 5), sorted(0, -1)}) {
    CHECK(validated(op) == Code::kInvalidSortOption);
    CHECK(validated(txn({}, {op})) == Code::kInvalidSortOption);
  }
}

TEST_CASE("an empty operation of a transaction is a key not found", "[request]") {
  CHECK(validated(txn({}, {Op()})) == Code::kKeyNotFound);
}

TEST_CASE("each list of a transaction has 128 elements at most", "[request]") {
  const auto ranges = [](size_t n) { return std::vector<Op>(n, range("k")); };
  const auto compares = [](size_t n) { return std::vector<Op::Compare>(n, Op::Compare{"k"}); };
  CHECK(validated(txn(compares(128), ranges(128), ranges(128))) == Code::kOk);
  CHECK(validated(txn(compares(129), {}, {})) == Code::kTooManyOps);
  CHECK(validated(txn({}, ranges(129), {})) == Code::kTooManyOps);
  CHECK(validated(txn({}, {}, ranges(129))) == Code::kTooManyOps);
}

TEST_CASE("a nested transaction gets what its parent's longest list leaves", "[request]") {
  const auto inner = [](size_t n) { return txn({}, std::vector<Op>(n, range("k"))); };
  const std::vector<Op::Compare> hundred(100, Op::Compare{"k"});
  CHECK(validated(txn(hundred, {inner(28)})) == Code::kOk);
  CHECK(validated(txn(hundred, {inner(29)})) == Code::kTooManyOps);
  CHECK(validated(txn({}, {inner(127)})) == Code::kOk);
  CHECK(validated(txn({}, {inner(128)})) == Code::kTooManyOps);
}

TEST_CASE("a branch changes a key once at most", "[request]") {
  const Code duplicate = Code::kDuplicateKey;
  CHECK(validated(txn({}, {put("a", "1"), put("a", "2")})) == duplicate);
  CHECK(validated(txn({}, {}, {put("a", "1"), put("a", "2")})) == duplicate);
  CHECK(validated(txn({}, {put("b", "1"), del("a", "c")})) == duplicate);
  CHECK(validated(txn({}, {del("a", "c"), put("b", "1")})) == duplicate);
  CHECK(validated(txn({}, {del("a"), put("a", "1")})) == duplicate);
  CHECK(validated(txn({}, {del("a", kOpenEnd), put("z", "1")})) == duplicate);
  CHECK(validated(txn({}, {put("a", "1")}, {put("a", "2")})) == Code::kOk);
  CHECK(validated(txn({}, {put("c", "1"), del("a", "c")})) == Code::kOk);
  CHECK(validated(txn({}, {del("b", kOpenEnd), put("a", "1")})) == Code::kOk);
  CHECK(validated(txn({}, {del("a", "c"), del("b", "d")})) == Code::kOk);
  CHECK(validated(txn({}, {put("a", "1"), range("a"), range("a")})) == Code::kOk);
  CHECK(validated(txn({}, {put("b", "1"), del("c", "a")})) == Code::kOk);  // an empty range
}

TEST_CASE("a nested transaction's branches may repeat each other's keys, not its siblings'",
          "[request]") {
  const Code duplicate = Code::kDuplicateKey;
  CHECK(validated(txn({}, {txn({}, {put("a", "1")}, {put("a", "2")})})) == Code::kOk);
  CHECK(validated(txn({}, {txn({}, {put("a", "1")}, {del("a")})})) == Code::kOk);
  CHECK(validated(txn({}, {txn({}, {put("a", "1"), put("a", "2")})})) == duplicate);
  CHECK(validated(txn({}, {put("a", "1"), txn({}, {}, {put("a", "2")})})) == duplicate);
  CHECK(validated(txn({}, {txn({}, {put("a", "1")}), txn({}, {put("a", "1")})})) == duplicate);
  CHECK(validated(txn({}, {txn({}, {put("a", "1")}), del("a")})) == duplicate);
  CHECK(validated(txn({}, {txn({}, {del("a", "c")}), put("b", "1")})) == duplicate);
  CHECK(validated(txn({}, {txn({}, {txn({}, {put("a", "1")})}), put("a", "1")})) == duplicate);
  CHECK(validated(txn({}, {txn({}, {put("a", "1")}, {put("a", "2")}), put("a", "3")})) ==
        duplicate);
}

TEST_CASE("a request above the size limit is refused", "[request]") {
  const Request request = decoded(body_of(put("k", std::string(1000, 'v'))));
  CHECK(validate(request, {128, request.size_bytes()}).ok());
  CHECK(validate(request, {128, request.size_bytes() - 1}).code() == Code::kRequestTooLarge);
}

TEST_CASE("a lease's TTL has an upper bound", "[request]") {
  const auto grant = [](int64_t ttl) {
    return decoded(client_body([&](auto to) { to.initLease().initGrant().setTtl(ttl); }));
  };
  CHECK(validate(grant(9'000'000'000), RequestLimits()).ok());
  CHECK(validate(grant(9'000'000'001), RequestLimits()).code() == Code::kLeaseTtlTooLarge);
}

// ---------------------------------------------------------------- what a request is

TEST_CASE("only what may add data has a cost, a transaction its dearer branch's", "[request]") {
  const auto cost_of = [](const Op& op) { return cost(decoded(body_of(op))); };
  CHECK(cost_of(put("abc", "12345")) == 256 + 3 + 5);
  CHECK(cost_of(del("a", "z")) == 0);
  CHECK(cost_of(txn({}, {range("a"), del("b")})) == 0);
  CHECK(cost_of(txn({}, {put("a", "1")}, {put("b", "1"), put("c", "1")})) == 2 * 258);
  CHECK(cost_of(txn({}, {put("a", "1"), txn({}, {}, {put("b", "1")})})) == 2 * 258);
  CHECK(cost(decoded(client_body([](auto to) { to.initLease().initGrant(); }))) == 64);
  CHECK(cost(decoded(client_body([](auto to) { to.initLease().setRevoke(1); }))) == 0);
}

TEST_CASE("a transaction that only ranges is a read, without operations a serializable one",
          "[request]") {
  const auto route_of = [](const Op& op) { return route(decoded(body_of(op))); };
  Op local = range("a");
  local.serializable = true;
  CHECK(route_of(txn({{"a"}}, {range("a")}, {range("b")})) == Route::kLinearizable);
  CHECK(route_of(txn({{"a"}}, {local}, {local})) == Route::kSerializable);
  CHECK(route_of(txn({{"a"}}, {local}, {range("b")})) == Route::kLinearizable);
  CHECK(route_of(txn({{"a"}}, {})) == Route::kSerializable);
  CHECK(route_of(txn({}, {range("a"), put("b", "1")})) == Route::kLog);
  CHECK(route_of(txn({}, {}, {del("b")})) == Route::kLog);
  CHECK(route_of(txn({}, {txn({}, {range("a")})})) == Route::kLog);
  CHECK(route_of(range("a")) == Route::kLinearizable);
  CHECK(route_of(local) == Route::kSerializable);
  CHECK(route_of(put("a", "1")) == Route::kLog);
}

TEST_CASE("requests reach their answer by the way that is theirs", "[request]") {
  struct Row {
    const char* name;
    FillRequest fill;
    Route route;
    bool admin;
  };
  const Row rows[] = {
      {"compact", [](auto to) { to.initCompact(); }, Route::kLog, true},
      {"grant", [](auto to) { to.initLease().initGrant(); }, Route::kLog, false},
      {"revoke", [](auto to) { to.initLease().setRevoke(1); }, Route::kLog, false},
      {"keep-alive", [](auto to) { to.initLease().setKeepAlive(1); }, Route::kLeader, false},
      {"ttl", [](auto to) { to.initLease().initTimeToLive(); }, Route::kLeader, false},
      {"leases", [](auto to) { to.initLease().setList(); }, Route::kLocal, false},
      {"auth status", [](auto to) { to.initAuth().setStatus(); }, Route::kLog, true},
      {"authenticate", [](auto to) { to.initAuth().initAuthenticate(); }, Route::kPrepare, false},
      {"user get", [](auto to) { to.initAuth().setUserGet("u"); }, Route::kLog, false},
      {"role add", [](auto to) { to.initAuth().setRoleAdd("r"); }, Route::kLog, true},
      {"member add", [](auto to) { to.initCluster().initAdd(); }, Route::kConfChange, true},
      {"member remove", [](auto to) { to.initCluster().setRemove(1); }, Route::kConfChange, true},
      {"promote", [](auto to) { to.initCluster().setPromote(1); }, Route::kLeader, true},
      {"members", [](auto to) { to.initCluster().setList(true); }, Route::kLinearizable, false},
      {"members here", [](auto to) { to.initCluster().setList(false); }, Route::kSerializable,
       false},
      {"status", [](auto to) { to.initMaintenance().setStatus(); }, Route::kLocal, false},
      {"alarms", [](auto to) { to.initMaintenance().initAlarm(); }, Route::kLog, false},
      {"alarm off", [](auto to) { to.initMaintenance().initAlarm().setAction(2); }, Route::kLog,
       true},
      {"hash", [](auto to) { to.initMaintenance().setHashKv(0); }, Route::kLocal, true},
      {"defragment", [](auto to) { to.initMaintenance().setDefragment(); }, Route::kLocal, true},
      {"move leader", [](auto to) { to.initMaintenance().setMoveLeader(1); }, Route::kLocal, true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const Request request = decoded(client_body(row.fill));
    CHECK(route(request) == row.route);
    CHECK(needs_admin(request) == row.admin);
    CHECK(is_write(request) == (row.route == Route::kLog || row.route == Route::kConfChange));
  }
}

TEST_CASE("every auth request keeps the names it was given", "[request]") {
  const Request request = decoded(client_body([](auto to) {
    auto permission = to.initAuth().initRoleGrantPermission();
    permission.setRole("r");
    permission.setGiven(true);
    permission.initPermission().setType(2);
    permission.getPermission().setKey(to_data(std::string("k")));
  }));
  const AuthOp* op = request.get_if<AuthOp>();
  REQUIRE(op != nullptr);
  CHECK(op->action == AuthAction::kRoleGrantPermission);
  CHECK(op->role == "r");
  CHECK(op->permission_given);
  CHECK(op->permission_type == 2);
  CHECK(op->key == "k");
}

}  // namespace
}  // namespace quorate::apply
