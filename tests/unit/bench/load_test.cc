// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <set>

#include "load/calls.h"
#include "load/histogram.h"
#include "load/process_figures.h"

#include <unistd.h>

namespace quorate::bench {
namespace {

std::string call(CallSource& calls) {
  return std::string(calls.next());
}

TEST_CASE("percentiles are within three percent and never above the largest record", "[load]") {
  Histogram latencies;
  CHECK(latencies.percentile(50) == 0);
  for (uint64_t value = 1; value <= 100'000; ++value) latencies.record(value);
  for (const double percent : {1.0, 50.0, 90.0, 99.0, 99.9}) {
    const double exact = percent * 1000;
    CHECK(static_cast<double>(latencies.percentile(percent)) == Approx(exact).epsilon(0.032));
    CHECK(static_cast<double>(latencies.percentile(percent)) >= exact);
  }
  CHECK(latencies.percentile(100) == 100'000);
  CHECK(latencies.max() == 100'000);
}

TEST_CASE("small and huge values have buckets too", "[load]") {
  Histogram latencies;
  latencies.record(0);
  CHECK(latencies.percentile(100) == 0);
  latencies.record(63);
  latencies.record(64);
  CHECK(latencies.percentile(66) == 63);
  latencies.record(UINT64_MAX);
  CHECK(latencies.percentile(100) == UINT64_MAX);
  CHECK(latencies.total() == 4);
}

TEST_CASE("a put is a framed PutRequest with a numbered key", "[load]") {
  CallShape shape;
  shape.key_bytes = 10;
  shape.value_bytes = 3;
  shape.random_keys = false;
  shape.keys = 2;
  CallSource calls(shape);
  const std::string head("\0\0\0\0\x11\x0a\x0a", 7);
  CHECK(call(calls) == head + "kk00000000" + "\x12\x03vvv");
  CHECK(call(calls) == head + "kk00000001" + "\x12\x03vvv");
  CHECK(call(calls) == head + "kk00000000" + "\x12\x03vvv");
  CHECK(calls.path() == "/etcdserverpb.KV/Put");
}

TEST_CASE("a serializable range says so", "[load]") {
  CallShape shape;
  shape.kind = CallKind::kRange;
  shape.key_bytes = 8;
  CHECK(call(*std::make_unique<CallSource>(shape)).size() == 5 + 2 + 8);
  shape.serializable = true;
  CallSource calls(shape);
  CHECK(call(calls).substr(15) == "\x38\x01");
  CHECK_FALSE(calls.plausible(5 + shape.value_bytes));
  CHECK(calls.plausible(5 + shape.value_bytes + 30));
}

TEST_CASE("random keys repeat with the seed, reach all keys and no other", "[load]") {
  CallShape shape;
  shape.keys = 10;
  CallSource one(shape), other(shape);
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    const std::string message = call(one);
    CHECK(message == call(other));
    seen.insert(message);
  }
  CHECK(seen.size() == 10);
}

TEST_CASE("a process's figures are read, and those of none are not", "[load]") {
  const auto own = process_figures(getpid());
  REQUIRE(own.has_value());
  CHECK(own->resident_bytes > 0);
  CHECK_FALSE(process_figures(-1).has_value());
}

}  // namespace
}  // namespace quorate::bench
