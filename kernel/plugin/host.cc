// SPDX-License-Identifier: Apache-2.0
#include "plugin/host.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace quorate::plugin {
namespace {

LogLevel to_level(int32_t level) {
  return static_cast<LogLevel>(std::clamp<int32_t>(level, QUORATE_LOG_DEBUG, QUORATE_LOG_ERROR));
}

bool breaks_line(char c) {
  return static_cast<unsigned char>(c) < 0x20 && c != '\t';
}

quorate_metric* define_metric(const HostServices& services, uint32_t kind, const char* name,
                              const char* labels, const char* help,
                              std::span<const double> bounds) {
  constexpr MetricKind kKinds[] = {MetricKind::kCounter, MetricKind::kGauge,
                                   MetricKind::kHistogram};
  static_assert(QUORATE_METRIC_COUNTER == 0 && QUORATE_METRIC_GAUGE == 1 &&
                QUORATE_METRIC_HISTOGRAM == 2);
  if (kind >= std::size(kKinds) || !name) return nullptr;
  const Result<Metric*> metric =
      services.metrics->define(kKinds[kind], name, labels ? labels : "", help ? help : "", bounds);
  if (!metric) {
    services.logger.warn("a plugin's {}", metric.error().message());
    return nullptr;
  }
  return reinterpret_cast<quorate_metric*>(*metric);
}

// A metric that could not be defined is NULL, and recording in it does nothing.
void record_metric(quorate_metric* metric, double value) {
  if (metric) reinterpret_cast<Metric*>(metric)->record(value);
}

}  // namespace

Host::Host(HostServices services) : services_(std::move(services)) {
  host_ = {};
  host_.struct_size = sizeof(host_);
  host_.abi_major = QUORATE_ABI_MAJOR;
  host_.abi_minor = QUORATE_ABI_MINOR;
  host_.ctx = this;
  host_.log = [](void* ctx, int32_t level, const char* component, quorate_slice text) {
    static_cast<const Host*>(ctx)->log(level, component, from_c(text));
  };
  host_.get_extension = [](void* ctx, const char* id) {
    return id ? static_cast<const Host*>(ctx)->extension(id) : nullptr;
  };

  member_ = {};
  member_.struct_size = sizeof(member_);
  member_.ctx = this;
  member_.read = [](void* ctx, quorate_member_info* out) {
    static_cast<const Host*>(ctx)->read_member(out);
  };
  member_.subscribe = [](void* ctx, void (*on_change)(void*), void* user) {
    static_cast<Host*>(ctx)->subscribe(on_change, user);
  };

  metrics_ = {};
  metrics_.struct_size = sizeof(metrics_);
  metrics_.ctx = this;
  metrics_.define = [](void* ctx, uint32_t kind, const char* name, const char* labels,
                       const char* help, const double* bounds, uint32_t bound_count) {
    return define_metric(static_cast<const Host*>(ctx)->services_, kind, name, labels, help,
                         {bounds, bound_count});
  };
  metrics_.record = record_metric;
  metrics_.render = [](void* ctx, uint32_t format, void (*sink)(void*, quorate_slice), void* user) {
    if (format != QUORATE_METRICS_PROMETHEUS_TEXT) return quorate_status{QUORATE_UNSUPPORTED};
    static_cast<const Host*>(ctx)->services_.metrics->render(
        [&](std::string_view piece) { sink(user, to_c(piece)); });
    return quorate_status{QUORATE_OK};
  };

  config_ = {};
  config_.struct_size = sizeof(config_);
  config_.ctx = this;
  config_.get = [](void* ctx, const char* name) {
    return name ? static_cast<const Host*>(ctx)->services_.config->get(name) : nullptr;
  };
}

Host::~Host() {
  close();
}

void Host::close() {
  if (subscription_.exchange(Subscription::kClosed) == Subscription::kActive)
    services_.member->unsubscribe(this);
}

void Host::on_member_change() {
  on_change_(user_);
}

// A line of the plugin's stays one line, whatever is in it.
void Host::log(int32_t level, const char* component, Slice text) const {
  LogSink* const sink = services_.logger.sink();
  if (!sink || !sink->enabled(to_level(level))) return;
  const Slice name = component && *component ? Slice(component) : Slice("plugin");
  if (std::none_of(text.begin(), text.end(), breaks_line)) {
    sink->write(to_level(level), name, text);
    return;
  }
  std::string line(text);
  std::replace_if(line.begin(), line.end(), breaks_line, ' ');
  sink->write(to_level(level), name, line);
}

const void* Host::extension(std::string_view id) const {
  if (id == QUORATE_HOST_MEMBER && services_.member) return &member_;
  if (id == QUORATE_HOST_METRICS && services_.metrics) return &metrics_;
  if (id == QUORATE_HOST_CONFIG && services_.config) return &config_;
  return nullptr;
}

// The caller's struct may be shorter or longer than ours.
void Host::read_member(quorate_member_info* out) const {
  quorate_member_info info = services_.member->read();
  const uint32_t size = out->struct_size;
  info.struct_size = size;
  std::memcpy(out, &info, std::min<size_t>(size, sizeof(info)));
}

void Host::subscribe(void (*on_change)(void*), void* user) {
  Subscription state = Subscription::kNone;
  if (!on_change || !subscription_.compare_exchange_strong(state, Subscription::kBegun)) {
    services_.logger.warn("a plugin subscribed to the member twice or too late; ignored");
    return;
  }
  on_change_ = on_change;
  user_ = user;
  services_.member->subscribe(this);
  state = Subscription::kBegun;
  // Closed meanwhile: close() could not end what had not begun.
  if (!subscription_.compare_exchange_strong(state, Subscription::kActive))
    services_.member->unsubscribe(this);
}

}  // namespace quorate::plugin
