// SPDX-License-Identifier: Apache-2.0
// What waits in a member while nobody leads.
#include "test_cluster.h"

namespace quorate::test {
namespace {

struct Leaderless : TestCluster {
  explicit Leaderless(uint64_t append_bytes_max = 1 << 20) : TestCluster(3) {
    for (const auto& member : members) member->config.append_bytes_max = append_bytes_max;
    start();
    const size_t cut = follower_at();
    alone = members[cut].get();
    for (size_t i = 0; i < members.size(); ++i)
      if (i != cut) network.cut_both(url_of(cut), url_of(i));
    REQUIRE(run_until([&] { return alone->server().state().leader.load() == 0; }));
  }
  TestMember* alone;
};

TEST_CASE("callers who have given up leave nothing behind in a member without a leader",
          "[waiting]") {
  Leaderless cluster;
  std::vector<std::shared_ptr<Answer>> answers;
  for (int i = 0; i < 30; ++i) {
    answers.push_back(cluster.alone->send(put_request("a", "1"), 300));
    answers.push_back(cluster.alone->send(range_request("a"), 300));
    answers.push_back(cluster.alone->send(keep_alive_request(7), 300));
    cluster.world.advance_ms(50);
  }
  CHECK(cluster.alone->server().queues().busy() != nullptr);
  cluster.world.advance_ms(500);
  for (const auto& answer : answers) CHECK(answer->completions == 1);
  const server::QueueDepths queues = cluster.alone->server().queues();
  const server::QueueDepth* busy = queues.busy();
  INFO((busy != nullptr ? busy->name : ""));
  CHECK(busy == nullptr);
}

TEST_CASE("a write that its caller has given up is not made when a leader is found", "[waiting]") {
  Leaderless cluster;
  const auto late = cluster.alone->send(put_request("late", "1"), 500);
  cluster.world.advance_ms(1000);
  REQUIRE(late->done());
  CHECK(late->code != Code::kOk);
  const auto waits = cluster.alone->send(put_request("waits", "1"));
  cluster.network.heal();
  REQUIRE(cluster.run_until([&] { return waits->done(); }));
  CHECK(waits->code == Code::kOk);
  cluster.settle();
  CHECK(cluster.leader().count("late") == 0);
  CHECK(cluster.leader().count("waits") == 1);
}

TEST_CASE("what gathered without a leader is handed to it in messages of a bounded size",
          "[waiting]") {
  Leaderless cluster(1000);
  std::vector<std::shared_ptr<Answer>> answers;
  for (int i = 0; i < 20; ++i)
    answers.push_back(
        cluster.alone->send(put_request("k" + std::to_string(i), std::string(400, 'v'))));
  answers.push_back(cluster.alone->send(put_request("large", std::string(4000, 'v'))));
  cluster.network.heal();
  REQUIRE(cluster.run_until([&] {
    return std::all_of(answers.begin(), answers.end(), [](const auto& a) { return a->done(); });
  }));
  for (const auto& answer : answers) CHECK(answer->code == Code::kOk);
  CHECK(cluster.network.largest_message() > 4000);
  CHECK(cluster.network.largest_message() < 5000);
}

TEST_CASE("writes beyond what may wait for a leader are refused, and those that wait are made",
          "[waiting]") {
  TestCluster cluster(1);
  TestMember& member = *cluster.members[0];
  member.config.proposal_bytes_max = 3000;
  cluster.start();
  std::vector<std::shared_ptr<Answer>> answers;
  for (int i = 0; i < 10; ++i)
    answers.push_back(member.send(put_request("k" + std::to_string(i), std::string(1000, 'v'))));
  REQUIRE(cluster.run_until([&] {
    return std::all_of(answers.begin(), answers.end(), [](const auto& a) { return a->done(); });
  }));
  const auto made = std::count_if(answers.begin(), answers.end(),
                                  [](const auto& answer) { return answer->code == Code::kOk; });
  CHECK(made == 3);
  CHECK(answers.back()->code == Code::kTooManyRequests);
  CHECK(member.count("k", "l") == made);
  member.put("k", "again");
}

}  // namespace
}  // namespace quorate::test
