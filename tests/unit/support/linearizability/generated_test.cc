// SPDX-License-Identifier: Apache-2.0
#include "generated.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "brute_force.h"
#include "support/linearizability/check.h"
#include "support/linearizability/history_json.h"

namespace quorate::linearizability {
namespace {

Shape small_shape(uint64_t seed) {
  Shape shape;
  shape.operations = 2 + seed % 5;
  shape.clients = 1 + seed % 4;
  shape.keys = 1 + seed % 2;
  shape.values = seed % 3 == 0 ? 0 : 2;
  shape.unknown_percent = 25;
  shape.serializable_percent = 0;
  return shape;
}

// One change to one operation, which may or may not spoil the history.
void change(std::mt19937_64* random, History* history) {
  auto& operations = history->operations;
  Operation& one = operations[(*random)() % operations.size()];
  const Operation& other = operations[(*random)() % operations.size()];
  const int64_t step = (*random)() % 2 == 0 ? 1 : -1;
  switch ((*random)() % 6) {
    case 0:
      if (one.done()) one.revision = std::max<int64_t>(1, one.revision + step);
      return;
    case 1:
      if (one.kind != Kind::kGet || !one.done()) return;
      one.value = (*random)() % 3 == 0 ? kAbsent : other.value;
      one.mod_revision = one.value == kAbsent ? kNoRevision : other.revision;
      return;
    case 2:
      if (one.mod_revision > 1) one.mod_revision += step;
      return;
    case 3:
      if (one.kind == Kind::kCas || one.kind == Kind::kDelete) one.effective = !one.effective;
      return;
    case 4:
      if (one.done()) one.returned = one.invoked = other.invoked + step;
      return;
    default:
      if (!one.done()) return;
      one.outcome = Outcome::kUnknown;
      one.returned = kNever;
      one.effective = false;
      one.revision = one.mod_revision = kNoRevision;
  }
}

History small_history(uint64_t seed) {
  History history = Generated(seed, small_shape(seed)).make();
  history.closed = false;
  std::mt19937_64 random(seed);
  for (uint64_t changes = seed % 4; changes > 0; --changes) change(&random, &history);
  return history;
}

std::string lines(const History& history) {
  std::string text = start_line(history) + "\n";
  for (const Operation& operation : history.operations) text += to_line(history, operation) + "\n";
  return text;
}

// How often each answer was given, so that a test can see that it tested something.
struct Tally {
  int ok = 0, violation = 0, unknown = 0;
  void count(Verdict verdict) {
    ++(verdict == Verdict::kOk ? ok : verdict == Verdict::kViolation ? violation : unknown);
  }
};

TEST_CASE("a store that keeps its promises is never accused") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Shape shape;
    shape.keys = 1 + seed % 7;
    shape.values = seed % 2 == 0 ? 0 : 5;
    const History history = Generated(seed, shape).make();
    INFO("seed " << seed);
    const Report report = check(history);
    INFO(to_text(history, report));
    REQUIRE(report.level == Level::kRevisions);
    REQUIRE(report.verdict == Verdict::kOk);
  }
}

TEST_CASE("a store that keeps its promises is never accused by the search either") {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Shape shape;
    shape.operations = 300;
    shape.clients = 4;
    shape.unknown_percent = 3;
    History history = Generated(seed, shape).make();
    strip_revisions(&history);
    INFO("seed " << seed);
    const Report report = check(history);
    INFO(to_text(history, report));
    REQUIRE(report.level == Level::kSearch);
    REQUIRE(report.verdict == Verdict::kOk);
  }
}

TEST_CASE("the check by revisions agrees with trying all orders") {
  Tally tally;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    const History history = small_history(seed);
    const bool explained = BruteForce(history, true).explained();
    const Report report = check_revisions(history);
    INFO("seed " << seed << "\n" << lines(history) << to_text(history, report));
    if (report.verdict == Verdict::kOk) REQUIRE(explained);
    if (report.verdict == Verdict::kViolation) REQUIRE_FALSE(explained);
    tally.count(report.verdict);
  }
  INFO(tally.ok << " ok, " << tally.violation << " violations, " << tally.unknown << " unknown");
  CHECK(tally.ok > 2000);
  CHECK(tally.violation > 2000);
  CHECK(tally.unknown < 100);
}

TEST_CASE("the search agrees with trying all orders") {
  Tally tally;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    History history = small_history(seed);
    strip_revisions(&history);
    const bool explained = BruteForce(history, false).explained();
    const Report report = check_by_search(history);
    INFO("seed " << seed << "\n" << lines(history) << to_text(history, report));
    REQUIRE(report.verdict == (explained ? Verdict::kOk : Verdict::kViolation));
    tally.count(report.verdict);
  }
  CHECK(tally.ok > 1000);
  CHECK(tally.violation > 1000);
}

TEST_CASE("what the check by revisions accepts, the search accepts") {
  int accepted = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const History history = small_history(seed);
    if (check_revisions(history).verdict != Verdict::kOk) continue;
    INFO("seed " << seed << "\n" << lines(history));
    REQUIRE(check_by_search(history).verdict == Verdict::kOk);
    ++accepted;
  }
  CHECK(accepted > 500);
}

TEST_CASE("a history survives being written and read") {
  const History history = Generated(7, {}).make();
  std::istringstream in(lines(history));
  const Result<History> again = read_history(in);
  REQUIRE(again.has_value());
  CHECK(again->closed);
  CHECK(lines(*again) == lines(history));
}

// ------------------------------------------------------------ one lie in a long history

using Lie = bool (*)(History*, size_t);  // false when it cannot be told at that operation

bool is_read(const Operation& operation) {
  return operation.kind == Kind::kGet && operation.done() && !operation.serializable;
}

bool show_nothing(History* history, size_t at) {
  Operation& get = history->operations[at];
  if (!is_read(get) || get.value == kAbsent) return false;
  get.value = kAbsent;
  get.mod_revision = kNoRevision;
  return true;
}
bool show_what_nobody_wrote(History* history, size_t at) {
  Operation& get = history->operations[at];
  if (!is_read(get) || get.value == kAbsent) return false;
  get.value = history->name("nobody's");
  return true;
}
bool repeat_a_revision(History* history, size_t at) {
  auto& operations = history->operations;
  for (size_t i = at + 1; i < operations.size() && operations[at].has_effect(); ++i) {
    if (!operations[i].has_effect()) continue;
    operations[i].revision = operations[at].revision;
    return true;
  }
  return false;
}
bool read_before_the_start(History* history, size_t at) {
  Operation& get = history->operations[at];
  if (!is_read(get) || get.revision < 100) return false;
  get.revision = 1;
  get.value = kAbsent;
  get.mod_revision = kNoRevision;
  return true;
}

TEST_CASE("one lie in a long history is found") {
  const Lie lie =
      GENERATE(show_nothing, show_what_nobody_wrote, repeat_a_revision, read_before_the_start);
  Shape shape;
  shape.unknown_percent = 0;
  int told = 0;
  for (size_t at = 300; at < 600; ++at) {
    History history = Generated(at, shape).make();
    if (!lie(&history, at)) continue;
    const Report report = check(history);
    INFO("at " << at << "\n" << to_text(history, report));
    REQUIRE(report.verdict == Verdict::kViolation);
    ++told;
  }
  CHECK(told > 10);
}

}  // namespace
}  // namespace quorate::linearizability
