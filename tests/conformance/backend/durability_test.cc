// SPDX-License-Identifier: Apache-2.0
#include <random>

#include <catch2/catch.hpp>

#include "conformance/backend/child.h"
#include "conformance/backend/engine.h"

namespace quorate::conformance {
namespace {

constexpr int kKills = 25;

// Batch `number` of a history that anybody can tell again: it adds some keys, deletes all of the
// batch five before, and says its number.
Batch numbered(uint64_t number) {
  std::mt19937 random(static_cast<uint32_t>(number));
  const auto keys_of = [](uint64_t batch) { return 1 + batch * 7919 % 40; };
  Batch batch;
  for (uint64_t i = 0; i < keys_of(number); ++i)
    batch.append(0, number_key(number) + number_key(i),
                 std::string(random() % (number % 8 == 0 ? 200000 : 500), 'v'));
  if (number > 5)
    for (uint64_t i = 0; i < keys_of(number - 5); ++i)
      batch.erase(0, number_key(number - 5) + number_key(i));
  batch.put(1, std::to_string(number % 3), std::to_string(number));
  return batch.put(2, "last", std::to_string(number));
}

uint64_t last_of(View& view) {
  const auto last = view.get(2, "last");
  return last ? std::stoull(*last) : 0;
}

Model history(uint64_t last) {
  Model model;
  for (uint64_t number = 1; number <= last; ++number) model.apply(numbered(number));
  return model;
}

void require_history(View& view, uint64_t last) {
  const Model model = history(last);
  for (uint32_t bucket = 0; bucket < kBucketCount; ++bucket)
    REQUIRE((view.scan(bucket) == model.scan(bucket)));
}

TEST_CASE("in a child: writes batch after batch and says which it was told are durable",
          "[.writer]") {
  if (child_dir().empty()) return;
  Engine engine(child_dir());
  uint64_t number = last_of(*engine.view());
  tell_parent("open " + std::to_string(number));
  for (;;) {
    engine.write(numbered(++number));
    tell_parent(std::to_string(number));
  }
}

// Reads acknowledgements until one of them, or a random time after it, and kills. Returns the last
// one that was given.
uint64_t run_and_kill(const std::string& dir, std::mt19937& random, uint64_t before) {
  Child writer("[.writer]", dir);
  const auto opened = writer.line();
  REQUIRE(opened == "open " + std::to_string(before));
  uint64_t acknowledged = before;
  const auto take = [&](const std::optional<std::string>& line) {
    if (line) acknowledged = std::stoull(*line);
    return line.has_value();
  };
  for (uint32_t more = random() % 30; more > 0; --more) REQUIRE(take(writer.line()));
  take(writer.line(static_cast<int>(random() % 4000)));
  writer.kill();
  while (take(writer.line())) {
  }
  return acknowledged;
}

TEST_CASE("kill -9 at random points loses no batch that was acknowledged and tears none",
          "[durability][kill]") {
  if (skipped_for_not_durable()) return;
  TempDir dir;
  std::mt19937 random(7);
  uint64_t last = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    const uint64_t acknowledged = run_and_kill(dir.path(), random, last);
    Engine engine(dir.path());
    const auto view = engine.view();
    last = last_of(*view);
    INFO("kill " << kill << ", acknowledged " << acknowledged << ", found " << last);
    REQUIRE(last >= acknowledged);
    REQUIRE(last <= acknowledged + 1);
    require_history(*view, last);
  }
}

TEST_CASE("kill -9 while a store is being opened for the first time leaves it usable",
          "[durability][kill]") {
  if (skipped_for_not_durable()) return;
  std::mt19937 random(11);
  for (int kill = 0; kill < 10; ++kill) {
    TempDir dir;
    {
      Child writer("[.writer]", dir.path());
      writer.line(static_cast<int>(random() % 30000));
    }
    Engine engine(dir.path());
    const auto view = engine.view();
    require_history(*view, last_of(*view));
  }
}

TEST_CASE("what was written is there after closing and opening", "[durability]") {
  if (skipped_for_not_durable()) return;
  TempDir dir;
  uint64_t number = 0;
  for (int round = 0; round < 4; ++round) {
    {
      Engine engine(dir.path());
      for (int i = 0; i < 20; ++i) engine.write(numbered(++number));
    }
    Engine engine(dir.path());
    require_history(*engine.view(), number);
  }
}

TEST_CASE("an engine that is not durable starts empty", "[durability]") {
  if (durable()) return;
  TempDir dir;
  { Engine(dir.path()).write(Batch().put(0, "k", "v")); }
  Engine engine(dir.path());
  CHECK(engine.view()->scan(0).empty());
}

}  // namespace
}  // namespace quorate::conformance
