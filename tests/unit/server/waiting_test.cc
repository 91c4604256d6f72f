// SPDX-License-Identifier: Apache-2.0
// What waits in a member while nobody leads.
#include "test_cluster.h"

namespace quorate::test {
namespace {

constexpr int64_t kQuota = 1 << 20;

// The name of what waits in it; empty: nothing does.
std::string what_waits(TestMember& member) {
  const server::QueueDepths queues = member.server().queues();
  const server::QueueDepth* busy = queues.busy();
  return busy == nullptr ? "" : busy->name;
}

struct Leaderless : TestCluster {
  explicit Leaderless(uint64_t append_bytes_max = 1 << 20) : TestCluster(3) {
    for (const auto& member : members) {
      member->config.append_bytes_max = append_bytes_max;
      member->config.quota_bytes = kQuota;
    }
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
  CHECK_FALSE(what_waits(*cluster.alone).empty());
  cluster.world.advance_ms(500);
  for (const auto& answer : answers) CHECK(answer->completions == 1);
  CHECK(what_waits(*cluster.alone) == "");
}

TEST_CASE("a range that is pulled in pieces ends when no leader is found in time", "[waiting]") {
  Leaderless cluster;
  cluster.alone->open_pull(range_request("a", "z"));
  cluster.world.advance_ms(1000);
  CHECK(cluster.alone->pieces.empty());
  cluster.world.advance_ms(7000);
  REQUIRE(cluster.alone->pieces.size() == 1);
  CHECK(cluster.alone->pieces[0].kind == QUORATE_PIECE_END);
  CHECK(cluster.alone->pieces[0].code == Code::kTimeout);
  CHECK(what_waits(*cluster.alone) == "");
}

TEST_CASE("a member without a leader does not gather what it would tell the others itself",
          "[waiting]") {
  Leaderless cluster;
  // It has no room, and would raise the alarm each time.
  for (int i = 0; i < 100; ++i) {
    const auto refused = cluster.alone->send(put_request("a", std::string(kQuota, 'v')), 100);
    CHECK(refused->code == Code::kQuotaExceeded);
    cluster.world.advance_ms(500);
  }
  uint64_t waiting = 0;
  const server::QueueDepths queues = cluster.alone->server().queues();
  for (const server::QueueDepth& queue : queues.all())
    if (std::string_view(queue.name) == "writes that wait for a leader") waiting = queue.size;
  CHECK(waiting > 0);
  CHECK(waiting < 20);
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
  const bool in_one_batch = GENERATE(false, true);
  std::vector<Bytes> requests;
  for (int i = 0; i < 10; ++i)
    requests.push_back(put_request("k" + std::to_string(i), std::string(1000, 'v')));
  if (in_one_batch) {
    answers = member.send_batch(requests);
  } else {
    for (const Bytes& request : requests) answers.push_back(member.send(request));
  }
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
