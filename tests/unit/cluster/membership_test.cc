// SPDX-License-Identifier: Apache-2.0
#include "cluster/membership.h"

#include <catch2/catch.hpp>

namespace quorate::cluster {
namespace {

Member voter(uint64_t id, const char* url) {
  return {id, "", {url}, {}, false};
}
Member learner(uint64_t id, const char* url) {
  return {id, "", {url}, {}, true};
}
Membership of(std::vector<Member> members) {
  Membership membership;
  for (Member& member : members) membership.add(std::move(member));
  return membership;
}

TEST_CASE("a member can be added whose id and URLs are new", "[membership]") {
  const Membership members = of({voter(1, "a")});
  CHECK(members.check_add(voter(2, "b")).ok());
  CHECK(members.check_add(voter(1, "b")).code() == Code::kMemberExists);
  CHECK(members.check_add(voter(2, "a")).code() == Code::kPeerUrlExists);
}

TEST_CASE("there is one learner at most", "[membership]") {
  const Membership members = of({voter(1, "a"), learner(2, "b")});
  CHECK(members.check_add(learner(3, "c")).code() == Code::kTooManyLearners);
  CHECK(members.check_add(voter(3, "c")).ok());
  CHECK(members.voters() == 1);
  CHECK(members.learners() == 1);
}

TEST_CASE("an id that was removed never comes back", "[membership]") {
  Membership members = of({voter(1, "a"), voter(2, "b")});
  members.remove(2);
  CHECK(members.find(2) == nullptr);
  CHECK(members.was_removed(2));
  CHECK(members.check_add(voter(2, "b")).code() == Code::kMemberNotFound);
  CHECK(members.check_remove(2).code() == Code::kMemberNotFound);
  CHECK(members.check_add(voter(3, "b")).ok());
}

TEST_CASE("changes of an unknown member are refused", "[membership]") {
  const Membership members = of({voter(1, "a")});
  CHECK(members.check_remove(9).code() == Code::kMemberNotFound);
  CHECK(members.check_update(9, {"z"}).code() == Code::kMemberNotFound);
  CHECK(members.check_promote(9).code() == Code::kMemberNotFound);
}

TEST_CASE("an update changes the URLs alone and may keep its own", "[membership]") {
  Membership members = of({voter(1, "a"), learner(2, "b")});
  CHECK(members.check_update(2, {"a"}).code() == Code::kPeerUrlExists);
  REQUIRE(members.check_update(2, {"c", "b"}).ok());
  members.update(2, {"c", "b"});
  CHECK(members.find(2)->peer_urls == std::vector<std::string>{"b", "c"});
  CHECK(members.find(2)->learner);
}

TEST_CASE("a learner is promoted once", "[membership]") {
  Membership members = of({voter(1, "a"), learner(2, "b")});
  REQUIRE(members.check_promote(2).ok());
  members.promote(2);
  CHECK(members.check_promote(2).code() == Code::kMemberNotLearner);
  CHECK(members.voters() == 2);
}

TEST_CASE("attributes of an unknown member change nothing", "[membership]") {
  Membership members = of({voter(1, "a")});
  CHECK(members.set_attributes(1, "n1", {"y", "x"}));
  CHECK_FALSE(members.set_attributes(2, "n2", {}));
  REQUIRE(members.members().size() == 1);
  CHECK(members.members()[0].started());
  CHECK(members.members()[0].client_urls == std::vector<std::string>{"x", "y"});
}

TEST_CASE("records load under their own key alone", "[membership]") {
  Membership members;
  CHECK(members.load("a", encode_member(voter(10, "u"))).ok());
  CHECK(members.load("b", encode_member(voter(10, "u"))).code() == Code::kCorrupt);
  CHECK(members.load("b", "{}").code() == Code::kCorrupt);
  CHECK(members.load_removed("ff").ok());
  CHECK(members.load_removed("?").code() == Code::kCorrupt);
  CHECK(members.size() == 1);
  CHECK(members.was_removed(255));
}

}  // namespace
}  // namespace quorate::cluster
