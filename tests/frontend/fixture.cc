// SPDX-License-Identifier: Apache-2.0
#include "frontend/fixture.h"

#include <cstring>
#include <stdexcept>

#include "frontend_etcd/address.h"
#include "frontend_etcd/wire.h"
#include "sdk/entry.h"
#include "sdk/slice.h"

QUORATE_STATIC_PLUGIN_DECLARE(frontend_etcd);

namespace quorate::tests {

struct FakeHostCalls {
  static FakeHost& of(void* ctx) { return *static_cast<FakeHost*>(ctx); }
  static void log(void* ctx, int32_t, const char*, quorate_slice text) {
    const std::lock_guard lock(of(ctx).mutex_);
    of(ctx).lines_.emplace_back(sdk::view(text));
  }
  static const void* extension(void* ctx, const char* id) {
    const std::string_view name(id);
    if (name == QUORATE_HOST_MEMBER) return &of(ctx).member_table_;
    if (name == QUORATE_HOST_METRICS) return &of(ctx).metrics_table_;
    return name == QUORATE_HOST_CONFIG ? &of(ctx).config_table_ : nullptr;
  }
  static void read(void* ctx, quorate_member_info* out) {
    const std::lock_guard lock(of(ctx).mutex_);
    *out = of(ctx).member;
  }
  static void subscribe(void* ctx, void (*on_change)(void*), void* user) {
    const std::lock_guard lock(of(ctx).mutex_);
    of(ctx).on_change_ = on_change;
    of(ctx).user_ = user;
  }
  static quorate_metric* define(void* ctx, uint32_t, const char* name, const char*, const char*,
                                const double*, uint32_t) {
    const std::lock_guard lock(of(ctx).mutex_);
    return &of(ctx).metrics_.emplace_back(quorate_metric{name, &of(ctx).mutex_, 0});
  }
  static void record(quorate_metric* metric, double value) {
    const std::lock_guard lock(*metric->mutex);
    metric->sum += value;
  }
  static quorate_status render(void* ctx, uint32_t, void (*sink)(void*, quorate_slice),
                               void* user) {
    sink(user, sdk::slice(of(ctx).metrics));
    return QUORATE_OK;
  }
  static const char* get(void* ctx, const char* name) {
    const auto found = of(ctx).settings.find(name);
    return found == of(ctx).settings.end() ? nullptr : found->second.c_str();
  }
};

FakeHost::FakeHost() {
  using C = FakeHostCalls;
  host_ = {sizeof host_, QUORATE_ABI_MAJOR, QUORATE_ABI_MINOR, this, &C::log, &C::extension};
  member_table_ = {sizeof member_table_, this, &C::read, &C::subscribe};
  metrics_table_ = {sizeof metrics_table_, this, &C::define, &C::record, &C::render};
  config_table_ = {sizeof config_table_, this, &C::get};
  member.cluster_id = 1;
  member.member_id = 2;
  member.leader_id = 2;
  member.term = 3;
  member.revision = 7;
  std::strcpy(member.server_version, "3.6.0");
  std::strcpy(member.cluster_version, "3.6.0");
}

void FakeHost::change(const std::function<void(quorate_member_info&)>& how) {
  const std::lock_guard lock(mutex_);
  how(member);
  if (on_change_ != nullptr) on_change_(user_);
}

void FakeHost::end_subscription() {
  const std::lock_guard lock(mutex_);
  on_change_ = nullptr;
}

double FakeHost::recorded(const std::string& name) {
  const std::lock_guard lock(mutex_);
  double sum = 0;
  for (const quorate_metric& metric : metrics_)
    if (metric.name == name) sum += metric.sum;
  return sum;
}

std::vector<std::string> FakeHost::log_lines() {
  const std::lock_guard lock(mutex_);
  return lines_;
}

namespace {
const quorate_frontend_factory* factory() {
  return static_cast<const quorate_frontend_factory*>(
      quorate_static_frontend_etcd()->get_factory(QUORATE_FRONTEND_FACTORY));
}
}  // namespace

Frontend::Frontend(Given given) : given_(std::move(given)) {}

Frontend::~Frontend() {
  destroy();
}

void Frontend::create() {
  std::vector<const char*> urls;
  for (const std::string& url : given_.urls) urls.push_back(url.c_str());
  std::vector<quorate_option> options;
  for (const auto& [key, value] : given_.options) options.push_back({key.c_str(), value.c_str()});
  const quorate_frontend_options all{sizeof all,     static_cast<uint32_t>(urls.size()),
                                     urls.data(),    host.host(),
                                     options.data(), static_cast<uint32_t>(options.size())};
  quorate_error error{};
  error.struct_size = sizeof error;
  if (factory()->create(&all, kernel.services(), &frontend_, &error) != QUORATE_OK)
    error_ = error.message;
}

std::string Frontend::start_error() {
  if (std::exchange(started_, true)) return error_;
  create();
  if (!error_.empty()) return error_;
  quorate_error error{};
  error.struct_size = sizeof error;
  if (factory()->start(frontend_, &error) != QUORATE_OK) error_ = error.message;
  return error_;
}

void Frontend::start() {
  if (!start_error().empty()) throw std::runtime_error(error_);
}

std::string Frontend::address() {
  start();
  const auto* extension = static_cast<const quorate_frontend_address*>(
      factory()->get_extension(frontend_, QUORATE_FRONTEND_ADDRESS));
  return std::string(extension->bound(frontend_, 0)).substr(std::strlen("http://"));
}

uint16_t Frontend::port() {
  const std::string text = address();
  return static_cast<uint16_t>(std::stoi(text.substr(text.rfind(':') + 1)));
}

void Frontend::stop(uint64_t drain_ms) {
  if (frontend_ == nullptr || std::exchange(stopped_, true)) return;
  factory()->stop(frontend_, drain_ms);
  host.end_subscription();
}

void Frontend::destroy() {
  stop(0);
  kernel.finish_all();
  if (frontend_ != nullptr) factory()->destroy(std::exchange(frontend_, nullptr));
}

using frontend_etcd::wire::Writer;

std::string record(const std::string& key, const std::string& value, int64_t create, int64_t mod,
                   int64_t version, int64_t lease) {
  std::string bytes;
  Writer out(bytes);
  out.bytes(1, key);
  out.number(2, create);
  out.number(3, mod);
  out.number(4, version);
  out.bytes(5, value);
  out.number(6, lease);
  return bytes;
}

std::string put_event(const std::string& key, const std::string& value, int64_t revision) {
  std::string bytes;
  Writer(bytes).bytes_always(2, record(key, value, revision, revision));
  return bytes;
}

std::string run_of(const std::vector<std::string>& records, char tag) {
  std::string bytes;
  for (const std::string& one : records)
    Writer(bytes).bytes_always(static_cast<uint32_t>(tag) >> 3, one);
  return bytes;
}

}  // namespace quorate::tests
