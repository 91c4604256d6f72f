// SPDX-License-Identifier: Apache-2.0
// Members whose data parts: an engine that lies to apply on some of them.
#include <catch2/catch.hpp>

#include "lying_engine.h"
#include "server/corruption_check.h"
#include "test_cluster.h"

extern "C" const quorate_plugin* quorate_static_backend_lmdb(void);

namespace quorate::test {
namespace {

using Verdict = server::CorruptionCheck::Verdict;
using LyingMemory = LyingEngine<quorate_static_backend_memory, '0'>;
using OtherLyingMemory = LyingEngine<quorate_static_backend_memory, '1'>;
using LyingLmdb = LyingEngine<quorate_static_backend_lmdb, '0'>;

Bytes alarm_request(int32_t action, uint64_t member = 0) {
  return request([&](schema::Request::Builder root) {
    auto alarm = root.initMaintenance().initAlarm();
    alarm.setAction(action);
    alarm.setMemberId(member);
    alarm.setAlarm(action == 0 ? 0 : 2);
  });
}

void compare_trap(schema::TxnRequest::Builder txn, std::string_view with) {
  auto compare = txn.initCompare(1)[0];
  compare.setTarget(3);
  compare.setKey(data("trap"));
  compare.setValue(data(with));
}
void put_key(schema::RequestOp::Builder op, std::string_view key) {
  auto put = op.initPut();
  put.setKey(data(key));
  put.setValue(data("v"));
}

// Puts `a` where the trap reads as what was put there, `b` or `c` where it is a lie.
Bytes trap_request() {
  return request([](schema::Request::Builder root) {
    auto txn = root.initTxn();
    compare_trap(txn, "truth");
    put_key(txn.initSuccess(1)[0], "a");
    auto inner = txn.initFailure(1)[0].initTxn();
    compare_trap(inner, "00000");
    put_key(inner.initSuccess(1)[0], "b");
    put_key(inner.initFailure(1)[0], "c");
  });
}

class Parting : public TestCluster {
 public:
  explicit Parting(size_t size) : TestCluster(size) {}
  void make_liar(size_t i, const quorate_plugin* engine) {
    members[i]->more_plugins.push_back({"backend_liar", engine});
    members[i]->config.backend.name = "liar";
  }
  // From here on the liars' data is another.
  void part() {
    leader().put("trap", "truth");
    settle();
    world.advance_ms(1000);  // the engines have it
    const Lies lies(true);
    REQUIRE(leader().call(trap_request()).code == Code::kOk);
    settle();
  }
  const server::MemberState& state(size_t i) { return members[i]->server().state(); }
  Verdict verdict(size_t i) { return static_cast<Verdict>(state(i).hashes.verdict.load()); }
  uint64_t id(size_t i) { return state(i).member_id; }
  bool fenced(size_t i) { return state(i).fenced.load(); }
  bool alarmed(size_t i) { return (state(i).alarms.load() & QUORATE_ALARM_CORRUPT) != 0; }
  bool all_alarmed() {
    for (size_t i = 0; i < members.size(); ++i)
      if (members[i]->runs_now() && !alarmed(i)) return false;
    return true;
  }
  // As member i lists them.
  std::vector<uint64_t> named(size_t i) {
    const Answer answer = members[i]->call(alarm_request(0));
    REQUIRE(answer.code == Code::kOk);
    std::vector<uint64_t> ids;
    schema::SegmentReader reader = answer.reader();
    for (const auto alarm : reader.root<schema::Response>().getMaintenance().getAlarms()) {
      CHECK(alarm.getType() == 2);
      ids.push_back(alarm.getMemberId());
    }
    return ids;
  }
  void lead(size_t i) {
    if (leader_at() != i) {
      const uint64_t target = id(i);
      leader().send(request(
          [&](schema::Request::Builder root) { root.initMaintenance().setMoveLeader(target); }));
    }
    REQUIRE(run_until([&] { return leader_at() == i; }));
  }
};

TEST_CASE("members that agree are told so, at an index they have all applied", "[corruption]") {
  TestCluster cluster(3);
  cluster.start();
  for (int i = 0; i < 50; ++i) cluster.leader().put("k" + std::to_string(i), "v");
  cluster.leader().call(grant_request(1000, 7));
  cluster.leader().call(compact_request(20));
  cluster.settle();
  cluster.world.advance_ms(3000);
  for (const auto& member : cluster.members) {
    const server::MemberState& state = member->server().state();
    CHECK(state.hashes.verdict.load() == static_cast<uint32_t>(Verdict::kEqual));
    CHECK(state.hashes.equal.load() == 2);
    CHECK(state.hashes.compared_index.load() == state.applied.load());
    CHECK(state.alarms.load() == 0);
    const std::string metrics = member->server().metrics().render();
    CHECK(metrics.find("quorate_state_hash_verdict{verdict=\"equal\"} 1\n") != std::string::npos);
    CHECK(metrics.find("quorate_state_hash_members{compared=\"equal\"} 2\n") != std::string::npos);
  }
}

TEST_CASE("the one of three that parts from the others is named, and serves nobody",
          "[corruption]") {
  for (const bool leads : {false, true}) {
    INFO("the liar leads: " << leads);
    Parting cluster(3);
    cluster.make_liar(2, LyingMemory::plugin());
    cluster.start();
    cluster.lead(leads ? 2 : 0);
    const uint64_t stream = cluster.members[2]->open_watches();
    cluster.members[2]->services()->watch_add(cluster.members[2]->services()->ctx, stream, 1,
                                              to_c(watch_request("z", "", 0).slice()));
    cluster.part();
    REQUIRE(cluster.run_until([&] { return cluster.fenced(2) && cluster.all_alarmed(); }));

    CHECK(cluster.verdict(2) == Verdict::kDiffers);
    REQUIRE(cluster.run_until([&] { return cluster.leader_at() < 2; }));
    CHECK(cluster.named(0) == std::vector<uint64_t>{cluster.id(2)});
    CHECK(cluster.named(2) == std::vector<uint64_t>{cluster.id(2)});
    TestMember& liar = *cluster.members[2];
    CHECK(liar.call(range_request("a")).code == Code::kCorruptCluster);
    CHECK(liar.call(range_request("a", "", 0, true)).code == Code::kCorruptCluster);
    CHECK(liar.call(put_request("c", "v")).code == Code::kCorruptCluster);
    CHECK(liar.call(keep_alive_request(7)).code == Code::kCorruptCluster);
    REQUIRE(!liar.watched.empty());
    CHECK(liar.watched.back().kind == QUORATE_WATCH_CLOSED);
    CHECK(liar.watched.back().code == Code::kCorruptCluster);

    // The others read on, and write nothing until the alarm is off, as etcd.
    for (size_t i = 0; i < 2; ++i) {
      CHECK(cluster.verdict(i) == Verdict::kEqual);
      CHECK_FALSE(cluster.fenced(i));
      CHECK(cluster.members[i]->count("a") == 1);
      CHECK(cluster.members[i]->call(put_request("c", "v")).code == Code::kCorruptCluster);
    }
  }
}

TEST_CASE("an alarm that is disarmed while the damage is there comes back", "[corruption]") {
  Parting cluster(3);
  cluster.make_liar(2, LyingMemory::plugin());
  cluster.start();
  cluster.part();
  REQUIRE(cluster.run_until([&] { return cluster.all_alarmed(); }));
  REQUIRE(cluster.members[0]->call(alarm_request(2, cluster.id(2))).code == Code::kOk);
  REQUIRE(cluster.run_until([&] { return !cluster.alarmed(0); }));
  CHECK(cluster.fenced(2));
  REQUIRE(cluster.run_until([&] { return cluster.all_alarmed(); }));
}

TEST_CASE("removing the damaged member and disarming heals the cluster", "[corruption]") {
  Parting cluster(3);
  cluster.make_liar(2, LyingMemory::plugin());
  cluster.start();
  cluster.part();
  REQUIRE(cluster.run_until([&] { return cluster.all_alarmed() && cluster.leader_at() < 2; }));
  cluster.world.advance_ms(6000);  // connected for long enough to change
  const uint64_t damaged = cluster.id(2);
  const Answer removal = cluster.members[0]->call(
      request([&](schema::Request::Builder root) { root.initCluster().setRemove(damaged); }));
  REQUIRE(removal.code == Code::kOk);
  REQUIRE(cluster.members[0]->call(alarm_request(2, damaged)).code == Code::kOk);
  cluster.world.advance_ms(5000);
  cluster.members[0]->put("c", "v");
  CHECK_FALSE(cluster.alarmed(0));
}

TEST_CASE("a damaged member stays out after a restart, before and after it is compared",
          "[corruption]") {
  Parting cluster(3);
  for (size_t i = 0; i < 3; ++i) {
    cluster.members[i]->more_plugins.push_back({"backend_lmdb", quorate_static_backend_lmdb()});
    cluster.members[i]->config.backend.name = "lmdb";
  }
  cluster.make_liar(2, LyingLmdb::plugin());
  cluster.start();
  cluster.part();
  REQUIRE(cluster.run_until([&] { return cluster.fenced(2) && cluster.all_alarmed(); }));
  cluster.world.advance_ms(1000);
  cluster.members[2]->kill();
  cluster.begin(2);
  CHECK(cluster.alarmed(2));
  CHECK(cluster.fenced(2));
  CHECK(cluster.verdict(2) == Verdict::kNotCompared);
  CHECK(cluster.members[2]->call(range_request("a", "", 0, true)).code == Code::kCorruptCluster);
  REQUIRE(cluster.run_until([&] { return cluster.verdict(2) == Verdict::kDiffers; }));
  CHECK(cluster.fenced(2));

  // The others come back with the alarm, and read on once they know that they are right.
  cluster.members[0]->kill();
  cluster.begin(0);
  REQUIRE(cluster.run_until([&] { return cluster.verdict(0) == Verdict::kEqual; }));
  CHECK(cluster.alarmed(0));
  CHECK_FALSE(cluster.fenced(0));
  CHECK(cluster.members[0]->count("a") == 1);
}

TEST_CASE("two members that differ raise an alarm that names nobody", "[corruption]") {
  Parting cluster(2);
  cluster.make_liar(1, LyingMemory::plugin());
  cluster.start();
  cluster.part();
  REQUIRE(cluster.run_until([&] { return cluster.all_alarmed(); }));
  CHECK(cluster.named(0) == std::vector<uint64_t>{0});
  for (size_t i = 0; i < 2; ++i) {
    CHECK(cluster.verdict(i) == Verdict::kDisputed);
    CHECK(cluster.members[i]->call(put_request("c", "v")).code == Code::kCorruptCluster);
    CHECK(cluster.members[i]->call(range_request("a")).code == Code::kOk);
  }
}

TEST_CASE("three members with three states raise an alarm that names nobody", "[corruption]") {
  Parting cluster(3);
  cluster.make_liar(1, LyingMemory::plugin());
  cluster.make_liar(2, OtherLyingMemory::plugin());
  cluster.start();
  cluster.part();
  REQUIRE(cluster.run_until([&] { return cluster.all_alarmed(); }));
  CHECK(cluster.named(0) == std::vector<uint64_t>{0});
  for (size_t i = 0; i < 3; ++i) CHECK_FALSE(cluster.fenced(i));
}

TEST_CASE("a member that cannot be reached is not compared", "[corruption]") {
  Parting cluster(3);
  cluster.start();
  const size_t away = cluster.follower_at();
  for (size_t i = 0; i < 3; ++i)
    if (i != away) cluster.network.cut_both(TestCluster::url_of(away), TestCluster::url_of(i));
  cluster.leader().put("a", "v");
  cluster.world.advance_ms(10'000);
  CHECK(cluster.verdict(away) == Verdict::kNotCompared);
  CHECK(cluster.state(away).hashes.not_compared.load() == 2);
  const size_t leads = cluster.leader_at();
  CHECK(cluster.verdict(leads) == Verdict::kEqual);
  CHECK(cluster.state(leads).hashes.not_compared.load() == 1);
  const std::string metrics = cluster.members[away]->server().metrics().render();
  CHECK(metrics.find("quorate_state_hash_verdict{verdict=\"not_compared\"} 1\n") !=
        std::string::npos);
  CHECK(metrics.find("quorate_state_hash_verdict{verdict=\"equal\"} 0\n") != std::string::npos);

  cluster.network.heal();
  REQUIRE(cluster.run_until([&] { return cluster.verdict(away) == Verdict::kEqual; }));
  CHECK(cluster.state(away).alarms.load() == 0);
}

TEST_CASE("an alarm that a person sets on an undamaged member does not keep it from reading",
          "[corruption]") {
  SECTION("alone") {
    TestMember member;
    member.start();
    member.put("a", "v");
    REQUIRE(member.call(alarm_request(1, member.server().state().member_id)).code == Code::kOk);
    CHECK(member.call(put_request("b", "v")).code == Code::kCorruptCluster);
    CHECK(member.count("a") == 1);
  }
  SECTION("among others") {
    Parting cluster(3);
    cluster.start();
    REQUIRE(cluster.run_until([&] { return cluster.verdict(1) == Verdict::kEqual; }));
    REQUIRE(cluster.members[0]->call(alarm_request(1, cluster.id(1))).code == Code::kOk);
    cluster.settle();
    CHECK(cluster.members[1]->count("a") == 0);
    CHECK_FALSE(cluster.fenced(1));
  }
}

// Compactions, lost messages, crashes and a snapshot that is installed, all the while compared.
TEST_CASE("no false alarm while members compact, crash, lag and install snapshots",
          "[corruption]") {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    INFO("seed " << seed);
    TestCluster cluster(3, seed);
    for (const auto& member : cluster.members) {
      member->config.state_hash_interval_ms = 20;
      member->config.wal_segment_bytes = 64 << 10;
      member->config.wal_keep_bytes_max = 128 << 10;
      member->config.log_memory_bytes_max = 32 << 10;
      member->more_plugins.push_back({"backend_lmdb", quorate_static_backend_lmdb()});
      member->config.backend.name = "lmdb";
    }
    cluster.start();
    cluster.network.lose_one_in(50);
    Random random(seed);
    for (int round = 0; round < 4; ++round) {
      const size_t away = random.below(3);
      cluster.members[away]->kill();
      for (int i = 0; i < 60; ++i) {
        cluster.leader().send(put_request("k" + std::to_string(i % 7), std::string(8'000, 'v')));
        if (i % 20 == 19) {
          const int64_t revision = cluster.leader().server().state().revision.load();
          cluster.leader().send(compact_request(revision));
        }
        cluster.world.advance_ms(20);
      }
      cluster.begin(away);
      cluster.settle();
    }
    cluster.network.lose_one_in(0);
    CHECK(cluster.network.snapshots() > 0);
    cluster.settle();
    cluster.world.advance_ms(3000);
    for (const auto& member : cluster.members) {
      const server::MemberState& state = member->server().state();
      CHECK(state.alarms.load() == 0);
      CHECK(state.hashes.verdict.load() == static_cast<uint32_t>(Verdict::kEqual));
      CHECK(state.hashes.equal.load() == 2);
    }
  }
}

TEST_CASE("an entry that cannot be applied ends the member with a sentence", "[corruption]") {
  TestMember member;
  member.more_plugins.push_back({"backend_liar", LyingMemory::plugin()});
  member.config.backend.name = "liar";
  member.start();
  member.put("trap", "truth");
  member.env.advance_ms(1000);  // the engine has it
  const Fails fails(true);
  const auto answer = member.send(trap_request());
  member.env.advance_ms(500);
  CHECK(member.failure.to_string() ==
        "internal: the storage engine failed: io_error: liar: get: io_error");
  CHECK_FALSE(answer->done());
}

}  // namespace
}  // namespace quorate::test
