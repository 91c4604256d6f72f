// SPDX-License-Identifier: Apache-2.0
// Figures for operators: counters, gauges and histograms under a name and labels, and their text in
// Prometheus' exposition format.
//
// Recording is a few atomic operations, on any thread, and never allocates. A metric, once defined,
// lives as long as its registry. Each server has a registry of its own. What is defined with the
// same name forms a family: one kind, one help text, and for histograms one list of bounds.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quorate {

enum class MetricKind : uint8_t { kCounter, kGauge, kHistogram };

class Metric {
 public:
  Metric(const Metric&) = delete;
  Metric& operator=(const Metric&) = delete;

  // Adds to a counter (a negative or NaN value is ignored: a counter never falls), sets a gauge,
  // observes in a histogram. Any thread.
  void record(double value);
  // Adds to a gauge or a counter. Any thread.
  void add(double value);
  void increment() { record(1); }

  MetricKind kind() const { return kind_; }
  // The value of a counter or gauge (that of a callback: computed now); the sum of a histogram.
  double value() const;
  // The number of observations of a histogram.
  uint64_t count() const;

 private:
  friend class MetricRegistry;
  Metric() = default;
  void render_sample(std::string& to) const;
  void render_histogram(std::string& to) const;

  MetricKind kind_ = MetricKind::kCounter;
  std::string name_, labels_, help_;
  std::function<double()> callback_;               // empty: the value is value_
  std::atomic<double> value_{0};                   // the sum of a histogram
  std::vector<double> bounds_;                     // ascending, finite
  std::unique_ptr<std::atomic<uint64_t>[]> hits_;  // per bound, not cumulative; the last: above all
  Metric* next_ = nullptr;
};

class MetricRegistry {
 public:
  // More than this is a mistake: labels made of something that grows.
  static constexpr size_t kMetricsMax = 4'000;
  static constexpr size_t kBoundsMax = 64;

  MetricRegistry() = default;
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;
  ~MetricRegistry();

  // The metric of this name and these labels, made at the first call. labels: "" or
  // `k="v",k2="v2"`, with backslash, quote and newline in a value escaped by a backslash.
  // kInvalidArgument: a name, label or bound that Prometheus would not read, or a clash with the
  // family in kind or bounds; kNoSpace: kMetricsMax are there. Any thread.
  Result<Metric*> define(MetricKind kind, std::string_view name, std::string_view labels,
                         std::string_view help, std::span<const double> bounds = {});

  // The same for names that stand in our own code. REQUIRES: define() succeeds.
  Metric& counter(std::string_view name, std::string_view labels, std::string_view help);
  Metric& gauge(std::string_view name, std::string_view labels, std::string_view help);
  Metric& histogram(std::string_view name, std::string_view labels, std::string_view help,
                    std::span<const double> bounds);
  // A counter or gauge whose value is computed when it is read, on the thread that reads it;
  // read() may be called as long as the registry lives, on several threads at once. REQUIRES:
  // name and labels are new.
  void computed(MetricKind kind, std::string_view name, std::string_view labels,
                std::string_view help, std::function<double()> read);

  // The text, a family a piece, ordered by name and labels; sink runs inside the call. Any thread,
  // beside define() and record().
  void render(const std::function<void(std::string_view)>& sink) const;
  std::string render() const;

 private:
  Result<Metric*> insert(std::unique_ptr<Metric> metric);

  // Grows at the head only, so that readers and writers need no lock.
  std::atomic<Metric*> head_{nullptr};
  std::atomic<size_t> count_{0};
};

// Bounds for durations in seconds as etcd's histograms have them: `count` bounds from `start`, each
// `factor` times the one before.
std::vector<double> exponential_bounds(double start, double factor, int count);

}  // namespace quorate
