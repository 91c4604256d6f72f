// SPDX-License-Identifier: Apache-2.0
#include "raft/log.h"

#include <catch2/catch.hpp>

namespace quorate::raft {
namespace {

constexpr uint64_t kNoLimit = ~uint64_t{0};

std::vector<Entry> run(Index first, std::initializer_list<Term> terms, const char* payload = "x") {
  std::vector<Entry> entries;
  for (Term term : terms)
    entries.push_back({term, first++, EntryType::kNormal, Bytes::copy(payload)});
  return entries;
}
Log log_of(EntryId previous, std::vector<Entry> entries, Index commit = 0, Index applied = 0) {
  return Log({previous, std::move(entries)}, std::max(commit, previous.index),
             std::max(applied, previous.index), kNoLimit);
}
uint64_t hand_over(Log& log, uint64_t sequence, Term term) {
  std::vector<Entry> entries;
  log.append_started(sequence, term, 0, log.hand_over(kNoLimit, entries));
  return entries.size();
}

TEST_CASE("a log knows the terms from before its first entry to its last", "[raft][log]") {
  const Log log = log_of({3, 10}, run(11, {3, 4, 4}));
  CHECK_FALSE(log.term(9));
  CHECK(log.term(10) == Term{3});
  CHECK(log.term(11) == Term{3});
  CHECK(log.term(13) == Term{4});
  CHECK_FALSE(log.term(14));
  CHECK(log.first_index() == 11);
  CHECK(log.last() == EntryId{4, 13});
}

TEST_CASE("an empty log ends where it begins", "[raft][log]") {
  const Log log = log_of({3, 10}, {});
  CHECK(log.last() == EntryId{3, 10});
  CHECK(log.matches({3, 10}));
  CHECK_FALSE(log.matches({2, 10}));
  CHECK(log.last_not_above(10, 1) == EntryId{3, 10});
}

TEST_CASE("a longer log of an older term is not up to date", "[raft][log]") {
  const Log log = log_of({0, 0}, run(1, {1, 2, 2}));
  CHECK(log.is_up_to_date({2, 3}));
  CHECK(log.is_up_to_date({3, 1}));
  CHECK_FALSE(log.is_up_to_date({2, 2}));
  CHECK_FALSE(log.is_up_to_date({1, 9}));
}

TEST_CASE("the place where logs may agree skips whole terms", "[raft][log]") {
  const Log log = log_of({0, 0}, run(1, {1, 1, 2, 4, 4, 4}));
  CHECK(log.last_not_above(6, 4) == EntryId{4, 6});
  CHECK(log.last_not_above(9, 3) == EntryId{2, 3});
  CHECK(log.last_not_above(6, 1) == EntryId{1, 2});
  CHECK(log.last_not_above(1, 9) == EntryId{1, 1});
  CHECK(log.last_not_above(6, 0) == EntryId{0, 0});
}

TEST_CASE("a follower takes what follows, keeps what agrees, cuts what does not", "[raft][log]") {
  Log log = log_of({0, 0}, run(1, {1, 1, 1}));
  CHECK_FALSE(log.follow({1, 4}, run(5, {1})));
  CHECK_FALSE(log.follow({2, 3}, run(4, {2})));
  CHECK(log.follow({1, 1}, run(2, {1})));
  CHECK(log.last_index() == 3);
  CHECK(log.follow({1, 1}, run(2, {1, 2, 2})));
  CHECK(log.last() == EntryId{2, 4});
  CHECK(log.stable() == 2);
  CHECK(log.follow({0, 0}, run(1, {1, 1, 2, 2})));
  CHECK(log.last() == EntryId{2, 4});
}

TEST_CASE("an append that ends makes durable what it held", "[raft][log]") {
  Log log = log_of({0, 0}, {});
  log.follow({0, 0}, run(1, {1, 1}));
  CHECK(hand_over(log, 1, 1) == 2);
  CHECK_FALSE(log.has_unstable());
  CHECK(log.stable() == 0);
  log.append_finished(1, 1);
  CHECK(log.stable() == 2);
  CHECK(log.in_progress_bytes() == 0);
}

TEST_CASE("entries cut while in progress do not become durable when they come back",
          "[raft][log]") {
  // The A-B-A case: entry 2 of term 1 is handed over, replaced by term 2, and comes again.
  Log log = log_of({0, 0}, run(1, {1}));
  log.follow({1, 1}, run(2, {1}));
  hand_over(log, 1, 1);
  log.follow({1, 1}, run(2, {2}));
  hand_over(log, 2, 2);
  log.follow({1, 1}, run(2, {1}));
  REQUIRE(log.last() == EntryId{1, 2});
  log.append_finished(1, 1);
  CHECK(log.stable() == 1);
  log.append_finished(2, 2);
  CHECK(log.stable() == 1);
  hand_over(log, 3, 3);
  log.append_finished(3, 3);
  CHECK(log.stable() == 2);
}

TEST_CASE("counters of bytes follow appends, cuts and commits", "[raft][log]") {
  Log log = log_of({0, 0}, {});
  log.append(1, EntryType::kNormal, Bytes::copy("abc"));
  log.append(1, EntryType::kNormal, Bytes::copy("de"));
  CHECK(log.uncommitted_bytes() == 5);
  CHECK(log.commit_to(1));
  CHECK(log.uncommitted_bytes() == 2);
  CHECK_FALSE(log.commit_to(1));
  log.follow({1, 1}, run(2, {2}, "four"));
  CHECK(log.uncommitted_bytes() == 4);
  log.commit_to(2);
  CHECK(log.uncommitted_bytes() == 0);
}

TEST_CASE("only what is durable here is handed to apply", "[raft][log]") {
  Log log = log_of({0, 0}, run(1, {1}));
  log.append(1, EntryType::kNormal, Bytes::copy("x"));
  hand_over(log, 1, 1);
  log.commit_to(2);
  std::vector<Entry> entries;
  log.take_committed(kNoLimit, entries);
  CHECK(entries.size() == 1);
  CHECK_FALSE(log.has_committed(kNoLimit));
  log.append_finished(1, 1);
  log.take_committed(kNoLimit, entries);
  CHECK(entries.size() == 2);
}

TEST_CASE("a snapshot replaces the log and rests until it is installed", "[raft][log]") {
  Log log = log_of({0, 0}, run(1, {1, 1, 1}), 3);
  std::vector<Entry> entries;
  log.take_committed(kNoLimit, entries);
  log.restore({2, 10});
  log.follow({2, 10}, run(11, {2}));
  hand_over(log, 1, 2);
  log.append_finished(1, 2);
  log.commit_to(11);
  log.apply_finished(3, 3);
  CHECK_FALSE(log.has_committed(kNoLimit));
  log.apply_finished(10, 0);
  CHECK(log.applying_bytes() == 0);
  CHECK(log.has_committed(kNoLimit));
}

TEST_CASE("unapplied configuration changes are known, cut and forgotten", "[raft][log]") {
  Log log = log_of({0, 0}, {});
  log.append(1, EntryType::kNormal, {});
  log.append(1, EntryType::kConfChange, Bytes::copy("?"));
  CHECK(log.unapplied_conf_changes() == std::deque<Index>{2});
  log.follow({1, 1}, run(2, {2}));
  CHECK(log.unapplied_conf_changes().empty());
}

}  // namespace
}  // namespace quorate::raft
