// SPDX-License-Identifier: Apache-2.0
#include "server/member_change.h"

#include <catch2/catch.hpp>
#include <map>

#include "apply/request.h"

namespace quorate::server {
namespace {

using apply::MemberAddOp;
using apply::MemberPromoteOp;
using apply::MemberRemoveOp;
using cluster::Member;

constexpr uint64_t kNow = 100'000'000'000;
constexpr uint64_t kLongAgo = 1;
constexpr uint64_t kJustNow = kNow - kHealthyAfterNs + 1;

// Member 1 looks at its cluster.
class View {
 public:
  View& voter(uint64_t id, uint64_t connected_since = kLongAgo) {
    return add({id, "m", {url(id)}, {}, false}, connected_since);
  }
  View& unstarted(uint64_t id) { return add({id, "", {url(id)}, {}, false}, 0); }
  View& learner(uint64_t id) { return add({id, "m", {url(id)}, {}, true}, kLongAgo); }

  template <typename Op>
  Code check(const Op& op) const {
    return check_strictly({&members_, 1, kNow, &connected_}, op).code();
  }

 private:
  static std::string url(uint64_t id) { return "http://h:" + std::to_string(id); }
  View& add(Member member, uint64_t since) {
    since_[member.id] = since;
    members_.add(std::move(member));
    return *this;
  }

  cluster::Membership members_;
  std::map<uint64_t, uint64_t> since_;
  ConnectedSince connected_ = [this](uint64_t id) { return since_.at(id); };
};

const MemberAddOp kAdd{{"http://n:1"}, false};
const MemberAddOp kAddLearner{{"http://n:1"}, true};

TEST_CASE("a cluster of one may always grow", "[reconfigure]") {
  CHECK(View().voter(1).check(kAdd) == Code::kOk);
  CHECK(View().voter(1).check(kAddLearner) == Code::kOk);
}

TEST_CASE("a voter is added only while those that ever started are a majority with it",
          "[reconfigure]") {
  CHECK(View().voter(1).unstarted(2).check(kAdd) == Code::kNotEnoughStarted);
  CHECK(View().voter(1).voter(2).unstarted(3).check(kAdd) == Code::kNotEnoughStarted);
  CHECK(View().voter(1).voter(2).check(kAdd) == Code::kOk);
  CHECK(View().voter(1).voter(2).voter(3).unstarted(4).check(kAdd) == Code::kOk);
}

TEST_CASE("a member is added only where a majority with it has been connected for a while",
          "[reconfigure]") {
  CHECK(View().voter(1).voter(2).voter(3).check(kAdd) == Code::kOk);
  CHECK(View().voter(1).voter(2).voter(3, 0).check(kAdd) == Code::kUnhealthyCluster);
  CHECK(View().voter(1).voter(2).voter(3, 0).check(kAddLearner) == Code::kUnhealthyCluster);
  CHECK(View().voter(1).voter(2).voter(3, kJustNow).check(kAdd) == Code::kUnhealthyCluster);
  CHECK(View().voter(1).voter(2).voter(3).voter(4, 0).check(kAdd) == Code::kOk);
  CHECK(View().voter(1).voter(2).learner(3).check(kAdd) == Code::kOk);
}

TEST_CASE("the last voter stays, and so does the quorum of those that started", "[reconfigure]") {
  CHECK(View().voter(1).check(MemberRemoveOp{1}) == Code::kNotEnoughStarted);
  CHECK(View().voter(1).learner(2).check(MemberRemoveOp{1}) == Code::kNotEnoughStarted);
  CHECK(View().voter(1).voter(2).unstarted(3).check(MemberRemoveOp{2}) == Code::kNotEnoughStarted);
  CHECK(View().voter(1).unstarted(2).check(MemberRemoveOp{1}) == Code::kNotEnoughStarted);
}

TEST_CASE("a learner may go, and so may who is not connected", "[reconfigure]") {
  CHECK(View().voter(1).unstarted(2).learner(3).check(MemberRemoveOp{3}) == Code::kOk);
  CHECK(View().voter(1).voter(2, 0).voter(3, 0).check(MemberRemoveOp{2}) == Code::kOk);
  CHECK(View().voter(1).unstarted(2).check(MemberRemoveOp{2}) == Code::kOk);
}

TEST_CASE("a connected voter goes only if a majority of the rest is connected without it",
          "[reconfigure]") {
  CHECK(View().voter(1).voter(2).voter(3).check(MemberRemoveOp{2}) == Code::kOk);
  CHECK(View().voter(1).voter(2).check(MemberRemoveOp{2}) == Code::kOk);
  CHECK(View().voter(1).voter(2).voter(3, 0).check(MemberRemoveOp{2}) == Code::kUnhealthyCluster);
  CHECK(View().voter(1).voter(2).voter(3, 0).check(MemberRemoveOp{1}) == Code::kUnhealthyCluster);
  CHECK(View().voter(1).voter(2).voter(3, kJustNow).check(MemberRemoveOp{3}) ==
        Code::kUnhealthyCluster);
}

TEST_CASE("a learner is promoted while the others that started are a majority with it",
          "[reconfigure]") {
  CHECK(View().voter(1).learner(2).check(MemberPromoteOp{2}) == Code::kOk);
  CHECK(View().voter(1).unstarted(2).learner(3).check(MemberPromoteOp{3}) == Code::kOk);
  CHECK(View().voter(1).unstarted(2).unstarted(3).unstarted(4).learner(5).check(
            MemberPromoteOp{5}) == Code::kNotEnoughStarted);
}

TEST_CASE("a peer URL is an address and nothing more", "[reconfigure]") {
  const auto check = [](const std::vector<Slice>& urls) { return check_peer_urls(urls).code(); };
  for (const char* good : {"http://h:1", "https://10.0.0.1:2380", "http://[::1]:2380",
                           "unix:///run/a", "unixs://run"}) {
    CAPTURE(good);
    CHECK(check({good}) == Code::kOk);
  }
  for (const char* bad : {"", "h:1", "http://h", "http://h:", "http://h:x", "http://h:65536",
                          "http://h:1/", "http://h:1/x", "http://u@h:1", "http://a b:1",
                          "http://:1", "http://::1:1", "ftp://h:1", "unix://"}) {
    CAPTURE(bad);
    CHECK(check({bad}) == Code::kBadMemberUrls);
    CHECK(check({"http://h:1", bad}) == Code::kBadMemberUrls);
  }
  CHECK(check({}) == Code::kBadMemberUrls);
}

TEST_CASE("the same member added at another second has another id", "[reconfigure]") {
  const auto id = [](int64_t second) {
    return propose_change(1, kAdd, second).change.steps.at(0).node;
  };
  CHECK(id(1000) != id(1001));
  CHECK(id(1000) == id(1000));
  CHECK(id(1000) == cluster::make_member_id({"http://n:1"}, "", 1000));
}

TEST_CASE("a proposal carries the caller's id and the member's record", "[reconfigure]") {
  const ConfProposal proposal =
      propose_change(7, MemberAddOp{{"http://b:1", "http://a:1"}, true}, 5);
  CHECK(proposal.request == 7);
  REQUIRE(proposal.change.steps.size() == 1);
  CHECK(proposal.change.steps[0].type == raft::ConfChangeType::kAddLearner);
  const auto entry = apply::decode_entry(proposal.context);
  REQUIRE(entry);
  CHECK(entry->header.request_id == 7);
  CHECK(entry->header.kind == apply::EntryKind::kConfChange);
  const auto member = cluster::decode_member(entry->body.slice());
  REQUIRE(member);
  CHECK(member->id == proposal.change.steps[0].node);
  CHECK(member->peer_urls == std::vector<std::string>{"http://a:1", "http://b:1"});
  CHECK(member->learner);
}

}  // namespace
}  // namespace quorate::server
