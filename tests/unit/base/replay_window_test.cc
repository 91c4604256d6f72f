// SPDX-License-Identifier: Apache-2.0
#include "base/replay_window.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/random.h"

namespace quorate {
namespace {

TEST_CASE("a number is new once", "[replay]") {
  ReplayWindow window;
  CHECK(window.is_new(1));
  CHECK_FALSE(window.is_new(1));
  CHECK(window.is_new(5));
  CHECK(window.is_new(3));  // late, but not seen
  CHECK_FALSE(window.is_new(3));
  CHECK_FALSE(window.is_new(5));
}

TEST_CASE("what is too old to be told counts as seen", "[replay]") {
  ReplayWindow window;
  CHECK(window.is_new(10));
  CHECK(window.is_new(10 + ReplayWindow::kSize - 1));
  CHECK(window.is_new(11));
  CHECK_FALSE(window.is_new(10));
  CHECK(window.is_new(11 + ReplayWindow::kSize));
  CHECK_FALSE(window.is_new(11));
  CHECK(window.is_new(100 * ReplayWindow::kSize));
  CHECK(window.is_new(100 * ReplayWindow::kSize - 1));
}

TEST_CASE("it agrees with a set within its size", "[replay]") {
  Random random(7);
  ReplayWindow window;
  std::set<uint64_t> seen;
  uint64_t newest = 0;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t number = 1 + newest + random.below(40) - std::min(newest, random.below(900));
    newest = std::max(newest, number);
    REQUIRE(window.is_new(number) == seen.insert(number).second);
  }
}

}  // namespace
}  // namespace quorate
