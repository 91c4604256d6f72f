// SPDX-License-Identifier: Apache-2.0
// Several members of one cluster.
#include <catch2/catch.hpp>

#include "base/random.h"
#include "test_cluster.h"

namespace quorate::test {
namespace {

TEST_CASE("three members elect one leader, and a write is on all of them", "[cluster]") {
  TestCluster cluster(3);
  cluster.start();
  const int64_t revision = cluster.leader().put("a", "one");
  cluster.settle();
  for (const auto& member : cluster.members) {
    CHECK(member->count("a") == 1);
    CHECK(member->server().state().revision.load() == revision);
  }
  CHECK(cluster.same_content());
}

TEST_CASE("a follower takes writes and linearizable reads", "[cluster]") {
  TestCluster cluster(3);
  cluster.start();
  TestMember& follower = *cluster.members[cluster.follower_at()];
  const int64_t revision = follower.put("a", "one");
  CHECK(revision == 2);
  CHECK(follower.count("a") == 1);
  CHECK(cluster.leader().count("a") == 1);
}

TEST_CASE("a leader that dies is replaced at once, and nothing acknowledged is lost", "[cluster]") {
  TestCluster cluster(3);
  cluster.start();
  for (int i = 0; i < 20; ++i) cluster.leader().put("k" + std::to_string(i), "v");
  const size_t dead = cluster.leader_at();
  const uint64_t before = cluster.world.clock().now_ns();
  cluster.crash(dead, 7);
  REQUIRE(cluster.run_until([&] { return cluster.leader_at() < 3; }));
  // Its connections were reset: nobody waited for an election timeout.
  CHECK(cluster.world.clock().now_ns() - before < 900'000'000);
  CHECK(cluster.leader().count("k", "l") == 20);
  cluster.leader().put("after", "v");
  cluster.begin(dead);
  CHECK(cluster.same_content());
  CHECK(cluster.members[dead]->count("k", "l") == 20);
}

TEST_CASE("no two followers of a dead leader keep each other from being elected", "[cluster]") {
  constexpr uint64_t kMs = 1'000'000;
  const size_t size = GENERATE(3, 5);
  uint64_t longest_ns = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    TestCluster cluster(size, seed);
    for (const auto& member : cluster.members) member->machine.set_disk_delay_ns(8 * kMs);
    cluster.start();
    cluster.leader().put("a", "one");
    const uint64_t before_ns = cluster.world.clock().now_ns();
    cluster.members[cluster.leader_at()]->kill();
    REQUIRE(cluster.run_until([&] { return cluster.leader_at() < size; }));
    longest_ns = std::max(longest_ns, cluster.world.clock().now_ns() - before_ns);
  }
  // The shortest election timeout.
  CHECK(longest_ns < 1000 * kMs);
}

TEST_CASE("a leader that is cut off acknowledges nothing and steps down", "[cluster]") {
  TestCluster cluster(3);
  cluster.start();
  cluster.leader().put("a", "one");
  const size_t old = cluster.leader_at();
  for (size_t i = 0; i < 3; ++i)
    if (i != old) cluster.network.cut_both(TestCluster::url_of(old), TestCluster::url_of(i));
  const auto lost = cluster.members[old]->send(put_request("a", "two"));
  REQUIRE(cluster.run_until([&] {
    return cluster.leader_at() != old && cluster.leader_at() < 3 &&
           cluster.members[old]->server().state().role.load() != QUORATE_ROLE_LEADER;
  }));
  cluster.leader().put("a", "three");
  REQUIRE(cluster.run_until([&] { return lost->done(); }));
  CHECK(lost->code != Code::kOk);
  cluster.network.heal();
  CHECK(cluster.same_content());
  CHECK(cluster.leader().runs("a").find("three") != std::string::npos);
}

TEST_CASE("a member that was down for long is fed from the log", "[cluster]") {
  TestCluster cluster(3);
  cluster.start();
  const size_t down = cluster.follower_at();
  cluster.crash(down, 3);
  for (int i = 0; i < 300; ++i) cluster.leader().put("k" + std::to_string(i), "v");
  cluster.begin(down);
  CHECK(cluster.same_content());
  CHECK(cluster.network.snapshots() == 0);
}

TEST_CASE("a lease is kept alive through any member", "[cluster]") {
  TestCluster cluster(3);
  cluster.start();
  const size_t follower = cluster.follower_at();
  const Answer granted = cluster.members[follower]->call(grant_request(5, 7));
  REQUIRE(granted.code == Code::kOk);
  cluster.leader().put("k", "v", 7);
  for (int i = 0; i < 10; ++i) {
    cluster.world.advance_ms(1000);
    const Answer kept = cluster.members[follower]->call(keep_alive_request(7));
    REQUIRE(kept.code == Code::kOk);
    CHECK(kept.reader().root<schema::Response>().getLease().getTtl() == 5);
    CHECK(kept.reader().root<schema::Response>().getHeader().getMemberId() ==
          cluster.members[follower]->server().state().member_id);
  }
  CHECK(cluster.leader().count("k") == 1);
  cluster.world.advance_ms(8000);
  CHECK(cluster.leader().count("k") == 0);
  CHECK(cluster.same_content());
}

// What was sent, and what came of it.
class Writes {
 public:
  void put(TestMember& member, const std::string& key) {
    written_.push_back({key, member.send(put_request(key, "v"))});
  }
  // Every acknowledged write is there. The number of them.
  size_t check_kept(TestCluster& cluster) const {
    size_t acknowledged = 0;
    for (const auto& [key, answer] : written_) {
      if (!answer->done() || answer->code != Code::kOk) continue;
      ++acknowledged;
      INFO("key " << key);
      CHECK(cluster.leader().count(key) == 1);
    }
    return acknowledged;
  }

 private:
  std::vector<std::pair<std::string, std::shared_ptr<Answer>>> written_;
};

TEST_CASE("the power fails for all at any moment, and no acknowledged write is lost", "[cluster]") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    INFO("seed " << seed);
    TestCluster cluster(3, seed);
    Random random(seed);
    cluster.start();
    Writes writes;
    size_t acknowledged = 0;
    for (int round = 0; round < 8; ++round) {
      for (int turn = 0; turn < 200; ++turn) {
        const size_t at = random.below(3);
        if (random.one_in(4))
          writes.put(*cluster.members[at], std::to_string(round) + "/" + std::to_string(turn));
        // Much less than a sync takes, or the way to a peer and back.
        if (!cluster.world.run_one()) cluster.world.advance_ns(random.below(500'000));
      }
      for (size_t i = 0; i < 3; ++i) cluster.crash(i, random.next());
      for (size_t i = 0; i < 3; ++i) cluster.begin(i);
      REQUIRE(cluster.run_until([&] { return cluster.all_ready(); }));
      acknowledged = writes.check_kept(cluster);
    }
    CHECK(cluster.same_content());
    CHECK(acknowledged > 20);
  }
}

TEST_CASE("every member fails now and then, and no acknowledged write is lost", "[cluster]") {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    INFO("seed " << seed);
    TestCluster cluster(3, seed);
    Random random(seed);
    cluster.start();
    cluster.network.lose_one_in(50);
    Writes writes;
    for (int step = 0; step < 120; ++step) {
      for (size_t i = 0; i < 3; ++i) {
        if (!cluster.members[i]->runs_now() || !cluster.members[i]->is_ready) continue;
        writes.put(*cluster.members[i], std::to_string(step) + "/" + std::to_string(i));
      }
      cluster.world.advance_ms(random.below(100));
      if (random.one_in(10)) {
        const size_t victim = random.below(3);
        if (cluster.members[victim]->runs_now()) cluster.crash(victim, random.next());
      }
      if (random.one_in(8)) {
        cluster.network.cut(TestCluster::url_of(random.below(3)),
                            TestCluster::url_of(random.below(3)));
      }
      if (random.one_in(6)) cluster.network.heal();
      for (size_t i = 0; i < 3; ++i)
        if (!cluster.members[i]->runs_now() && random.one_in(5)) cluster.begin(i);
    }
    cluster.network.heal();
    cluster.network.lose_one_in(0);
    for (size_t i = 0; i < 3; ++i)
      if (!cluster.members[i]->runs_now()) cluster.begin(i);
    REQUIRE(cluster.run_until([&] { return cluster.all_ready(); }));
    CHECK(cluster.same_content());
    CHECK(writes.check_kept(cluster) > 50);
  }
}

}  // namespace
}  // namespace quorate::test
