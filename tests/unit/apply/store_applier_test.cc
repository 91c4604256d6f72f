// SPDX-License-Identifier: Apache-2.0
#include "unit/apply/bench.h"

namespace quorate::apply {
namespace {

using Changes = std::vector<std::string>;

Op keep_value(Op op) {
  op.ignore_value = true;
  return op;
}
Op keep_lease(Op op) {
  op.ignore_lease = true;
  return op;
}

// ---------------------------------------------------------------- put and delete

TEST_CASE("a put answers with the revision after it, in this member's header", "[apply]") {
  Bench bench;
  const Answer answer = bench.apply(put("a", "1"));
  REQUIRE(answer.code() == Code::kOk);
  const auto header = answer.response().getHeader();
  CHECK(header.getRevision() == 2);
  CHECK(header.getClusterId() == 11);
  CHECK(header.getMemberId() == 12);
  CHECK(header.getRaftTerm() == 13);
  CHECK_FALSE(answer.response().getPut().getHasPrev());
  CHECK(bench.changes == Changes{"+a@2.0"});
}

TEST_CASE("a put gives the previous pair when it is asked for and there is one", "[apply]") {
  Bench bench;
  CHECK_FALSE(bench.apply(with_prev(put("a", "1"))).response().getPut().getHasPrev());
  const Answer answer = bench.apply(with_prev(put("a", "2")));
  REQUIRE(answer.response().getPut().getHasPrev());
  const auto previous = mvcc::parse_record(slice_of(answer.response().getPut().getPrevKv()));
  CHECK(previous->value == "1");
  CHECK(previous->mod_revision == 2);
}

TEST_CASE("a put may keep the value, the lease, or both", "[apply]") {
  Bench bench;
  bench.grant(7);
  bench.grant(8);
  bench.apply(put("a", "1", 7));
  REQUIRE(bench.apply(keep_value(put("a", "", 8))).code() == Code::kOk);
  CHECK(bench.dump() == "a=1");
  CHECK(bench.store->find("a").lease == 8);
  bench.apply(keep_lease(put("a", "2")));
  CHECK(bench.store->find("a").lease == 8);
  bench.apply(keep_lease(keep_value(put("a", ""))));
  CHECK(bench.dump() == "a=2");
  CHECK(bench.store->find("a").version == 4);
  CHECK(bench.lessor.keys(8) == std::vector<std::string>{"a"});
}

TEST_CASE("keeping what a missing key does not have changes nothing", "[apply]") {
  Bench bench;
  CHECK(bench.apply(keep_value(put("a", ""))).code() == Code::kKeyNotFound);
  const Answer answer = bench.apply(keep_lease(put("a", "1")));
  CHECK(answer.code() == Code::kKeyNotFound);
  CHECK(answer.revision() == 1);
  CHECK(bench.changes.empty());
}

TEST_CASE("a put with an unknown lease changes nothing", "[apply]") {
  Bench bench;
  CHECK(bench.apply(put("a", "1", 99)).code() == Code::kLeaseNotFound);
  CHECK(bench.dump().empty());
}

TEST_CASE("a put moves its key from the old lease to the new one", "[apply]") {
  Bench bench;
  bench.grant(7);
  bench.grant(8);
  bench.apply(put("a", "1", 7));
  bench.apply(put("a", "2", 8));
  CHECK(bench.lessor.keys(7).empty());
  CHECK(bench.lessor.keys(8) == std::vector<std::string>{"a"});
  bench.apply(put("a", "3"));
  CHECK(bench.lessor.keys(8).empty());
}

TEST_CASE("a delete answers how many keys went, and which if asked", "[apply]") {
  Bench bench;
  bench.grant(7);
  bench.apply(put("a", "1", 7));
  bench.apply(put("b", "2"));
  bench.apply(put("c", "3"));
  const Answer answer = bench.apply(with_prev(del("a", "c")));
  CHECK(answer.response().getDeleteRange().getDeleted() == 2);
  CHECK(pairs_of(answer.response().getDeleteRange().getPrevKvs()) == "a=1 b=2");
  CHECK(answer.response().getDeleteRange().getPrevKvs()[0] == 0x1a);
  CHECK(answer.revision() == 5);
  CHECK(bench.changes == Changes{"-a@5.0", "-b@5.1"});
  CHECK(bench.lessor.keys(7).empty());
}

TEST_CASE("a delete of nothing makes no revision", "[apply]") {
  Bench bench;
  bench.apply(put("a", "1"));
  for (const Op& op : {del("x"), del("z", "y"), del("b", kOpenEnd)}) {
    const Answer answer = bench.apply(op);
    CHECK(answer.revision() == 2);
    CHECK(answer.response().getDeleteRange().getDeleted() == 0);
    CHECK(bench.changes.empty());
  }
}

TEST_CASE("nobody who waits, nothing encoded, the same state", "[apply]") {
  Bench bench;
  bench.wanted = false;
  const Answer answer = bench.apply(txn({}, {with_prev(put("a", "1")), range("a")}));
  CHECK(answer.code() == Code::kOk);
  CHECK(answer.bytes.empty());
  CHECK(bench.apply(put("a", "1", 99)).bytes.empty());
  CHECK(bench.dump() == "a=1");
}

// ---------------------------------------------------------------- transactions

bool compare_holds(Bench& bench, Op::Compare compare) {
  const Answer answer = bench.apply(txn({std::move(compare)}, {del("none")}, {del("none")}));
  REQUIRE(answer.code() == Code::kOk);
  return answer.response().getTxn().getSucceeded();
}

TEST_CASE("a compare reads the key on the left and the request on the right", "[apply]") {
  enum { kVersion, kCreate, kMod, kValue, kLease };
  enum { kEqual, kGreater, kLess, kNotEqual };
  Bench bench;
  bench.grant(7);
  bench.apply(put("a", "m"));
  bench.apply(put("a", "m", 7));  // version 2, create 2, mod 3, lease 7
  struct Row {
    int32_t target;
    int64_t same;
  };
  for (const Row& row : {Row{kVersion, 2}, Row{kCreate, 2}, Row{kMod, 3}, Row{kLease, 7}}) {
    INFO(row.target);
    CHECK(compare_holds(bench, {"a", row.target, kEqual, row.same}));
    CHECK_FALSE(compare_holds(bench, {"a", row.target, kNotEqual, row.same}));
    CHECK(compare_holds(bench, {"a", row.target, kGreater, row.same - 1}));
    CHECK_FALSE(compare_holds(bench, {"a", row.target, kGreater, row.same}));
    CHECK(compare_holds(bench, {"a", row.target, kLess, row.same + 1}));
    CHECK_FALSE(compare_holds(bench, {"a", row.target, kLess, row.same}));
    CHECK(compare_holds(bench, {"missing", row.target, kEqual, 0}));
  }
  CHECK(compare_holds(bench, {"a", kValue, kEqual, 0, "m"}));
  CHECK(compare_holds(bench, {"a", kValue, kGreater, 0, "a"}));
  CHECK(compare_holds(bench, {"a", kValue, kLess, 0, "ma"}));
  CHECK(compare_holds(bench, {"a", kValue, kLess, 0, "\xff"}));
  CHECK(compare_holds(bench, {"a", kValue, kNotEqual, 0, "x"}));
}

TEST_CASE("a value compare on a missing key never holds, not even 'not equal'", "[apply]") {
  Bench bench;
  for (int32_t result : {0, 1, 2, 3, 9}) {
    CHECK_FALSE(compare_holds(bench, {"a", 3, result, 0, ""}));
  }
}

TEST_CASE("a relation outside its enumeration holds", "[apply]") {
  Bench bench;
  CHECK(compare_holds(bench, {"a", 0, 17, 5}));
}

TEST_CASE("a compare over a range holds for every key or not at all", "[apply]") {
  Bench bench;
  bench.apply(put("a", "1"));
  bench.apply(put("b", "1"));
  CHECK(compare_holds(bench, {"a", 3, 0, 0, "1", "c"}));
  bench.apply(put("b", "2"));
  CHECK_FALSE(compare_holds(bench, {"a", 3, 0, 0, "1", "c"}));
  CHECK(compare_holds(bench, {"x", 1, 0, 0, "", "z"}));        // empty, as a missing key
  CHECK_FALSE(compare_holds(bench, {"x", 3, 3, 0, "", "z"}));  // a value of nothing
}

TEST_CASE("the chosen branch runs in order, in one revision", "[apply]") {
  Bench bench;
  bench.apply(put("d", "0"));
  const Answer answer = bench.apply(
      txn({{"d", 3, 0, 0, "0"}},
          {range("d"), del("none"), put("a", "1"), range("a", kOpenEnd), del("d"), range("d")},
          {put("z", "1")}));
  const auto result = answer.response().getTxn();
  CHECK(answer.revision() == 3);
  CHECK(result.getSucceeded());
  const auto responses = result.getResponses();
  REQUIRE(responses.size() == 6);
  CHECK(pairs_of(responses[0].getRange().getKvs()) == "d=0");
  CHECK(pairs_of(responses[3].getRange().getKvs()) == "a=1 d=0");
  CHECK(responses[4].getDeleteRange().getDeleted() == 1);
  CHECK(responses[5].getRange().getCount() == 0);
  std::vector<int64_t> revisions;
  for (auto each : responses) revisions.push_back(each.getRevision());
  CHECK(revisions == std::vector<int64_t>{2, 2, 3, 3, 3, 3});
  CHECK(bench.changes == Changes{"+a@3.0", "-d@3.1"});
}

TEST_CASE("a transaction that changes nothing carries the old revision", "[apply]") {
  Bench bench;
  bench.apply(put("a", "1"));
  const Answer answer = bench.apply(txn({}, {txn({}, {range("a")})}));
  CHECK(answer.revision() == 2);
  CHECK(bench.changes.empty());
}

TEST_CASE("nested compares see the state before the whole transaction", "[apply]") {
  Bench bench;
  const Answer answer = bench.apply(
      txn({}, {put("a", "1"), txn({{"a", 1, 0, 0}}, {put("then", "1")}, {put("else", "1")})}));
  CHECK(bench.dump() == "a=1 then=1");
  const auto nested = answer.response().getTxn().getResponses()[1];
  CHECK(nested.getRevision() == 0);  // its header is empty
  CHECK(nested.getTxn().getSucceeded());
  CHECK(nested.getTxn().getResponses()[0].getRevision() == 2);
}

TEST_CASE("a failing check anywhere in the chosen branches undoes nothing, for nothing was done",
          "[apply]") {
  Bench bench;
  bench.apply(put("a", "1"));
  bench.apply(put("a", "2"));
  bench.compact(3);
  const std::pair<Op, Code> rows[] = {
      {put("x", "1", 99), Code::kLeaseNotFound},  {keep_value(put("x", "")), Code::kKeyNotFound},
      {range("a", "", 2), Code::kCompacted},      {range("a", "", -1), Code::kCompacted},
      {range("a", "", 4), Code::kFutureRevision},
  };
  for (const auto& [failing, code] : rows) {
    CHECK(bench.apply(txn({}, {put("b", "1"), failing})).code() == code);
    CHECK(bench.apply(txn({}, {put("b", "1"), txn({}, {failing})})).code() == code);
    CHECK(bench.changes.empty());
    // The branch that is not chosen is not checked.
    CHECK(bench.apply(txn({}, {range("a")}, {failing})).code() == Code::kOk);
  }
  CHECK(bench.dump() == "a=2");
  CHECK(bench.store->revision() == 3);
}

TEST_CASE("a range inside a transaction may look back", "[apply]") {
  Bench bench;
  bench.apply(put("a", "1"));
  bench.apply(put("a", "2"));
  const Answer answer = bench.apply(txn({}, {put("a", "3"), range("a", "", 2), range("a")}));
  const auto responses = answer.response().getTxn().getResponses();
  CHECK(pairs_of(responses[1].getRange().getKvs()) == "a=1");
  CHECK(pairs_of(responses[2].getRange().getKvs()) == "a=3");
}

TEST_CASE("a damaged or illegal request in the log is answered and changes nothing", "[apply]") {
  Bench bench;
  CHECK(bench.apply(EntryKind::kClient, Bytes::copy("12345678")).code() == Code::kDamagedRequest);
  CHECK(bench.apply(put("", "1")).code() == Code::kEmptyKey);
  CHECK(bench.apply(txn({}, {put("a", "1"), put("a", "2")})).code() == Code::kDuplicateKey);
  CHECK(bench.apply(range("a")).code() == Code::kUnsupported);  // no way for a range
  CHECK(bench.store->revision() == 1);
}

TEST_CASE("limits of this member do not decide what a committed entry does", "[apply]") {
  Bench bench;
  std::vector<Op> puts;
  for (int i = 0; i < 300; ++i) puts.push_back(put("k" + std::to_string(i), "v"));
  CHECK(bench.apply(txn({}, puts)).code() == Code::kOk);
}

TEST_CASE("an entry of a kind that this version does not know stops the member", "[apply]") {
  Bench bench;
  std::string body(body_of(put("k", "v")).slice());
  body[8] = 100;
  const auto outcome =
      bench.execute({1, 1, raft::EntryType::kNormal, encode_entry(bench.header, body)});
  CHECK(outcome.status().code() == Code::kInternal);
}

TEST_CASE("the entry that begins a term does nothing", "[apply]") {
  Bench bench;
  const auto outcome = bench.execute({1, 1, raft::EntryType::kNormal, {}});
  REQUIRE(outcome.has_value());
  CHECK(outcome->status.ok());
  CHECK(outcome->reply.response.empty());
}

// ---------------------------------------------------------------- compaction

TEST_CASE("a compaction is refused at or below the last one and above the present", "[apply]") {
  Bench bench;
  CHECK(bench.compact(2).code() == Code::kFutureRevision);
  for (int i = 0; i < 5; ++i) bench.apply(put("a", std::to_string(i)));
  const Answer answer = bench.compact(6);
  CHECK(answer.code() == Code::kOk);
  CHECK(answer.revision() == 6);
  CHECK(bench.effects.compact_to == 6);
  CHECK(bench.compact(6).code() == Code::kCompacted);
  CHECK(bench.compact(5).code() == Code::kCompacted);
  CHECK(bench.compact(-1).code() == Code::kCompacted);
  CHECK(bench.store->compact_revision() == 6);
}

// ---------------------------------------------------------------- leases

TEST_CASE("a grant answers with id and the TTL as granted", "[apply]") {
  Bench bench;
  const Answer granted = bench.grant(7, 1);
  const auto lease = granted.response().getLease();
  CHECK(lease.getId() == 7);
  CHECK(lease.getTtl() == 2);  // raised to the proposer's minimum
  bench.header.lease_ttl_min = 5;
  CHECK(bench.grant(8, 1).response().getLease().getTtl() == 5);
  CHECK(bench.grant(7).code() == Code::kLeaseExists);
}

TEST_CASE("a grant without an id takes the one that prepare made", "[apply]") {
  Bench bench;
  bench.header.prepared_id = 4711;
  CHECK(bench.grant(0).response().getLease().getId() == 4711);
  CHECK(bench.lessor.exists(4711));
}

TEST_CASE("a revoke deletes the lease's keys in order, in one revision", "[apply]") {
  Bench bench;
  bench.grant(7);
  bench.apply(put("b", "1", 7));
  bench.apply(put("a", "1", 7));
  bench.apply(put("c", "1"));
  const Answer answer = bench.revoke(7);
  CHECK(answer.revision() == 5);
  CHECK(bench.changes == Changes{"-a@5.0", "-b@5.1"});
  CHECK(bench.revoke(7).code() == Code::kLeaseNotFound);
}

TEST_CASE("a revoke without keys makes no revision", "[apply]") {
  Bench bench;
  bench.grant(7);
  CHECK(bench.revoke(7).revision() == 1);
  CHECK(bench.lessor.size() == 0);
}

TEST_CASE("expiry revokes the grant that it names, and no later one", "[apply]") {
  Bench bench;
  bench.grant(7);
  const lease::Stamp old = bench.lessor.find(7)->grant;
  bench.revoke(7);
  bench.grant(7);
  bench.apply(put("a", "1", 7));
  CHECK(bench.expire(old).code() == Code::kOk);
  CHECK(bench.dump() == "a=1");
  bench.expire(bench.lessor.find(7)->grant);
  CHECK(bench.dump().empty());
  CHECK_FALSE(bench.lessor.exists(7));
  CHECK(bench.expire({99, 1, 1}).code() == Code::kOk);
}

TEST_CASE("leases, alarms and members reach the engine with the batch, and leave it", "[apply]") {
  Bench bench;
  const auto bucket = [&](storage::Bucket which) {
    return (*bench.freeze())[storage::number(which)];
  };
  bench.grant(7);
  CHECK(bucket(storage::Bucket::kLease).count(lease::lease_key(7)) == 1);
  bench.revoke(7);
  CHECK(bucket(storage::Bucket::kLease).empty());
  bench.alarm(1, 5, 1);
  CHECK(bucket(storage::Bucket::kAlarm).size() == 1);
  bench.alarm(2, 5, 1);
  CHECK(bucket(storage::Bucket::kAlarm).empty());
}

TEST_CASE("a checkpoint keeps the rest of a lease, and ignores an unknown one", "[apply]") {
  Bench bench;
  bench.grant(7, 100);
  bench.internal([](auto to) {
    auto rests = to.initLeaseCheckpoint(2);
    rests[0].setLease(7);
    rests[0].setRemainingTtl(40);
    rests[1].setLease(8);
    rests[1].setRemainingTtl(40);
  });
  CHECK(bench.lessor.find(7)->remaining_ttl == 40);
}

// ---------------------------------------------------------------- the cluster's own

TEST_CASE("the cluster version is stored once it is decided, and never goes back", "[apply]") {
  Bench bench;
  const auto set = [&](const char* text) {
    return bench.internal([&](auto to) { to.setClusterVersion(text); }).code();
  };
  CHECK(set("3.6.0") == Code::kOk);
  CHECK(bench.effects.cluster_version_changed);
  CHECK(set("3.5.0") == Code::kInvalidArgument);
  CHECK((*bench.freeze())[storage::number(storage::Bucket::kCluster)].at("clusterVersion") ==
        "3.6.0");
}

TEST_CASE("a cluster version beyond this build stops the member", "[apply]") {
  Bench bench;
  bench.header.kind = EntryKind::kInternal;
  const Bytes body = internal_body([](auto to) { to.setClusterVersion("99.0.0"); });
  CHECK(bench.execute({1, 1, raft::EntryType::kNormal, encode_entry(bench.header, body.slice())})
            .status()
            .code() == Code::kInternal);
}

TEST_CASE("a member publishes its name and client URLs", "[apply]") {
  Bench bench;
  const auto publish = [&](uint64_t id) {
    return bench.internal([&](auto to) {
      auto attributes = to.initMemberAttributes();
      attributes.setId(id);
      attributes.setName("n1");
      attributes.initClientUrls(1).set(0, "http://c:2379");
    });
  };
  CHECK(publish(5).code() == Code::kMemberNotFound);
  bench.conf_change(raft::ConfChangeType::kAddNode, {5, "", {"http://p:2380"}, {}, false});
  CHECK(publish(5).code() == Code::kOk);
  CHECK(bench.members.find(5)->name == "n1");
  CHECK((*bench.freeze())[storage::number(storage::Bucket::kMembers)].at("5") ==
        cluster::encode_member(*bench.members.find(5)));
}

TEST_CASE("auth answers that it is off, and what is not built says so", "[apply]") {
  Bench bench;
  const auto status = bench.client([](auto to) { to.initAuth().setStatus(); });
  CHECK_FALSE(status.response().getAuth().getEnabled());
  CHECK(status.response().getAuth().getAuthRevision() == 1);
  CHECK(bench.client([](auto to) { to.initAuth().initAuthenticate(); }).code() ==
        Code::kAuthNotEnabled);
  CHECK(bench.client([](auto to) { to.initAuth().setEnable(); }).code() == Code::kUnsupported);
}

}  // namespace
}  // namespace quorate::apply
