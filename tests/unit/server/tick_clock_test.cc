// SPDX-License-Identifier: Apache-2.0
#include "server/tick_clock.h"

#include <catch2/catch.hpp>

namespace quorate::server {
namespace {

TEST_CASE("a tick is due one interval after the first look, and then at each", "[ticks]") {
  TickClock clock(100);
  CHECK(clock.passed(1000) == 0);
  CHECK(clock.next_ns() == 1100);
  CHECK(clock.passed(1099) == 0);
  CHECK(clock.passed(1100) == 1);
  CHECK(clock.passed(1100) == 0);
  CHECK(clock.next_ns() == 1200);
}

TEST_CASE("a tick that comes late by a part of one does not put off the next", "[ticks]") {
  TickClock clock(100);
  clock.passed(1000);
  CHECK(clock.passed(1199) == 1);
  CHECK(clock.next_ns() == 1200);
  CHECK(clock.passed(1200) == 1);
}

TEST_CASE("after a pause one tick tells of all the time that is over", "[ticks]") {
  TickClock clock(100);
  clock.passed(1000);
  CHECK(clock.passed(1100) == 1);
  SECTION("one whole tick late") {
    CHECK(clock.passed(1300) == 3);
    CHECK(clock.next_ns() == 1400);
  }
  SECTION("rounded up, so that no lease outlives it") {
    CHECK(clock.passed(4150) * 100 >= 4150 - 1100);
    CHECK(clock.next_ns() == 4250);
    CHECK(clock.passed(4250) == 1);
  }
}

}  // namespace
}  // namespace quorate::server
