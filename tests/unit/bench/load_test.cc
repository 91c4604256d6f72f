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

TEST_CASE("keys begin with their prefix", "[load]") {
  CallShape shape;
  shape.key_bytes = 14;
  shape.key_prefix = "m1/";
  shape.random_keys = false;
  CallSource calls(shape);
  calls.next();
  const std::string message = call(calls);
  CHECK(message.substr(7, 14) == "m1/kkk00000001");
  CHECK(calls.key_of(message) == "m1/kkk00000001");
}

TEST_CASE("the revision is found in the head of a put's reply", "[load]") {
  const std::string framed("\0\0\0\0\0", 5);
  CHECK(revision_of(framed + "\x0a\x09\x08\x05\x10\x06\x18\x80\x02\x20\x07") == 256);
  CHECK(revision_of(framed + "\x0a\x04\x08\x05\x18\x07" + std::string(90, 'x')) == 7);
}

TEST_CASE("a reply without a revision, or cut before it, gives none", "[load]") {
  const std::string framed("\0\0\0\0\0", 5);
  CHECK(revision_of("") == std::nullopt);
  CHECK(revision_of(framed) == std::nullopt);
  CHECK(revision_of(framed + "\x0a\x02\x08\x05") == std::nullopt);
  CHECK(revision_of(framed + "\x12\x02\x18\x05") == std::nullopt);
  CHECK(revision_of(framed + "\x0a\x09\x08\x05\x10\x06\x18\x80") == std::nullopt);
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
