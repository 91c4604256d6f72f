// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace quorate {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name(std::string_view text, bool colon_allowed) {
  if (text.empty() || is_digit(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || is_digit(c) || (colon_allowed && c == ':');
  });
}

// Cuts `k="v"` off the front.
bool take_label(std::string_view& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || !is_name(text.substr(0, equals), false)) return false;
  if (text.substr(0, equals) == "le") return false;
  text.remove_prefix(equals + 1);
  if (text.empty() || text[0] != '"') return false;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\n') return false;
    if (text[i] == '\\') {
      ++i;
      if (i == text.size() || (text[i] != '\\' && text[i] != '"' && text[i] != 'n')) return false;
    } else if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

bool are_labels(std::string_view text) {
  while (!text.empty()) {
    if (!take_label(text)) return false;
    if (text.empty()) return true;
    if (text[0] != ',' || text.size() == 1) return false;
    text.remove_prefix(1);
  }
  return true;
}

bool are_bounds(std::span<const double> bounds) {
  const bool finite =
      std::all_of(bounds.begin(), bounds.end(), [](double bound) { return std::isfinite(bound); });
  return finite && std::is_sorted(bounds.begin(), bounds.end(), std::less_equal<>()) &&
         bounds.size() <= MetricRegistry::kBoundsMax;
}

Status refusal(std::string_view name, std::string_view labels, std::string_view reason) {
  return Status(Code::kInvalidArgument, fmt::format("metric {}{{{}}}: {}", name, labels, reason));
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string_view kind_name(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter: return "counter";
    case MetricKind::kGauge: return "gauge";
    case MetricKind::kHistogram: return "histogram";
  }
  return "untyped";
}

std::string escaped_help(std::string_view help) {
  std::string text;
  for (const char c : help) {
    if (c == '\\')
      text += "\\\\";
    else if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

void append_line(std::string& to, std::string_view name, std::string_view suffix,
                 std::string_view labels, std::string_view more_labels, std::string_view value) {
  to.append(name).append(suffix);
  if (!labels.empty() || !more_labels.empty()) {
    const std::string_view comma = labels.empty() || more_labels.empty() ? "" : ",";
    to.append("{").append(labels).append(comma).append(more_labels).append("}");
  }
  to.append(" ").append(value).append("\n");
}

}  // namespace

void Metric::record(double value) {
  switch (kind_) {
    case MetricKind::kCounter:
      if (value > 0) value_.fetch_add(value, std::memory_order_relaxed);
      return;
    case MetricKind::kGauge: value_.store(value, std::memory_order_relaxed); return;
    case MetricKind::kHistogram: {
      // A bound belongs to its bucket: le is "less or equal".
      const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value);
      hits_[bucket - bounds_.begin()].fetch_add(1, std::memory_order_relaxed);
      value_.fetch_add(value, std::memory_order_relaxed);
      return;
    }
  }
}

void Metric::add(double value) {
  if (kind_ == MetricKind::kGauge)
    value_.fetch_add(value, std::memory_order_relaxed);
  else
    record(value);
}

double Metric::value() const {
  return callback_ ? callback_() : value_.load(std::memory_order_relaxed);
}

uint64_t Metric::count() const {
  uint64_t sum = 0;
  if (hits_)
    for (size_t i = 0; i <= bounds_.size(); ++i) sum += hits_[i].load(std::memory_order_relaxed);
  return sum;
}

void Metric::render_sample(std::string& to) const {
  append_line(to, name_, "", labels_, "", number(value()));
}

// The count is the sum of the buckets as they are read here, so that +Inf and _count agree.
void Metric::render_histogram(std::string& to) const {
  uint64_t below = 0;
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    below += hits_[i].load(std::memory_order_relaxed);
    const std::string bound = i < bounds_.size() ? number(bounds_[i]) : "+Inf";
    append_line(to, name_, "_bucket", labels_, "le=\"" + bound + "\"", fmt::format("{}", below));
  }
  append_line(to, name_, "_sum", labels_, "", number(value()));
  append_line(to, name_, "_count", labels_, "", fmt::format("{}", below));
}

MetricRegistry::~MetricRegistry() {
  for (Metric* metric = head_.load(); metric;) delete std::exchange(metric, metric->next_);
}

Result<Metric*> MetricRegistry::define(MetricKind kind, std::string_view name,
                                       std::string_view labels, std::string_view help,
                                       std::span<const double> bounds) {
  if (!is_name(name, true)) return refusal(name, labels, "the name is not one of Prometheus'");
  if (!are_labels(labels)) return refusal(name, labels, "write labels as k=\"v\",k2=\"v2\"");
  if (kind != MetricKind::kHistogram && !bounds.empty())
    return refusal(name, labels, "only a histogram has bounds");
  if (!are_bounds(bounds))
    return refusal(name, labels,
                   fmt::format("bounds must ascend and be finite, {} at most", kBoundsMax));
  std::unique_ptr<Metric> metric(new Metric);
  metric->kind_ = kind;
  metric->name_ = name;
  metric->labels_ = labels;
  metric->help_ = help;
  if (kind == MetricKind::kHistogram) {
    metric->bounds_.assign(bounds.begin(), bounds.end());
    metric->hits_ = std::make_unique<std::atomic<uint64_t>[]>(bounds.size() + 1);
  }
  return insert(std::move(metric));
}

// Whoever loses the race for the head looks through what came in meanwhile, and only then tries
// again: so two definitions of the same metric meet, whichever is first.
Result<Metric*> MetricRegistry::insert(std::unique_ptr<Metric> metric) {
  Metric* seen = nullptr;
  Metric* head = head_.load(std::memory_order_acquire);
  for (;;) {
    for (Metric* other = head; other != seen; other = other->next_) {
      if (other->name_ != metric->name_) continue;
      if (other->kind_ != metric->kind_ || other->bounds_ != metric->bounds_)
        return refusal(metric->name_, metric->labels_,
                       fmt::format("the name belongs to a {} with other bounds or of another kind",
                                   kind_name(other->kind_)));
      if (other->labels_ == metric->labels_) return other;
    }
    if (count_.load(std::memory_order_relaxed) >= kMetricsMax)
      return Status(Code::kNoSpace, fmt::format("metric {}{{{}}}: {} metrics are there already",
                                                metric->name_, metric->labels_, kMetricsMax));
    seen = head;
    metric->next_ = head;
    if (head_.compare_exchange_weak(head, metric.get(), std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      count_.fetch_add(1, std::memory_order_relaxed);
      return metric.release();
    }
  }
}

Metric& MetricRegistry::counter(std::string_view name, std::string_view labels,
                                std::string_view help) {
  return **define(MetricKind::kCounter, name, labels, help);
}

Metric& MetricRegistry::gauge(std::string_view name, std::string_view labels,
                              std::string_view help) {
  return **define(MetricKind::kGauge, name, labels, help);
}

Metric& MetricRegistry::histogram(std::string_view name, std::string_view labels,
                                  std::string_view help, std::span<const double> bounds) {
  return **define(MetricKind::kHistogram, name, labels, help, bounds);
}

void MetricRegistry::computed(MetricKind kind, std::string_view name, std::string_view labels,
                              std::string_view help, std::function<double()> read) {
  QUORATE_CHECK(kind != MetricKind::kHistogram, "a histogram cannot be computed");
  QUORATE_CHECK(is_name(name, true) && are_labels(labels), "not a name and labels of Prometheus'");
  std::unique_ptr<Metric> metric(new Metric);
  metric->kind_ = kind;
  metric->name_ = name;
  metric->labels_ = labels;
  metric->help_ = help;
  metric->callback_ = std::move(read);
  const Metric* const ours = metric.get();
  const Result<Metric*> inserted = insert(std::move(metric));
  QUORATE_CHECK(*inserted == ours, "a computed metric was defined twice");
}

void MetricRegistry::render(const std::function<void(std::string_view)>& sink) const {
  std::vector<const Metric*> metrics;
  for (const Metric* metric = head_.load(std::memory_order_acquire); metric; metric = metric->next_)
    metrics.push_back(metric);
  // The help of a family is that of its first definition, so the oldest stays in front.
  std::reverse(metrics.begin(), metrics.end());
  std::stable_sort(metrics.begin(), metrics.end(),
                   [](const Metric* a, const Metric* b) { return a->name_ < b->name_; });
  for (auto family = metrics.begin(); family != metrics.end();) {
    const Metric& first = **family;
    const auto end = std::find_if(family, metrics.end(),
                                  [&](const Metric* other) { return other->name_ != first.name_; });
    std::string text = fmt::format("# HELP {} {}\n# TYPE {} {}\n", first.name_,
                                   escaped_help(first.help_), first.name_, kind_name(first.kind_));
    std::sort(family, end,
              [](const Metric* a, const Metric* b) { return a->labels_ < b->labels_; });
    for (; family != end; ++family) {
      if ((*family)->kind_ == MetricKind::kHistogram)
        (*family)->render_histogram(text);
      else
        (*family)->render_sample(text);
    }
    sink(text);
  }
}

std::string MetricRegistry::render() const {
  std::string all;
  render([&](std::string_view piece) { all += piece; });
  return all;
}

std::vector<double> exponential_bounds(double start, double factor, int count) {
  std::vector<double> bounds;
  for (double bound = start; count > 0; --count, bound *= factor) bounds.push_back(bound);
  return bounds;
}

}  // namespace quorate
