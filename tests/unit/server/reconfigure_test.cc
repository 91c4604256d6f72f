// SPDX-License-Identifier: Apache-2.0
// Members come and go, and leadership moves, as clients ask for it.
#include <catch2/catch.hpp>

#include "test_cluster.h"

namespace quorate::test {
namespace {

using schema::Request;

void set_urls(capnp::List<capnp::Text>::Builder list, const std::vector<std::string>& urls) {
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, urls[i].c_str());
}
Bytes add_request(const std::string& url, bool learner = false) {
  return request([&](Request::Builder root) {
    auto add = root.initCluster().initAdd();
    set_urls(add.initPeerUrls(1), {url});
    add.setLearner(learner);
  });
}
Bytes remove_request(uint64_t id) {
  return request([&](Request::Builder root) { root.initCluster().setRemove(id); });
}
Bytes update_request(uint64_t id, const std::string& url) {
  return request([&](Request::Builder root) {
    auto update = root.initCluster().initUpdate();
    update.setId(id);
    set_urls(update.initPeerUrls(1), {url});
  });
}
Bytes promote_request(uint64_t id) {
  return request([&](Request::Builder root) { root.initCluster().setPromote(id); });
}
Bytes list_request() {
  return request([&](Request::Builder root) { root.initCluster().setList(true); });
}
Bytes move_request(uint64_t id) {
  return request([&](Request::Builder root) { root.initMaintenance().setMoveLeader(id); });
}

uint64_t added(const Answer& answer) {
  REQUIRE(answer.code == Code::kOk);
  return answer.reader().root<schema::Response>().getCluster().getMember().getId();
}
size_t members_in(const Answer& answer) {
  REQUIRE(answer.code == Code::kOk);
  return answer.reader().root<schema::Response>().getCluster().getMembers().size();
}
uint64_t id_of(TestMember& member) {
  return member.server().state().member_id;
}

// Founded, and its members connected for long enough to be counted on.
struct Grown : TestCluster {
  explicit Grown(size_t size) : TestCluster(size) {
    start();
    world.advance_ms(6000);
  }
  TestMember& follower() { return *members[follower_at()]; }
  // Starts a machine that was added; its initial cluster is the first `known` machines.
  size_t join(size_t known) {
    std::vector<std::string> names;
    for (size_t i = 0; i < known; ++i) names.push_back(name_of(i));
    TestMember& machine = add_machine(names);
    machine.config.initial_cluster_existing = true;
    begin(members.size() - 1);
    return members.size() - 1;
  }
  bool gets_ready(size_t i) {
    return run_until([&] { return members[i]->is_ready; });
  }
};

TEST_CASE("a learner is added, listed and removed, and its id never comes back", "[reconfigure]") {
  TestMember alone;
  alone.start();
  const Answer answer = alone.call(add_request("http://new:1", true));
  const uint64_t id = added(answer);
  CHECK(members_in(answer) == 2);
  CHECK(answer.revision() == 0);
  CHECK(members_in(alone.call(list_request())) == 2);
  CHECK(alone.call(add_request("http://new:1")).code == Code::kMemberExists);
  alone.env.advance_ms(1000);
  CHECK(alone.call(add_request("http://new:1")).code == Code::kPeerUrlExists);
  CHECK(alone.call(add_request("http://other:1", true)).code == Code::kTooManyLearners);
  CHECK(members_in(alone.call(remove_request(id))) == 1);
  CHECK(alone.call(remove_request(id)).code == Code::kMemberNotFound);
  CHECK(alone.call(update_request(id, "http://new:2")).code == Code::kMemberNotFound);
  CHECK(alone.put("k", "v") == 2);
}

TEST_CASE("changes that come together are all answered, one after the other", "[reconfigure]") {
  TestMember alone;
  alone.start();
  const auto first = alone.send(add_request("http://n:1", true));
  const auto second = alone.send(add_request("http://n:2", true));
  const auto third = alone.send(update_request(id_of(alone), "http://moved:1"));
  alone.env.run_until_idle();
  CHECK((first->done() && first->code == Code::kOk));
  CHECK((second->done() && second->code == Code::kTooManyLearners));
  CHECK((third->done() && third->code == Code::kOk));
}

TEST_CASE("a learner that does not follow is not promoted, nor who is none", "[reconfigure]") {
  TestMember alone;
  alone.start();
  const uint64_t id = added(alone.call(add_request("http://new:1", true)));
  CHECK(alone.call(promote_request(id)).code == Code::kLearnerNotReady);
  CHECK(alone.call(promote_request(id_of(alone))).code == Code::kMemberNotLearner);
  CHECK(alone.call(promote_request(99)).code == Code::kMemberNotFound);
}

TEST_CASE("an address that is none is refused", "[reconfigure]") {
  TestMember alone;
  alone.start();
  CHECK(alone.call(add_request("new:1")).code == Code::kBadMemberUrls);
  CHECK(alone.call(update_request(id_of(alone), "new:1")).code == Code::kBadMemberUrls);
}

TEST_CASE("the strict rules can be turned off, and yet a voter remains", "[reconfigure]") {
  TestMember alone;
  alone.start();
  CHECK(alone.call(remove_request(id_of(alone))).code == Code::kNotEnoughStarted);
  alone.crash(1);
  alone.config.strict_reconfig_check = false;
  alone.start();
  CHECK(alone.call(remove_request(id_of(alone))).code == Code::kInvalidArgument);
  CHECK(alone.put("k", "v") == 2);
}

TEST_CASE("a cluster of three becomes one of four, asked at a follower", "[reconfigure]") {
  Grown cluster(3);
  cluster.leader().put("k", "v");
  const Answer answer = cluster.follower().call(add_request("http://d:1"));
  const uint64_t id = added(answer);
  CHECK(answer.reader().root<schema::Response>().getHeader().getMemberId() ==
        id_of(cluster.follower()));
  const size_t d = cluster.join(4);
  REQUIRE(cluster.gets_ready(d));
  CHECK(id_of(*cluster.members[d]) == id);
  CHECK(cluster.members[d]->count("k") == 1);
  CHECK(members_in(cluster.members[d]->call(list_request())) == 4);
  CHECK(cluster.same_content());
}

TEST_CASE("a joiner that crashes at once goes on where it was", "[reconfigure]") {
  Grown cluster(3);
  added(cluster.leader().call(add_request("http://d:1")));
  const size_t d = cluster.join(4);
  cluster.crash(d, 5);
  cluster.begin(d);
  REQUIRE(cluster.gets_ready(d));
  CHECK(cluster.same_content());
}

TEST_CASE("a learner that follows is promoted, whoever is asked", "[reconfigure]") {
  Grown cluster(3);
  for (int i = 0; i < 20; ++i) cluster.leader().put("k" + std::to_string(i), "v");
  const uint64_t id = added(cluster.leader().call(add_request("http://d:1", true)));
  CHECK(cluster.follower().call(promote_request(id)).code == Code::kLearnerNotReady);
  REQUIRE(cluster.gets_ready(cluster.join(4)));
  cluster.settle();
  const Answer answer = cluster.follower().call(promote_request(id));
  CHECK(members_in(answer) == 4);
  CHECK(cluster.follower().call(promote_request(id)).code == Code::kMemberNotLearner);
}

TEST_CASE("changes asked at different members at once are all answered", "[reconfigure]") {
  Grown cluster(3);
  std::vector<std::shared_ptr<Answer>> answers;
  for (size_t i = 0; i < 3; ++i) {
    answers.push_back(cluster.members[i]->send(
        update_request(id_of(*cluster.members[i]), "http://moved:" + std::to_string(i))));
  }
  REQUIRE(cluster.run_until(
      [&] { return answers[0]->done() && answers[1]->done() && answers[2]->done(); }));
  for (const auto& answer : answers) CHECK(answer->code == Code::kOk);
}

TEST_CASE("a removed member hears it, tells its host, and is gone for good", "[reconfigure]") {
  Grown cluster(3);
  const size_t gone = cluster.follower_at();
  const uint64_t id = id_of(*cluster.members[gone]);
  CHECK(members_in(cluster.leader().call(remove_request(id))) == 2);
  CHECK(cluster.run_until([&] { return cluster.members[gone]->is_removed; }));
  cluster.crash(gone, 3);
  cluster.leader().put("k", "v");
  CHECK(cluster.same_content());
}

TEST_CASE("a leader that is removed gives the answer, and the others elect another",
          "[reconfigure]") {
  Grown cluster(3);
  const size_t old = cluster.leader_at();
  CHECK(members_in(cluster.leader().call(remove_request(id_of(cluster.leader())))) == 2);
  CHECK(cluster.run_until([&] { return cluster.members[old]->is_removed; }));
  cluster.crash(old, 3);
  cluster.leader().put("k", "v");
  CHECK(cluster.same_content());
}

TEST_CASE("a member that was removed while it was away is told by the others", "[reconfigure]") {
  Grown cluster(3);
  const size_t gone = cluster.follower_at();
  const uint64_t id = id_of(*cluster.members[gone]);
  cluster.crash(gone, 3);
  CHECK(members_in(cluster.leader().call(remove_request(id))) == 2);
  cluster.begin(gone);
  CHECK(cluster.run_until([&] { return cluster.members[gone]->is_removed; }));
}

TEST_CASE("a member that is away may be removed, and none of the two that are left",
          "[reconfigure]") {
  Grown cluster(3);
  const size_t away = cluster.follower_at();
  const uint64_t id = id_of(*cluster.members[away]);
  cluster.crash(away, 3);
  REQUIRE(cluster.run_until([&] { return cluster.leader_at() < 3; }));
  cluster.world.advance_ms(2000);
  CHECK(cluster.leader().call(add_request("http://d:1")).code == Code::kUnhealthyCluster);
  CHECK(cluster.leader().call(remove_request(id_of(cluster.follower()))).code ==
        Code::kUnhealthyCluster);
  CHECK(members_in(cluster.leader().call(remove_request(id))) == 2);
}

TEST_CASE("leadership moves to whom a client names, if that is another voter", "[reconfigure]") {
  Grown cluster(3);
  const size_t target = cluster.follower_at();
  const uint64_t id = id_of(*cluster.members[target]);
  CHECK(cluster.follower().call(move_request(id)).code == Code::kNotLeader);
  CHECK(cluster.leader().call(move_request(99)).code == Code::kBadLeaderTransferee);
  CHECK(cluster.leader().call(move_request(id_of(cluster.leader()))).code == Code::kOk);
  CHECK(cluster.leader().call(move_request(id)).code == Code::kOk);
  CHECK(cluster.leader_at() == target);
}

TEST_CASE("leadership that cannot move is given up at the caller's deadline", "[reconfigure]") {
  Grown cluster(3);
  const size_t away = cluster.follower_at();
  const uint64_t id = id_of(*cluster.members[away]);
  cluster.crash(away, 3);
  REQUIRE(cluster.run_until([&] { return cluster.leader_at() < 3; }));
  const auto late = cluster.leader().send(move_request(id), 700);
  cluster.world.advance_ms(1000);
  CHECK((late->done() && late->code == Code::kTransferTimeout));
  CHECK(cluster.leader().put("k", "v") == 2);
}

}  // namespace
}  // namespace quorate::test
