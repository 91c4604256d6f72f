// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.h"

#include <catch2/catch.hpp>
#include <limits>
#include <thread>

namespace quorate {
namespace {

constexpr double kBounds[] = {0.5, 1};

Code refused(MetricRegistry& registry, MetricKind kind, std::string_view name,
             std::string_view labels, std::vector<double> bounds = {}) {
  return registry.define(kind, name, labels, "", bounds).status().code();
}

TEST_CASE("the same name and labels are the same metric", "[metrics]") {
  MetricRegistry registry;
  Metric& first = registry.counter("a_total", "k=\"1\"", "first");
  CHECK(&registry.counter("a_total", "k=\"1\"", "again") == &first);
  CHECK(&registry.counter("a_total", "k=\"2\"", "first") != &first);
  Metric& wide = registry.histogram("h", "", "", kBounds);
  CHECK(&registry.histogram("h", "", "", kBounds) == &wide);
}

TEST_CASE("counters and gauges are rendered with one head for a family, in order", "[metrics]") {
  MetricRegistry registry;
  registry.gauge("z", "", "the last").record(-2.5);
  registry.counter("a_total", "k=\"2\"", "line\nand \\").record(3);
  registry.counter("a_total", "k=\"1\"", "another help").increment();
  CHECK(registry.render() ==
        "# HELP a_total line\\nand \\\\\n"
        "# TYPE a_total counter\n"
        "a_total{k=\"1\"} 1\n"
        "a_total{k=\"2\"} 3\n"
        "# HELP z the last\n"
        "# TYPE z gauge\n"
        "z -2.5\n");
}

TEST_CASE("a histogram counts each observation up to its bound and in +Inf", "[metrics]") {
  MetricRegistry registry;
  Metric& metric = registry.histogram("h", "k=\"v\"", "help", kBounds);
  for (const double value : {0.25, 0.5, 0.75, 4.0}) metric.record(value);
  CHECK(metric.count() == 4);
  CHECK(registry.render() ==
        "# HELP h help\n"
        "# TYPE h histogram\n"
        "h_bucket{k=\"v\",le=\"0.5\"} 2\n"
        "h_bucket{k=\"v\",le=\"1\"} 3\n"
        "h_bucket{k=\"v\",le=\"+Inf\"} 4\n"
        "h_sum{k=\"v\"} 5.5\n"
        "h_count{k=\"v\"} 4\n");
}

TEST_CASE("a histogram without bounds has one bucket", "[metrics]") {
  MetricRegistry registry;
  registry.histogram("h", "", "", {}).record(7);
  CHECK(registry.render().find("h_bucket{le=\"+Inf\"} 1\n") != std::string::npos);
}

TEST_CASE("a counter never falls, a gauge is set and moved", "[metrics]") {
  MetricRegistry registry;
  Metric& counter = registry.counter("c", "", "");
  counter.record(2);
  counter.record(-1);
  counter.record(std::numeric_limits<double>::quiet_NaN());
  CHECK(counter.value() == 2);
  Metric& gauge = registry.gauge("g", "", "");
  gauge.record(7);
  gauge.record(5);
  gauge.add(-2);
  CHECK(gauge.value() == 3);
}

TEST_CASE("values that are no number are spelled as Prometheus does", "[metrics]") {
  MetricRegistry registry;
  Metric& gauge = registry.gauge("g", "", "");
  gauge.record(std::numeric_limits<double>::infinity());
  CHECK(registry.render().find("g +Inf\n") != std::string::npos);
  gauge.record(-std::numeric_limits<double>::infinity());
  CHECK(registry.render().find("g -Inf\n") != std::string::npos);
  gauge.record(std::numeric_limits<double>::quiet_NaN());
  CHECK(registry.render().find("g NaN\n") != std::string::npos);
}

TEST_CASE("a computed gauge is read when it is rendered", "[metrics]") {
  MetricRegistry registry;
  double value = 1;
  registry.computed(MetricKind::kGauge, "g", "", "", [&] { return value; });
  value = 2;
  CHECK(registry.render().find("\ng 2\n") != std::string::npos);
}

TEST_CASE("names, labels and bounds that Prometheus would not read are refused", "[metrics]") {
  MetricRegistry registry;
  for (const char* name : {"", "1a", "a-b", "a b"})
    CHECK(refused(registry, MetricKind::kCounter, name, "") == Code::kInvalidArgument);
  for (const char* labels : {"a", "a=b", "a=\"b", "a=\"b\",", "=\"b\"", "a=\"\\x\"", "a=\"b\nc\"",
                             "le=\"1\"", "a=\"b\"c=\"d\"", ",a=\"b\""})
    CHECK(refused(registry, MetricKind::kCounter, "a", labels) == Code::kInvalidArgument);
  const double infinity = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& bounds :
       {std::vector<double>{2, 1}, {1, 1}, {1, infinity}, std::vector<double>(65, 1)})
    CHECK(refused(registry, MetricKind::kHistogram, "h", "", bounds) == Code::kInvalidArgument);
  CHECK(refused(registry, MetricKind::kGauge, "g", "", {1}) == Code::kInvalidArgument);
  CHECK(registry.render().empty());
  CHECK(registry.define(MetricKind::kCounter, "a:b_1", "a=\"\\\\\\\"\\n\",b=\"\"", ""));
}

TEST_CASE("a family has one kind and one list of bounds", "[metrics]") {
  MetricRegistry registry;
  registry.histogram("h", "k=\"1\"", "", kBounds);
  CHECK(refused(registry, MetricKind::kCounter, "h", "") == Code::kInvalidArgument);
  CHECK(refused(registry, MetricKind::kHistogram, "h", "", {1}) == Code::kInvalidArgument);
}

TEST_CASE("a registry takes no more metrics than its bound", "[metrics]") {
  MetricRegistry registry;
  for (size_t i = 0; i < MetricRegistry::kMetricsMax; ++i)
    registry.gauge("g" + std::to_string(i), "", "");
  CHECK(refused(registry, MetricKind::kGauge, "one_more", "") == Code::kNoSpace);
  CHECK(registry.define(MetricKind::kGauge, "g7", "", ""));
}

TEST_CASE("threads that define and record the same metric lose nothing", "[metrics]") {
  MetricRegistry registry;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        registry.counter("c" + std::to_string(i % 50), "", "").increment();
        registry.histogram("h", "", "", kBounds).record(1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 50; ++i)
    CHECK(registry.counter("c" + std::to_string(i), "", "").value() == 40);
  CHECK(registry.histogram("h", "", "", kBounds).count() == 2000);
}

TEST_CASE("exponential bounds start at the start and grow by the factor", "[metrics]") {
  CHECK(exponential_bounds(0.001, 2, 3) == std::vector<double>{0.001, 0.002, 0.004});
}

}  // namespace
}  // namespace quorate
