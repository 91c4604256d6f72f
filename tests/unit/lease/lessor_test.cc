// SPDX-License-Identifier: Apache-2.0
#include "lease/lessor.h"

#include <catch2/catch.hpp>
#include <limits>

namespace quorate::lease {
namespace {

using Outcome = KeepAlive::Outcome;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kStart = 100 * kSecond;
constexpr uint64_t kFirstIndex = 10;

// A lessor with verbs: time in seconds since kStart, grants numbered by their index.
struct Bench {
  Lessor lessor;
  uint64_t index = kFirstIndex;

  void lead() { lessor.leadership_start(kFirstIndex, kStart, 0); }
  LeaseRecord grant(int64_t id, int64_t ttl) {
    REQUIRE(lessor.check_grant(id, ttl).ok());
    return lessor.grant({id, 1, ++index}, ttl, 2);
  }
  static uint64_t at(double seconds) { return kStart + static_cast<uint64_t>(seconds * kSecond); }
  KeepAlive keep_alive(int64_t id, double seconds, uint64_t waiter = 0) {
    return lessor.keep_alive(id, at(seconds), waiter);
  }
  std::vector<int64_t> expired(double seconds, bool lagging = false) {
    std::vector<int64_t> ids;
    for (const Stamp& stamp : lessor.tick(at(seconds), index, lagging)) ids.push_back(stamp.lease);
    return ids;
  }
  int64_t ttl(int64_t id, double seconds) {
    auto answer = lessor.time_to_live(id, false, at(seconds));
    REQUIRE(answer.has_value());
    return answer->has_value() ? (*answer)->ttl : -1;
  }
};

using Ids = std::vector<int64_t>;

TEST_CASE("a TTL below the minimum is raised to it, one above the maximum is refused", "[lease]") {
  Bench bench;
  CHECK(bench.grant(1, 0).ttl == 2);
  CHECK(bench.grant(2, -7).ttl == 2);
  CHECK(bench.grant(3, std::numeric_limits<int64_t>::min()).ttl == 2);
  CHECK(bench.grant(4, kTtlMax).ttl == kTtlMax);
  CHECK(bench.lessor.check_grant(5, kTtlMax + 1).code() == Code::kLeaseTtlTooLarge);
}

TEST_CASE("a granted TTL is never below a second, whatever the minimum", "[lease]") {
  Bench bench;
  CHECK(bench.lessor.grant({1, 1, 1}, 0, 0).ttl == 1);
}

TEST_CASE("any id but 0 can be granted, once", "[lease]") {
  Bench bench;
  for (int64_t id : {int64_t{5}, int64_t{-5}, std::numeric_limits<int64_t>::min(),
                     std::numeric_limits<int64_t>::max()}) {
    bench.grant(id, 10);
    CHECK(bench.lessor.check_grant(id, 10).code() == Code::kLeaseExists);
  }
  CHECK(bench.lessor.check_grant(0, 10).code() == Code::kInvalidArgument);
  CHECK(bench.lessor.size() == 4);
}

TEST_CASE("a lease's keys are sorted, and detaching an unknown one is nothing", "[lease]") {
  Bench bench;
  bench.grant(1, 10);
  bench.lessor.attach(1, "b");
  bench.lessor.attach(1, "a");
  bench.lessor.attach(1, "b");
  CHECK(bench.lessor.keys(1) == std::vector<std::string>{"a", "b"});
  bench.lessor.detach(1, "a");
  bench.lessor.detach(1, "a");
  bench.lessor.detach(9, "a");
  CHECK(bench.lessor.keys(1) == std::vector<std::string>{"b"});
  CHECK(bench.lessor.keys(9).empty());
}

TEST_CASE("a lease expires when its TTL has passed, and not before", "[lease]") {
  Bench bench;
  bench.lead();
  bench.grant(1, 10);
  bench.lessor.settle(bench.at(0));
  CHECK(bench.expired(9.9).empty());
  CHECK(bench.expired(10) == Ids{1});
}

TEST_CASE("the stamp names the grant", "[lease]") {
  Bench bench;
  bench.lead();
  const LeaseRecord granted = bench.grant(1, 10);
  bench.lessor.settle(bench.at(0));
  const auto stamps = bench.lessor.tick(bench.at(10), bench.index, false);
  REQUIRE(stamps.size() == 1);
  CHECK(stamps[0] == granted.grant);
  CHECK(bench.lessor.matches(stamps[0]));
}

TEST_CASE("a stamp does not match the same id granted anew at the same revision", "[lease]") {
  Bench bench;
  const Stamp old = bench.grant(1, 10).grant;
  bench.lessor.revoke(1);
  CHECK_FALSE(bench.lessor.matches(old));
  bench.grant(1, 10);
  CHECK_FALSE(bench.lessor.matches(old));
}

TEST_CASE("a keep-alive in time gives the full TTL from its arrival", "[lease]") {
  Bench bench;
  bench.lead();
  bench.grant(1, 10);
  bench.lessor.settle(bench.at(0));
  const KeepAlive renewed = bench.keep_alive(1, 9);
  CHECK(renewed.outcome == Outcome::kRenewed);
  CHECK(renewed.ttl == 10);
  CHECK(bench.expired(18.9).empty());
  CHECK(bench.expired(19) == Ids{1});
}

TEST_CASE("a keep-alive that was late to be handled but arrived in time renews", "[lease]") {
  Bench bench;
  bench.lead();
  bench.grant(1, 10);
  bench.lessor.settle(bench.at(0));
  CHECK(bench.keep_alive(1, 9.5).outcome == Outcome::kRenewed);
  CHECK(bench.expired(12).empty());
}

TEST_CASE("a keep-alive never shortens what a new leader has granted", "[lease]") {
  Bench bench;
  bench.grant(1, 10);
  bench.lessor.leadership_start(kFirstIndex, kStart, 5 * kSecond);
  CHECK(bench.keep_alive(1, 1).outcome == Outcome::kRenewed);
  CHECK(bench.expired(14.9).empty());
}

TEST_CASE("a keep-alive of an unknown lease says that it is gone", "[lease]") {
  Bench bench;
  bench.lead();
  CHECK(bench.keep_alive(7, 1).outcome == Outcome::kGone);
}

TEST_CASE("a keep-alive off the leader is refused", "[lease]") {
  Bench bench;
  bench.grant(1, 10);
  CHECK(bench.keep_alive(1, 1).outcome == Outcome::kNotPrimary);
}

TEST_CASE("a keep-alive of an expired lease waits for the revoke and never revives it", "[lease]") {
  Bench bench;
  bench.lead();
  bench.grant(1, 10);
  bench.lessor.settle(bench.at(0));
  CHECK(bench.keep_alive(1, 10, 41).outcome == Outcome::kExpiring);
  CHECK(bench.expired(10) == Ids{1});
  CHECK(bench.keep_alive(1, 9, 42).outcome == Outcome::kExpiring);  // stamped: too late for all
  CHECK(bench.lessor.take_released().empty());
  bench.lessor.revoke(1);
  const auto released = bench.lessor.take_released();
  REQUIRE(released.size() == 2);
  CHECK(released[0].waiter == 41);
  CHECK(released[1].waiter == 42);
  CHECK(released[0].outcome == Outcome::kGone);
  CHECK(bench.lessor.take_released().empty());
}

TEST_CASE("a keep-alive that waits fails when leadership ends", "[lease]") {
  Bench bench;
  bench.lead();
  bench.grant(1, 10);
  bench.lessor.settle(bench.at(0));
  bench.keep_alive(1, 11, 41);
  bench.lessor.leadership_end();
  const auto released = bench.lessor.take_released();
  REQUIRE(released.size() == 1);
  CHECK(released[0].outcome == Outcome::kNotPrimary);
}

TEST_CASE("a lease that is not revoked is stamped again after a while", "[lease]") {
  Bench bench;
  bench.lead();
  bench.grant(1, 10);
  bench.lessor.settle(bench.at(0));
  CHECK(bench.expired(10) == Ids{1});
  CHECK(bench.expired(12.9).empty());
  CHECK(bench.expired(13) == Ids{1});
}

TEST_CASE("followers expire nothing, and neither does a leader that has stepped down", "[lease]") {
  Bench bench;
  bench.grant(1, 10);
  CHECK(bench.expired(1000).empty());
  bench.lead();
  bench.lessor.leadership_end();
  CHECK(bench.expired(1000).empty());
}

TEST_CASE("a new leader expires nothing before it has applied its first entry", "[lease]") {
  Bench bench;
  bench.grant(1, 10);
  bench.lead();
  CHECK(bench.lessor.tick(bench.at(20), kFirstIndex - 1, false).empty());
  CHECK(bench.lessor.tick(bench.at(20), kFirstIndex, false).size() == 1);
}

TEST_CASE("nothing expires while apply lags", "[lease]") {
  Bench bench;
  bench.lead();
  bench.grant(1, 10);
  bench.lessor.settle(bench.at(0));
  CHECK(bench.expired(11, true).empty());
  CHECK(bench.expired(11, false) == Ids{1});
}

TEST_CASE("a new leader gives every lease its full time, and the extension", "[lease]") {
  Bench bench;
  bench.grant(1, 10);
  bench.lessor.leadership_start(kFirstIndex, kStart, 1 * kSecond);
  CHECK(bench.ttl(1, 0) == 11);
  CHECK(bench.expired(10.9).empty());
  CHECK(bench.expired(11) == Ids{1});
}

TEST_CASE("a new leader starts from the checkpointed rest", "[lease]") {
  Bench bench;
  bench.grant(1, 100);
  CHECK(bench.lessor.checkpoint(1, 30)->remaining_ttl == 30);
  CHECK_FALSE(bench.lessor.checkpoint(2, 30).has_value());
  bench.lead();
  CHECK(bench.ttl(1, 0) == 30);
}

TEST_CASE("leadership that is gained again starts all clocks anew", "[lease]") {
  Bench bench;
  bench.lead();
  bench.grant(1, 10);
  bench.lessor.settle(bench.at(0));
  CHECK(bench.expired(10) == Ids{1});
  bench.lessor.leadership_end();
  bench.lessor.leadership_start(kFirstIndex, bench.at(12), 0);
  CHECK(bench.keep_alive(1, 13).outcome == Outcome::kRenewed);
  CHECK(bench.expired(22.9).empty());
  CHECK(bench.expired(23) == Ids{1});
}

TEST_CASE("one tick stamps a thousand leases at most, the most overdue first", "[lease]") {
  Bench bench;
  bench.lead();
  for (int64_t id = 1; id <= 2500; ++id) bench.grant(id, 5000 - id);
  bench.lessor.settle(bench.at(0));
  const Ids first = bench.expired(10'000);
  REQUIRE(first.size() == kStampsMax);
  CHECK(first.front() == 2500);
  CHECK(first.back() == 1501);
  CHECK(bench.expired(10'000).size() == 1000);
  CHECK(bench.expired(10'000).size() == 500);
  CHECK(bench.expired(10'000).empty());
}

TEST_CASE("time to live counts whole seconds, and an unknown lease has none", "[lease]") {
  Bench bench;
  bench.lead();
  bench.grant(1, 10);
  bench.lessor.attach(1, "k");
  bench.lessor.settle(bench.at(0));
  CHECK(bench.ttl(1, 0.5) == 9);
  CHECK(bench.ttl(1, 99) == 0);
  CHECK(bench.ttl(2, 1) == -1);
  CHECK((*bench.lessor.time_to_live(1, true, bench.at(1)))->keys == std::vector<std::string>{"k"});
  CHECK((*bench.lessor.time_to_live(1, false, bench.at(1)))->keys.empty());
  bench.lessor.leadership_end();
  CHECK(bench.lessor.time_to_live(1, true, bench.at(1)).error().code() == Code::kNotPrimaryLessor);
}

TEST_CASE("the list goes by remaining time on the leader, by id elsewhere", "[lease]") {
  Bench bench;
  bench.grant(1, 30);
  bench.grant(2, 10);
  bench.grant(3, 20);
  CHECK(bench.lessor.list() == Ids{1, 2, 3});
  bench.lead();
  CHECK(bench.lessor.list() == Ids{2, 3, 1});
}

TEST_CASE("a lease revoked and granted again has a clock of its own", "[lease]") {
  Bench bench;
  bench.lead();
  bench.grant(1, 10);
  bench.lessor.settle(bench.at(0));
  bench.lessor.revoke(1);
  bench.grant(1, 100);
  bench.lessor.settle(bench.at(5));
  CHECK(bench.expired(50).empty());
  CHECK(bench.expired(105) == Ids{1});
}

TEST_CASE("revoked leases leave nothing behind in the queue for ever", "[lease]") {
  Bench bench;
  bench.lead();
  for (int64_t round = 0; round < 20'000; ++round) {
    bench.grant(1, 1'000'000);
    bench.lessor.settle(bench.at(0));
    bench.lessor.revoke(1);
  }
  CHECK(bench.lessor.queued() < 2000);
}

TEST_CASE("the longest TTL does not wrap around", "[lease]") {
  Bench bench;
  bench.lead();
  bench.grant(1, kTtlMax);
  bench.lessor.settle(std::numeric_limits<uint64_t>::max() - kSecond);
  CHECK(bench.lessor.tick(std::numeric_limits<uint64_t>::max() - 1, bench.index, false).empty());
}

TEST_CASE("a record comes back as it was, and etcd's own is read too", "[lease]") {
  LeaseRecord lease{{-5, 77, 1234567}, 60, 12};
  const auto read = decode_lease(encode_lease(lease));
  REQUIRE(read.has_value());
  CHECK(read->grant == lease.grant);
  CHECK(read->ttl == 60);
  CHECK(read->remaining_ttl == 12);

  const auto etcds = decode_lease(Slice("\x08\x07\x10\x3c", 4));
  REQUIRE(etcds.has_value());
  CHECK(etcds->grant == Stamp{7, 0, 0});
  CHECK(etcds->ttl == 60);
}

TEST_CASE("etcd finds its own fields at the front of the record", "[lease]") {
  CHECK(encode_lease({{7, 0, 0}, 60, 0}) == std::string("\x08\x07\x10\x3c"));
}

TEST_CASE("a cut or senseless record is refused", "[lease]") {
  const std::string record = encode_lease({{7, 300, 300}, 60, 0});
  CHECK(decode_lease(Slice(record).substr(0, record.size() - 1)).error().code() == Code::kCorrupt);
  CHECK(decode_lease(Slice("\x0f", 1)).error().code() == Code::kCorrupt);
  Lessor lessor;
  CHECK(lessor.load(lease_key(8), record).code() == Code::kCorrupt);
  CHECK(lessor.load(lease_key(7), "").code() == Code::kCorrupt);
}

TEST_CASE("loading the records of one lessor makes another with the same", "[lease]") {
  Bench bench;
  bench.grant(3, 30);
  bench.grant(-1, 10);
  Lessor loaded;
  for (const LeaseRecord& lease : bench.lessor.records()) {
    REQUIRE(loaded.load(lease_key(lease.grant.lease), encode_lease(lease)).ok());
  }
  REQUIRE(loaded.size() == 2);
  CHECK(loaded.list() == Ids{-1, 3});
  CHECK(loaded.matches(bench.lessor.find(3)->grant));
}

}  // namespace
}  // namespace quorate::lease
