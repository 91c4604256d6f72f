// SPDX-License-Identifier: Apache-2.0
#include "server/corruption_check.h"

#include <catch2/catch.hpp>

#include "server/applied_hashes.h"

namespace quorate::server {
namespace {

using Verdict = CorruptionCheck::Verdict;
constexpr uint64_t kInterval = 1'000'000'000;
constexpr std::optional<uint64_t> kSilent;

// Members 1 to n; this one is 1. Hashes are small numbers.
class Check {
 public:
  explicit Check(size_t voters, size_t learners = 0) : check(1, kInterval) {
    for (size_t i = 0; i < voters + learners; ++i) {
      cluster::Member member;
      member.id = i + 1;
      member.learner = i >= voters;
      members.push_back(member);
    }
  }
  std::optional<CorruptionCheck::Round> begin(uint64_t own, raft::Index at) {
    return check.begin_if_due(now, at, own, members);
  }
  // A whole round, at the next index, an interval later; `others` are of members 2, 3, ...
  CorruptionCheck::Findings round(uint64_t own, std::vector<std::optional<uint64_t>> others) {
    now += kInterval;
    const auto round = begin(own, ++index);
    REQUIRE(round);
    REQUIRE(round->ask.size() == others.size());
    std::optional<CorruptionCheck::Findings> findings;
    for (size_t i = 0; i < others.size(); ++i) {
      REQUIRE_FALSE(findings);
      findings = check.answered(round->number, i + 2, others[i]);
    }
    REQUIRE(findings);
    return *findings;
  }

  CorruptionCheck check;
  std::vector<cluster::Member> members;
  uint64_t now = kInterval;
  raft::Index index = 10;
};

using Ids = std::vector<uint64_t>;

TEST_CASE("a member that nobody answers is not compared, and not equal", "[corruption]") {
  Check three(3);
  CHECK(three.check.verdict() == Verdict::kNotCompared);
  const auto findings = three.round(7, {kSilent, kSilent});
  CHECK(three.check.verdict() == Verdict::kNotCompared);
  CHECK(three.check.compared_index() == 0);
  CHECK(three.check.others().not_compared == 2);
  CHECK(findings.minority.empty());
  CHECK_FALSE(findings.dispute);
}

TEST_CASE("equal is what a majority of all voters has, not of those that answered",
          "[corruption]") {
  Check five(5);
  five.round(7, {7, kSilent, kSilent, kSilent});
  CHECK(five.check.verdict() == Verdict::kNotCompared);
  five.round(7, {7, 7, kSilent, kSilent});
  CHECK(five.check.verdict() == Verdict::kEqual);
  CHECK(five.check.compared_index() == five.index);
  CHECK(five.check.others().equal == 2);
  CHECK(five.check.others().not_compared == 2);
  // And it was equal then, not now.
  five.round(7, {kSilent, kSilent, kSilent, kSilent});
  CHECK(five.check.verdict() == Verdict::kNotCompared);
  CHECK(five.check.compared_index() == five.index - 1);
}

TEST_CASE("a majority names the minority, be it another or this one", "[corruption]") {
  Check three(3);
  auto findings = three.round(7, {7, 8});
  CHECK(findings.minority == Ids{3});
  CHECK_FALSE(findings.dispute);
  CHECK(three.check.verdict() == Verdict::kEqual);
  CHECK(three.check.others().different == 1);
  findings = three.round(9, {7, 7});
  CHECK(findings.minority == Ids{1});
  CHECK(three.check.verdict() == Verdict::kDiffers);
  CHECK(three.check.agreeing() == Ids{2, 3});
}

TEST_CASE("what a majority has proved wrong stays so until it is found equal", "[corruption]") {
  Check three(3);
  three.round(9, {7, 7});
  three.round(9, {kSilent, kSilent});
  CHECK(three.check.verdict() == Verdict::kDiffers);
  three.round(9, {7, kSilent});
  CHECK(three.check.verdict() == Verdict::kDiffers);
  SECTION("by a round") {
    three.round(7, {7, kSilent});
    CHECK(three.check.verdict() == Verdict::kEqual);
  }
  SECTION("or its state is another") {
    three.check.restart();
    CHECK(three.check.verdict() == Verdict::kNotCompared);
    three.round(7, {kSilent, kSilent});
    CHECK(three.check.verdict() == Verdict::kNotCompared);
  }
}

TEST_CASE("two of two that differ are a dispute that nobody can settle", "[corruption]") {
  Check two(2);
  const auto findings = two.round(7, {8});
  CHECK(findings.dispute);
  CHECK(findings.minority.empty());
  CHECK(two.check.verdict() == Verdict::kDisputed);
}

TEST_CASE("three hashes of three members name nobody", "[corruption]") {
  Check three(3);
  const auto findings = three.round(7, {8, 9});
  CHECK(findings.dispute);
  CHECK(findings.minority.empty());
}

TEST_CASE("a dispute waits a while for the member that could settle it", "[corruption]") {
  Check three(3);
  for (int i = 1; i < CorruptionCheck::kDisputedRounds; ++i) {
    INFO(i);
    CHECK_FALSE(three.round(7, {8, kSilent}).dispute);
    CHECK(three.check.verdict() == Verdict::kDisputed);
  }
  SECTION("and then is one") {
    CHECK(three.round(7, {8, kSilent}).dispute);
  }
  SECTION("or is settled by it") {
    const auto findings = three.round(7, {8, 7});
    CHECK_FALSE(findings.dispute);
    CHECK(findings.minority == Ids{2});
  }
}

TEST_CASE("a learner is judged and has no voice", "[corruption]") {
  Check two(2, 1);
  auto findings = two.round(7, {7, 8});
  CHECK(findings.minority == Ids{3});
  // Its agreement does not make a majority.
  findings = two.round(7, {kSilent, 7});
  CHECK(two.check.verdict() == Verdict::kNotCompared);
  CHECK(findings.minority.empty());
}

TEST_CASE("a round is not repeated while nothing is applied", "[corruption]") {
  Check two(2);
  two.round(7, {7});
  two.now += 100 * kInterval;
  CHECK_FALSE(two.begin(7, two.index));
  CHECK(two.begin(7, two.index + 1));
}

TEST_CASE("one that lacked an answer is repeated, by and by", "[corruption]") {
  Check three(3);
  three.round(7, {7, kSilent});
  three.now += kInterval;
  CHECK_FALSE(three.begin(7, three.index));
  three.now += CorruptionCheck::kPatience * kInterval;
  CHECK(three.begin(7, three.index));
}

TEST_CASE("rounds keep their distance, and one ends before the next", "[corruption]") {
  Check two(2);
  const auto round = two.begin(7, 20);
  REQUIRE(round);
  two.now += 10 * kInterval;
  CHECK_FALSE(two.begin(7, 21));
  CHECK_FALSE(two.check.answered(round->number - 1, 2, 7));
  CHECK_FALSE(two.check.answered(round->number, 9, 7));
  CHECK(two.check.answered(round->number, 2, 7));
  CHECK(two.begin(7, 21));
  CHECK_FALSE(two.check.answered(round->number, 2, 7));
}

TEST_CASE("an answer to a state that was replaced meanwhile counts for nothing", "[corruption]") {
  Check two(2);
  const auto round = two.begin(7, 20);
  REQUIRE(round);
  two.check.restart();
  CHECK_FALSE(two.check.answered(round->number, 2, 8));
  CHECK(two.check.verdict() == Verdict::kNotCompared);
}

TEST_CASE("a member alone compares with nobody", "[corruption]") {
  Check one(1);
  CHECK_FALSE(one.begin(7, 20));
  CHECK(one.check.verdict() == Verdict::kNotCompared);
}

TEST_CASE("the hashes of the last entries are kept, and no others", "[corruption]") {
  AppliedHashes hashes;
  hashes.restart(100, 1);
  CHECK_FALSE(hashes.find(99));
  CHECK(hashes.find(100) == 1u);
  CHECK_FALSE(hashes.find(101));
  const raft::Index kept = AppliedHashes::kKept;
  for (raft::Index index = 101; index <= 100 + kept; ++index) hashes.add(index, index * 3);
  CHECK_FALSE(hashes.find(100));
  CHECK(hashes.find(101) == 303u);
  CHECK(hashes.find(100 + kept) == (100 + kept) * 3);
  hashes.restart(5, 4);
  CHECK_FALSE(hashes.find(101));
  CHECK_FALSE(hashes.find(4));
  CHECK(hashes.find(5) == 4u);
}

}  // namespace
}  // namespace quorate::server
