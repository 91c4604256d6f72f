// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstring>
#include <thread>

#include <catch2/catch.hpp>

#include "conformance/backend/engine.h"

namespace quorate::conformance {
namespace {

bool same(quorate_slice bytes, const std::string& expected) {
  return bytes.size == expected.size() &&
         std::memcmp(bytes.data, expected.data(), expected.size()) == 0;
}

TEST_CASE("a view opened after a write sees it, one opened before does not", "[view]") {
  Fixture f;
  f.engine.write(Batch().put(0, "a", "1").put(0, "b", "1"));
  const auto before = f.engine.view();
  f.engine.write(Batch().put(0, "a", "2").erase(0, "b").put(0, "c", "2"));
  CHECK(before->scan(0) == Pairs{{"a", "1"}, {"b", "1"}});
  CHECK(before->get(0, "a") == "1");
  CHECK(f.engine.view()->scan(0) == Pairs{{"a", "2"}, {"c", "2"}});
}

TEST_CASE("a scan that stops half way goes on in its own view, whatever is written", "[view]") {
  Fixture f;
  Batch first;
  for (uint64_t i = 0; i < 2000; ++i) first.put(0, number_key(i), "first");
  f.engine.write(first);

  const auto view = f.engine.view();
  const auto cursor = view->cursor(0);
  uint64_t seen = 0;
  for (bool found = cursor->seek(""); found && seen < 1000; found = cursor->next()) ++seen;
  for (uint64_t round = 0; round < 60; ++round) {
    Batch batch;
    for (uint64_t i = round; i < 2000; i += 20) batch.erase(0, number_key(i));
    for (uint64_t i = 0; i < 100; ++i) batch.put(0, number_key(3000 + i), std::to_string(round));
    f.engine.write(batch);
  }
  do {
    REQUIRE(cursor->key() == number_key(seen++));
    REQUIRE(cursor->value() == "first");
  } while (cursor->next());
  CHECK(seen == 2000);
  CHECK(f.engine.view()->scan(0).size() == 100);
}

TEST_CASE("each of many views shows its own moment", "[view]") {
  Fixture f;
  std::vector<std::unique_ptr<View>> views;
  for (int i = 0; i < 200; ++i) {
    f.engine.write(Batch().put(0, "k", std::to_string(i)).put(1, number_key(100 - i % 100), "x"));
    views.push_back(f.engine.view());
  }
  for (size_t i = 0; i < views.size(); ++i) CHECK(views[i]->get(0, "k") == std::to_string(i));
  while (!views.empty()) {
    views.erase(views.begin() + static_cast<std::ptrdiff_t>(views.size() / 2));
    if (!views.empty()) CHECK(views.front()->get(0, "k"));
  }
}

TEST_CASE("a pair stays until the next call on its cursor, whatever else is called", "[view]") {
  Fixture f;
  const std::string large(100000, 'x');
  f.engine.write(Batch().put(0, "a", "small").put(0, "b", large).put(0, "c", "3"));
  const auto view = f.engine.view();
  const auto other_view = f.engine.view();
  const auto cursor = view->cursor(0);
  const auto other = view->cursor(0);
  REQUIRE(cursor->seek("a"));
  REQUIRE(other->seek("b"));
  REQUIRE(view->get(0, "b") == large);
  REQUIRE(other->next());
  REQUIRE(other_view->scan(0).size() == 3);
  f.engine.write(Batch().erase(0, "a").put(0, "b", "new").put(0, "d", large));
  CHECK(cursor->key() == "a");
  CHECK(cursor->value() == "small");
  REQUIRE(cursor->next());
  CHECK(cursor->key() == "b");
  CHECK((cursor->value() == large));
}

TEST_CASE("a value stays until the next call on its view, whatever else is called", "[view]") {
  Fixture f;
  f.engine.write(Batch().put(0, "a", "value"));
  const auto view = f.engine.view();
  const auto other = f.engine.view();
  const quorate_slice value = view->get_in_place(0, "a");
  for (int i = 0; i < 20; ++i) f.engine.write(Batch().put(0, "a", std::string(1000, 'n')));
  REQUIRE(other->get(0, "a") == "value");
  CHECK(same(value, "value"));
}

TEST_CASE("a view may be used and closed by another thread than the one that opened it",
          "[view][threads]") {
  Fixture f;
  f.engine.write(Batch().put(0, "k", "v"));
  auto view = f.engine.view();
  auto second = f.engine.view();
  std::optional<std::string> value;
  std::thread([&] {
    value = view->get(0, "k");
    view.reset();
  }).join();
  CHECK(value == "v");
  CHECK(second->get(0, "k") == "v");
}

TEST_CASE("a write may come from another thread than the last one", "[view][threads]") {
  Fixture f;
  for (int i = 0; i < 4; ++i)
    std::thread([&] { f.engine.write(Batch().put(0, "k", std::to_string(i))); }).join();
  CHECK(f.engine.view()->get(0, "k") == "3");
}

TEST_CASE("views on many threads are consistent while batches are written", "[view][threads]") {
  Fixture f;
  constexpr int kBatches = 150, kKeys = 20;
  const auto batch_of = [](int number) {
    Batch batch;
    for (uint64_t i = 0; i < kKeys; ++i)
      batch.put(static_cast<uint32_t>(i % 2), number_key(i), std::to_string(number));
    return batch.append(2, number_key(static_cast<uint64_t>(number)), "x");
  };
  f.engine.write(batch_of(0));

  std::atomic<bool> done = false;
  std::atomic<int> written = 0, torn = 0, stale = 0, views = 0;
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r)
    readers.emplace_back([&] {
      do {
        const int at_least = written;
        const auto view = f.engine.view();
        const Pairs even = view->scan(0), odd = view->scan(1);
        const std::string value = even.front().second;
        for (const Pairs& pairs : {even, odd})
          for (const auto& pair : pairs)
            if (pair.second != value) ++torn;
        const int number = std::stoi(value);
        if (view->scan(2).size() != static_cast<size_t>(number) + 1) ++torn;
        // It may show more: a batch that is durable and whose write() is about to return.
        if (number < at_least) ++stale;
        ++views;
      } while (!done);
    });
  for (int number = 1; number <= kBatches; ++number) {
    f.engine.write(batch_of(number));
    written = number;
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(torn == 0);
  CHECK(stale == 0);
  CHECK(views >= 3);
}

}  // namespace
}  // namespace quorate::conformance
