// SPDX-License-Identifier: Apache-2.0
#include "server/hasty_campaign.h"

#include <catch2/catch.hpp>

#include <set>

namespace quorate::server {
namespace {

constexpr uint64_t kHeartbeat = 100'000'000;
constexpr uint64_t kMin = HastyCampaign::kWaitNsMin, kMax = HastyCampaign::kWaitNsMax;
constexpr raft::NodeId kLeader = 1, kOther = 2;

struct Haste : HastyCampaign {
  explicit Haste(uint64_t seed = 1) : HastyCampaign(seed, kHeartbeat) { reset(kLeader, 0); }
};

TEST_CASE("followers of a leader that is gone wait for different times", "[haste]") {
  std::set<uint64_t> waits;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Haste haste(seed);
    CHECK(haste.due_ns() >= kMin);
    CHECK(haste.due_ns() < kMax);
    waits.insert(haste.due_ns());
  }
  CHECK(waits.size() == 20);
}

TEST_CASE("a second reset of the same leader changes nothing", "[haste]") {
  Haste haste;
  const uint64_t due = haste.due_ns();
  haste.reset(kLeader, kMin / 2);
  CHECK(haste.due_ns() == due);
}

TEST_CASE("each try waits longer at most, and the last is followed by none", "[haste]") {
  uint64_t longest = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Haste haste(seed);
    for (int tries = 1; tries < HastyCampaign::kTriesMax; ++tries) {
      const uint64_t now = haste.due_ns();
      haste.tried(now);
      REQUIRE(haste.due_ns() >= now + kMin);
      CHECK(haste.due_ns() < now + (kMax << tries));
      longest = std::max(longest, haste.due_ns() - now);
    }
    haste.tried(haste.due_ns());
    CHECK(haste.due_ns() == 0);
  }
  CHECK(longest > 4 * kMax);
}

TEST_CASE("who asks first goes first, once", "[haste]") {
  Haste haste;
  haste.another_campaigns(true, kMin);
  const uint64_t due = haste.due_ns();
  CHECK(due >= kMin + kMax + kMin);
  haste.another_campaigns(true, due - 1);
  CHECK(haste.due_ns() == due);
}

TEST_CASE("who asks for the votes themselves is given the time to win, each time", "[haste]") {
  Haste haste;
  haste.another_campaigns(true, kMin);
  for (int term = 1; term < 4; ++term) {
    const uint64_t now = haste.due_ns() - 1;
    haste.another_campaigns(false, now);
    CHECK(haste.due_ns() >= now + kMax + kMin);
  }
}

TEST_CASE("a connection that stands again gives the leader two heartbeats to be heard", "[haste]") {
  Haste haste;
  CHECK_FALSE(haste.connected(kOther, 5));
  REQUIRE(haste.connected(kLeader, 5));
  CHECK(haste.due_ns() == 5 + 2 * kHeartbeat);
  SECTION("it is heard") {
    haste.heard(kLeader, 6);
    CHECK(haste.due_ns() == 0);
  }
  SECTION("it is not, and its place is taken by a try") {
    haste.tried(haste.due_ns());
    CHECK(haste.due_ns() > 5 + 2 * kHeartbeat);
  }
  SECTION("it breaks again, so there is haste again") {
    haste.reset(kLeader, 7);
    CHECK(haste.due_ns() < 7 + kMax);
  }
}

TEST_CASE("what was still on its way proves nothing, but buys time", "[haste]") {
  Haste haste;
  haste.heard(kLeader, kMin);
  CHECK(haste.due_ns() >= kMin + kMax);
  CHECK(haste.due_ns() <= kMin + 2 * kMax);
}

TEST_CASE("a leader that is heard on and on is alive, though nobody told of a connection",
          "[haste]") {
  Haste haste;
  for (uint64_t now = kMin; now < 2 * kHeartbeat; now += kMin) haste.heard(kLeader, now);
  CHECK(haste.due_ns() != 0);
  SECTION("when nothing can be on its way any more") {
    haste.heard(kLeader, 2 * kHeartbeat);
    CHECK(haste.due_ns() == 0);
  }
  SECTION("counted from the last reset") {
    haste.reset(kLeader, kHeartbeat);
    haste.heard(kLeader, 2 * kHeartbeat);
    CHECK(haste.due_ns() != 0);
  }
}

TEST_CASE("there is no haste once another leads", "[haste]") {
  Haste haste;
  haste.heard(kOther, kMin);
  CHECK(haste.due_ns() == 0);
  haste.another_campaigns(true, kMin);
  CHECK(haste.due_ns() == 0);
}

}  // namespace
}  // namespace quorate::server
