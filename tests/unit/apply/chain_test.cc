// SPDX-License-Identifier: Apache-2.0
#include "apply/chain.h"

#include "apply/auth_applier.h"
#include "base/random.h"
#include "unit/apply/bench.h"

namespace quorate::apply {
namespace {

enum { kGet = 0, kActivate = 1, kDeactivate = 2 };
enum { kNoSpace = 1, kCorrupt = 2 };

// ---------------------------------------------------------------- alarms

TEST_CASE("a NOSPACE alarm refuses what adds data, from the next entry on", "[chain]") {
  Bench bench;
  bench.grant(7);
  bench.apply(put("a", "1", 7));
  bench.alarm(kActivate, 5, kNoSpace);
  CHECK(bench.effects.alarms_changed);
  const Code full = Code::kQuotaExceeded;
  CHECK(bench.apply(put("b", "1")).code() == full);
  CHECK(bench.grant(8).code() == full);
  CHECK(bench.apply(txn({}, {range("a")}, {put("b", "1")})).code() == full);
  CHECK(bench.apply(txn({}, {del("x")})).code() == Code::kOk);
  CHECK(bench.apply(del("a")).code() == Code::kOk);
  CHECK(bench.compact(2).code() == Code::kOk);
  CHECK(bench.revoke(7).code() == Code::kOk);
  bench.alarm(kDeactivate, 5, kNoSpace);
  CHECK(bench.apply(put("b", "1")).code() == Code::kOk);
}

TEST_CASE("a CORRUPT alarm refuses every change of keys and leases, and outranks NOSPACE",
          "[chain]") {
  Bench bench;
  bench.grant(7);
  bench.apply(put("a", "1", 7));
  bench.alarm(kActivate, 5, kNoSpace);
  bench.alarm(kActivate, 5, kCorrupt);
  const Code corrupt = Code::kCorruptCluster;
  CHECK(bench.apply(put("b", "1")).code() == corrupt);
  CHECK(bench.apply(del("a")).code() == corrupt);
  CHECK(bench.apply(txn({}, {txn({}, {range("a")})})).code() == corrupt);
  CHECK(bench.compact(2).code() == corrupt);
  CHECK(bench.grant(8).code() == corrupt);
  CHECK(bench.revoke(7).code() == corrupt);
  CHECK(bench.expire(bench.lessor.find(7)->grant).code() == corrupt);
  CHECK(bench.conf_change(raft::ConfChangeType::kAddNode, {5, "", {"u"}, {}, false}).code() ==
        Code::kOk);
  CHECK(bench.client([](auto to) { to.initAuth().setStatus(); }).code() == Code::kOk);
  bench.alarm(kDeactivate, 5, kCorrupt);
  CHECK(bench.apply(put("b", "1")).code() == Code::kQuotaExceeded);
}

TEST_CASE("alarms are listed by type, raised once, and answered when they change", "[chain]") {
  Bench bench;
  const auto alarms = [](const Answer& answer) {
    std::string text;
    for (auto alarm : answer.response().getMaintenance().getAlarms()) {
      text += std::to_string(alarm.getMemberId()) + ":" + std::to_string(alarm.getType()) + " ";
    }
    return text;
  };
  CHECK(alarms(bench.alarm(kActivate, 5, kNoSpace)) == "5:1 ");
  CHECK(alarms(bench.alarm(kActivate, 5, kNoSpace)) == "5:1 ");
  CHECK(alarms(bench.alarm(kActivate, 6, kCorrupt)) == "6:2 ");
  CHECK(alarms(bench.alarm(kActivate, 6, 0)).empty());
  CHECK(alarms(bench.alarm(kActivate, 6, 9)).empty());
  CHECK(alarms(bench.alarm(kGet, 0, 0)) == "5:1 6:2 ");
  CHECK(alarms(bench.alarm(kGet, 5, kCorrupt)) == "6:2 ");
  CHECK(alarms(bench.alarm(kDeactivate, 5, kCorrupt)).empty());
  CHECK(alarms(bench.alarm(kDeactivate, 5, kNoSpace)) == "5:1 ");
  CHECK(alarms(bench.alarm(kGet, 0, 0)) == "6:2 ");
}

TEST_CASE("the kernel raises an alarm by an entry of its own", "[chain]") {
  Bench bench;
  bench.internal([](auto to) {
    to.initRaiseAlarm().setMemberId(5);
    to.getRaiseAlarm().setType(kNoSpace);
  });
  CHECK(bench.apply(put("a", "1")).code() == Code::kQuotaExceeded);
}

TEST_CASE("the quota counts what took effect and nothing else", "[chain]") {
  Bench bench;
  bench.apply(put("a", "1"));
  bench.apply(put("b", "1", 99));
  bench.apply(del("a"));
  CHECK(bench.effects.added_bytes == 258);
}

// ---------------------------------------------------------------- auth

// Allows one user to read below "r" and to write below "w", and one to do everything.
class FakeAuth final : public auth::AuthStore {
 public:
  bool enabled() const override { return true; }
  uint64_t revision() const override { return 3; }
  Status check_user(const auth::Identity& who) const override {
    return who.user.empty() ? Status(Code::kUserEmpty, "") : Status();
  }
  Status check_admin(const auth::Identity& who) const override {
    QUORATE_TRY(check_user(who));
    return who.user == "root" ? Status() : denied();
  }
  Status check_read(const auth::Identity& who, const KeyRange& range) const override {
    return check(who, range, "r");
  }
  Status check_write(const auth::Identity& who, const KeyRange& range) const override {
    return check(who, range, "w");
  }

 private:
  static Status denied() { return Status(Code::kPermissionDenied, ""); }
  Status check(const auth::Identity& who, const KeyRange& range, Slice prefix) const {
    QUORATE_TRY(check_user(who));
    if (who.user == "root") return Status();
    return range.single && range.begin.substr(0, 1) == prefix ? Status() : denied();
  }
};

struct AuthBench {
  FakeAuth auth;
  Bench bench{&auth};
  Code as(Slice user, const Op& op) {
    bench.header.user = user;
    return bench.apply(op).code();
  }
};

TEST_CASE("every operation of both branches needs its permission", "[chain]") {
  AuthBench auth;
  const Code denied = Code::kPermissionDenied;
  CHECK(auth.as("u", put("w", "1")) == Code::kOk);
  CHECK(auth.as("u", put("x", "1")) == denied);
  CHECK(auth.as("u", with_prev(put("w", "1"))) == denied);
  CHECK(auth.as("u", del("w")) == Code::kOk);
  CHECK(auth.as("u", del("w", "x")) == denied);
  CHECK(auth.as("u", with_prev(del("w"))) == denied);
  CHECK(auth.as("u", txn({{"r"}}, {put("w", "1")})) == Code::kOk);
  CHECK(auth.as("u", txn({{"w"}}, {put("w", "1")})) == denied);
  CHECK(auth.as("u", txn({}, {put("w", "1")}, {put("x", "1")})) == denied);
  CHECK(auth.as("u", txn({}, {put("w", "1"), txn({}, {}, {range("x")})})) == denied);
  CHECK(auth.as("u", txn({}, {txn({{"x"}}, {put("w", "1")})})) == denied);
  CHECK(auth.as("root", txn({{"x"}}, {put("x", "1")})) == Code::kOk);
  CHECK(auth.as("", put("w", "1")) == Code::kUserEmpty);
}

TEST_CASE("a lease with a key that the user may not write is out of reach", "[chain]") {
  AuthBench auth;
  auth.bench.header.user = "root";
  auth.bench.grant(7);
  auth.bench.apply(put("x", "1", 7));
  CHECK(auth.as("u", put("w", "1", 7)) == Code::kPermissionDenied);
  CHECK(auth.bench.revoke(7).code() == Code::kPermissionDenied);
  auth.bench.header.user = "root";
  CHECK(auth.bench.revoke(7).code() == Code::kOk);
}

TEST_CASE("administration needs root, and the kernel's own entries need nobody", "[chain]") {
  AuthBench auth;
  auth.bench.header.user = "u";
  CHECK(auth.bench.compact(1).code() == Code::kPermissionDenied);
  CHECK(auth.bench.alarm(kActivate, 1, kNoSpace).code() == Code::kPermissionDenied);
  CHECK(auth.bench.alarm(kGet, 0, 0).code() == Code::kOk);
  CHECK(auth.bench.conf_change(raft::ConfChangeType::kAddNode, {5, "", {"u"}, {}, false}).code() ==
        Code::kPermissionDenied);
  auth.bench.header.user = "";
  CHECK(auth.bench.grant(7).code() == Code::kUserEmpty);
  auth.bench.header.request_id = 1;
  CHECK(auth.bench.conf_change(raft::ConfChangeType::kAddNode, {5, "", {"u"}, {}, false}).code() ==
        Code::kUserEmpty);
  auth.bench.header.request_id = 0;
  CHECK(auth.bench.conf_change(raft::ConfChangeType::kAddNode, {5, "", {"u"}, {}, false}).code() ==
        Code::kOk);
  CHECK(auth.bench.internal([](auto to) { to.setClusterVersion("3.6.0"); }).code() == Code::kOk);
}

// ---------------------------------------------------------------- configuration

using raft::ConfChangeType;

cluster::Member member(uint64_t id, const char* url) {
  return {id, "", {url}, {}, false};
}

TEST_CASE("the first entry makes this member a voter, and it is stored", "[chain]") {
  Bench bench;
  cluster::Member self = member(5, "http://a:2380");
  self.name = "n1";
  const Answer answer = bench.conf_change(ConfChangeType::kAddNode, self);
  REQUIRE(answer.code() == Code::kOk);
  CHECK(bench.conf_state.voters == std::vector<raft::NodeId>{5});
  CHECK(answer.conf_state == bench.conf_state);
  CHECK(bench.store->applied().conf_state == bench.conf_state);
  CHECK(bench.effects.members_changed);
  CHECK(answer.revision() == 0);
  const auto result = answer.response().getCluster();
  CHECK(result.getMember().getId() == 5);
  REQUIRE(result.getMembers().size() == 1);
  CHECK(result.getMembers()[0].getName() == "n1");
  CHECK((*bench.freeze())[storage::number(storage::Bucket::kMembers)].count("5") == 1);
}

TEST_CASE("a refused change leaves members and conf state as they were, and says so", "[chain]") {
  Bench bench;
  bench.conf_change(ConfChangeType::kAddNode, member(5, "a"));
  const raft::ConfState before = bench.conf_state;
  const std::pair<Answer, Code> rows[] = {
      {bench.conf_change(ConfChangeType::kAddNode, member(5, "b")), Code::kMemberExists},
      {bench.conf_change(ConfChangeType::kAddNode, member(6, "a")), Code::kPeerUrlExists},
      {bench.conf_change(ConfChangeType::kRemoveNode, member(7, "")), Code::kMemberNotFound},
      {bench.conf_change(ConfChangeType::kUpdateNode, member(7, "")), Code::kMemberNotFound},
  };
  for (const auto& [answer, code] : rows) {
    CHECK(answer.code() == code);
    CHECK(answer.conf_state == before);
  }
  CHECK(bench.conf_state == before);
  CHECK(bench.members.size() == 1);
}

TEST_CASE("a learner is added, promoted, moved and removed for ever", "[chain]") {
  Bench bench;
  bench.conf_change(ConfChangeType::kAddNode, member(5, "a"));
  CHECK(bench.conf_change(ConfChangeType::kAddLearner, member(6, "b")).code() == Code::kOk);
  CHECK(bench.conf_state.learners == std::vector<raft::NodeId>{6});
  CHECK(bench.members.find(6)->learner);
  CHECK(bench.conf_change(ConfChangeType::kUpdateNode, member(6, "c")).code() == Code::kOk);
  CHECK(bench.members.find(6)->peer_urls == std::vector<std::string>{"c"});
  CHECK(bench.conf_change(ConfChangeType::kAddNode, member(6, "c")).code() == Code::kOk);
  CHECK_FALSE(bench.members.find(6)->learner);
  CHECK(bench.conf_state.voters == std::vector<raft::NodeId>{5, 6});
  CHECK(bench.conf_change(ConfChangeType::kRemoveNode, member(6, "")).code() == Code::kOk);
  CHECK(bench.conf_state.voters == std::vector<raft::NodeId>{5});
  CHECK(bench.conf_change(ConfChangeType::kAddNode, member(6, "d")).code() ==
        Code::kMemberNotFound);
  const auto content = bench.freeze();
  CHECK((*content)[storage::number(storage::Bucket::kMembers)].count("6") == 0);
  CHECK((*content)[storage::number(storage::Bucket::kMembersRemoved)].at("6") == "removed");
}

TEST_CASE("an entry whose header contradicts its type is no entry of ours", "[chain]") {
  EntryHeader header;
  const Bytes client = encode_entry(header, body_of(put("a", "1")).slice());
  raft::Entry change{1, 1, raft::EntryType::kConfChange,
                     raft::encode_conf_change({}, client.slice())};
  CHECK(decode_committed(change).status().code() == Code::kCorrupt);
  header.kind = EntryKind::kConfChange;
  const raft::Entry normal{1, 1, raft::EntryType::kNormal, encode_entry(header, "{}")};
  CHECK(decode_committed(normal).status().code() == Code::kCorrupt);
  CHECK(decode_committed({1, 1, raft::EntryType::kNormal, Bytes::copy("x")}).status().code() ==
        Code::kCorrupt);
}

// ---------------------------------------------------------------- determinism

Op random_op(Random& random, int depth) {
  const auto key = [&] { return std::string(1, static_cast<char>('a' + random.below(6))); };
  switch (random.below(depth > 0 ? 6 : 5)) {
    case 0:
    case 1: {
      Op op = put(key(), std::to_string(random.below(100)), static_cast<int64_t>(random.below(3)));
      op.ignore_value = random.one_in(6);
      if (op.ignore_value) op.value.clear();
      op.prev_kv = random.one_in(2);
      return op;
    }
    case 2: return del(key());
    case 3: return with_prev(del(key(), key()));
    case 4: return range(key(), kOpenEnd, static_cast<int64_t>(random.below(20)));
    default: break;
  }
  Op op = txn({{key(), static_cast<int32_t>(random.below(5)), static_cast<int32_t>(random.below(4)),
                static_cast<int64_t>(random.below(8)), "5", ""}},
              {});
  for (uint64_t n = random.below(4); n > 0; --n) op.success.push_back(random_op(random, depth - 1));
  for (uint64_t n = random.below(4); n > 0; --n) op.failure.push_back(random_op(random, depth - 1));
  return op;
}

// One member's history; what it does is drawn from the seed alone.
void run_history(Bench& bench, uint64_t seed, std::vector<std::string>& trace) {
  Random random(seed);
  for (int step = 0; step < 150; ++step) {
    Answer answer;
    switch (random.below(12)) {
      case 0: answer = bench.grant(static_cast<int64_t>(1 + random.below(2))); break;
      case 1: answer = bench.revoke(static_cast<int64_t>(1 + random.below(2))); break;
      case 2: answer = bench.compact(static_cast<int64_t>(random.below(60))); break;
      case 3: answer = bench.alarm(static_cast<int32_t>(1 + random.below(2)), 1, kNoSpace); break;
      default: answer = bench.apply(random_op(random, 2)); break;
    }
    trace.push_back(std::to_string(static_cast<int>(answer.code())) + ":" +
                    std::string(answer.bytes.slice()));
  }
}

TEST_CASE("the same entries give the same answers and the same state, wanted or not", "[chain]") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Bench one, two, silent;
    silent.wanted = false;
    std::vector<std::string> first, second, none;
    run_history(one, seed, first);
    run_history(two, seed, second);
    run_history(silent, seed, none);
    REQUIRE(first == second);
    CHECK(one.store->applied().state_hash == two.store->applied().state_hash);
    CHECK(one.store->applied().state_hash == silent.store->applied().state_hash);
    CHECK(one.dump() == silent.dump());
    CHECK(*one.freeze() == *silent.freeze());
  }
}

}  // namespace
}  // namespace quorate::apply
