// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "conformance/backend/engine.h"

namespace quorate::conformance {
namespace {

using namespace std::string_literals;

TEST_CASE("a scan gives every pair in the order of unsigned bytes", "[order]") {
  Fixture f;
  f.engine.write(Batch()
                     .put(0, "b", "4")
                     .put(0, "\xff", "6")
                     .put(0, "\x7f", "5")
                     .put(0, "a", "1")
                     .put(0, "a\0b"s, "3")
                     .put(0, "a\0"s, "2")
                     .put(0, "\0"s, "0")
                     .put(0, "\xff\xff", "7"));
  CHECK(f.engine.view()->scan(0) == Pairs{{"\0"s, "0"},
                                          {"a", "1"},
                                          {"a\0"s, "2"},
                                          {"a\0b"s, "3"},
                                          {"b", "4"},
                                          {"\x7f", "5"},
                                          {"\xff", "6"},
                                          {"\xff\xff", "7"}});
}

TEST_CASE("seek finds the first key that is not below what is sought", "[order]") {
  Fixture f;
  f.engine.write(Batch().put(0, "b", "1").put(0, "d", "2"));
  const auto view = f.engine.view();
  const auto cursor = view->cursor(0);
  const auto found = [&](const std::string& key) {
    return cursor->seek(key) ? cursor->key() : "end";
  };
  CHECK(found("") == "b");
  CHECK(found("a") == "b");
  CHECK(found("b") == "b");
  CHECK(found("b\0"s) == "d");
  CHECK(found("d") == "d");
  CHECK(found("d\0"s) == "end");
  CHECK(found("c") == "d");
}

TEST_CASE("a cursor at the end stays there until the next seek", "[order]") {
  Fixture f;
  f.engine.write(Batch().put(0, "a", "1"));
  const auto view = f.engine.view();
  const auto cursor = view->cursor(0);
  CHECK_FALSE(cursor->next());
  REQUIRE(cursor->seek("a"));
  CHECK_FALSE(cursor->next());
  CHECK_FALSE(cursor->next());
  CHECK_FALSE(cursor->seek("b"));
  CHECK_FALSE(cursor->next());
  CHECK(cursor->seek("a"));
}

TEST_CASE("buckets share nothing, and a scan ends with its bucket", "[order]") {
  Fixture f;
  f.engine.write(Batch().put(0, "k", "zero").put(2, "k", "two").put(2, "\xff", "last"));
  const auto view = f.engine.view();
  CHECK(view->scan(0) == Pairs{{"k", "zero"}});
  CHECK(view->scan(1).empty());
  CHECK(view->scan(2) == Pairs{{"k", "two"}, {"\xff", "last"}});
  CHECK_FALSE(view->get(1, "k"));
  CHECK(view->scan(0, "l").empty());

  f.engine.write(Batch().erase(2, "k"));
  CHECK(f.engine.view()->get(0, "k") == "zero");
}

TEST_CASE("an empty value is there and empty", "[order]") {
  Fixture f;
  f.engine.write(Batch().put(0, "k", "").put(0, "l", "x"));
  const auto view = f.engine.view();
  CHECK(view->get(0, "k") == "");
  CHECK(view->scan(0) == Pairs{{"k", ""}, {"l", "x"}});
}

TEST_CASE("the empty key is never there", "[order]") {
  Fixture f;
  f.engine.write(Batch().put(0, "k", "v"));
  CHECK_FALSE(f.engine.view()->get(0, ""));
}

TEST_CASE("keys of any length stand in byte order and can be changed", "[order][long]") {
  Fixture f;
  Model model;
  const auto both = [&](const Batch& batch) {
    f.engine.write(batch);
    model.apply(batch);
    REQUIRE(f.engine.view()->scan(0) == model.scan(0));
  };
  const std::string stem(505, 'p');
  for (size_t more : {0, 1, 4, 5, 6, 7, 8, 20, 600, 70000}) {
    both(Batch().put(0, stem + std::string(more, 'a'), "a" + std::to_string(more)));
    both(Batch().put(0, stem + std::string(more, 'q'), "q" + std::to_string(more)));
    both(Batch().put(0, stem + std::string(more, '\xff'), std::string(more, 'v')));
  }
  const auto view = f.engine.view();
  for (const auto& [key, value] : model.scan(0)) {
    CHECK(view->get(0, key) == value);
    CHECK_FALSE(view->get(0, key + "x"));
    CHECK(view->scan(0, key).front().first == key);
  }
  CHECK(view->scan(0, stem + std::string(7, 'q') + "a").front().first ==
        stem + std::string(8, 'q'));

  both(Batch().put(0, stem + std::string(20, 'q'), "changed"));
  both(Batch().erase(0, stem + std::string(8, 'q')).erase(0, stem + std::string(7, 'a')));
  for (const auto& [key, value] : model.scan(0)) both(Batch().erase(0, key));
  CHECK(f.engine.view()->scan(0).empty());
}

TEST_CASE("random batches leave what a sorted map holds", "[order][model]") {
  Fixture f;
  Model model;
  std::mt19937 random(20240607);
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  for (int round = 0; round < 60; ++round) {
    Batch batch;
    for (uint32_t i = below(120); i > 0; --i) {
      const uint32_t bucket = below(kBucketCount);
      const std::string key = std::to_string(below(400)) + std::string(below(3), '\0');
      if (below(3) == 0) {
        batch.erase(bucket, key);
      } else {
        batch.put(bucket, key, std::string(below(round % 10 == 0 ? 9000 : 40), 'v'));
      }
    }
    f.engine.write(batch);
    model.apply(batch);
    const auto view = f.engine.view();
    for (uint32_t bucket = 0; bucket < kBucketCount; ++bucket)
      REQUIRE(view->scan(bucket) == model.scan(bucket));
  }
}

TEST_CASE("many keys can be deleted in any order until none is left", "[order]") {
  Fixture f;
  constexpr uint64_t kKeys = 6000;
  std::vector<std::string> keys;
  Batch all;
  Model model;
  for (uint64_t i = 0; i < kKeys; ++i) keys.push_back(number_key(i * 3));
  for (const std::string& key : keys) all.put(0, key, key);
  f.engine.write(all);
  model.apply(all);
  std::shuffle(keys.begin(), keys.begin() + kKeys / 2, std::mt19937(3));
  while (!keys.empty()) {
    Batch batch;
    for (int i = 0; i < 600; ++i, keys.pop_back()) batch.erase(0, keys.back());
    f.engine.write(batch);
    model.apply(batch);
    REQUIRE((f.engine.view()->scan(0) == model.scan(0)));
  }
  f.engine.write(Batch().put(0, "again", "1"));
  CHECK(f.engine.view()->scan(0) == Pairs{{"again", "1"}});
}

TEST_CASE("many keys, put in order and deleted from the front, keep their order", "[order]") {
  Fixture f;
  constexpr uint64_t kKeys = 5000, kStep = 500;
  for (uint64_t at = 0; at < kKeys; at += kStep) {
    Batch batch;
    for (uint64_t i = at; i < at + kStep; ++i) {
      batch.append(0, number_key(i), std::to_string(i));
      if (i >= 1000 && i % 3 != 0) batch.erase(0, number_key(i - 1000));
    }
    f.engine.write(batch);
  }
  const auto view = f.engine.view();
  const Pairs pairs = view->scan(0);
  Pairs expected;
  for (uint64_t i = 0; i < kKeys; ++i)
    if (i + 1000 >= kKeys || (i + 1000) % 3 == 0)
      expected.emplace_back(number_key(i), std::to_string(i));
  CHECK((pairs == expected));
}

}  // namespace
}  // namespace quorate::conformance
