// SPDX-License-Identifier: Apache-2.0
// Several whole members in one world: real servers over virtual time, each with a disk of its own,
// and a network that can be cut.
//
//   TestCluster cluster(3);
//   cluster.start();
//   cluster.leader().put("a", "1");
//   cluster.crash(cluster.leader_at(), seed);
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "test_member.h"

namespace quorate::test {

class TestCluster {
 public:
  explicit TestCluster(size_t size, uint64_t seed = 1)
      : world(seed), network(world, seed), seed_(seed) {
    for (size_t i = 0; i < size; ++i) names_.push_back(name_of(i));
    for (size_t i = 0; i < size; ++i) add_machine(names_);
  }

  // Founds the cluster, and runs until every member is ready.
  void start() {
    for (size_t i = 0; i < members.size(); ++i) begin(i);
    REQUIRE(run_until([&] { return all_ready(); }));
  }
  void begin(size_t i) {
    const Status status = members[i]->begin();
    INFO(status.to_string());
    REQUIRE(status.ok());
  }
  void crash(size_t i, uint64_t seed) { members[i]->crash(seed); }

  bool all_ready() const {
    return std::all_of(members.begin(), members.end(),
                       [](const auto& member) { return !member->runs_now() || member->is_ready; });
  }
  // The place of the one that leads in the highest term; size() while nobody does.
  size_t leader_at() {
    size_t found = members.size();
    uint64_t term = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      if (!members[i]->runs_now()) continue;
      const server::MemberState& state = members[i]->server().state();
      if (state.role.load() != QUORATE_ROLE_LEADER || state.term.load() <= term) continue;
      found = i;
      term = state.term.load();
    }
    return found;
  }
  TestMember& leader() {
    REQUIRE(run_until([&] { return leader_at() < members.size(); }));
    return *members[leader_at()];
  }
  // Some running member that does not lead.
  size_t follower_at() {
    for (size_t i = 0; i < members.size(); ++i)
      if (members[i]->runs_now() && i != leader_at()) return i;
    FAIL("nobody follows");
    return 0;
  }

  // At most a minute of virtual time. False: the condition never came.
  template <typename Condition>
  bool run_until(Condition condition) {
    for (int i = 0; i < 6000; ++i) {
      if (condition()) return true;
      world.advance_ms(10);
    }
    return condition();
  }
  // Until all that run have applied what the leader has.
  void settle() {
    REQUIRE(run_until([&] {
      if (leader_at() == members.size()) return false;
      const uint64_t index = members[leader_at()]->server().state().commit.load();
      return std::all_of(members.begin(), members.end(), [&](const auto& member) {
        return !member->runs_now() || member->server().state().applied.load() >= index;
      });
    }));
  }
  // HashKV of member i, from its own state; 0: at its newest revision.
  uint32_t hash(size_t i, int64_t revision = 0) {
    const Answer answer = members[i]->call(hash_kv_request(revision));
    REQUIRE(answer.code == Code::kOk);
    return answer.reader().root<schema::Response>().getMaintenance().getHash().getHash();
  }
  bool same_content() {
    settle();
    // A put that still waits somewhere may come in between.
    const int64_t revision = leader().server().state().revision.load();
    uint32_t first = 0;
    bool any = false;
    for (size_t i = 0; i < members.size(); ++i) {
      if (!members[i]->runs_now()) continue;
      const uint32_t own = hash(i, revision);
      if (any && own != first) return false;
      first = own;
      any = true;
    }
    return any;
  }

  static std::string name_of(size_t i) { return std::string(1, static_cast<char>('a' + i)); }
  static std::string url_of(size_t i) { return TestMember::url_of(name_of(i)); }

  TestEnv world;
  SimNetwork network;
  std::deque<std::unique_ptr<TestMember>> members;

  // One more machine, whose --initial-cluster names `names`.
  TestMember& add_machine(const std::vector<std::string>& names) {
    const size_t i = members.size();
    members.push_back(
        std::make_unique<TestMember>(world, network, name_of(i), names, 100 * seed_ + i));
    members.back()->machine.set_disk_delay_ns(5'000'000);
    return *members.back();
  }

 private:
  const uint64_t seed_;
  std::vector<std::string> names_;
};

}  // namespace quorate::test
