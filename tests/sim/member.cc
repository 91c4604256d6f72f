// SPDX-License-Identifier: Apache-2.0
#include "sim/member.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace quorate::sim {
namespace {

constexpr uint64_t kAnswerNsMin = 20'000, kAnswerNsSpread = 300'000;

}  // namespace

SimMember::SimMember(const Parts& parts, size_t number, uint64_t seed)
    : machine(*parts.world, seed),
      engines(machine.disk(), parts.engine, parts.durable_engine, parts.engine_in_memory,
              parts.real_dir),
      parts_(parts),
      number_(number) {
  config.name = name_of(number);
  config.data_dir = "/data/" + config.name;
  config.backend = {"sim", {{"engines", engines.address()}}};
  config.transport = {"sim", {{"network", parts.network->address()}}};
  config.frontends = {{"sim", {{"owner", test::address_of(this)}}}};
  config.listen_peer_urls = config.advertise_peer_urls = {url_of(number)};
  config.advertise_client_urls = {"http://client." + config.name};
  static_cast<void>(machine.disk().create_dir("/data"));
  static_cast<void>(machine.disk().sync_dir("/"));
}

SimMember::~SimMember() {
  dying_ = true;
  server_.reset();
  process_ended();
}

Status SimMember::start() {
  ++process_;
  ready_ = dying_ = false;
  failure_ = Status();
  parts_.oracle->started(number_);
  const std::vector<plugin::StaticPlugin> plugins = {
      {"backend_sim", &SimEngines::plugin(parts_.durable_engine)},
      {"transport_sim", &test::SimNetwork::plugin()},
      {"frontend_sim", &test::services_plugin<SimMember>()}};
  loader_ = std::make_unique<plugin::PluginLoader>("/nowhere", plugins, parts_.logger);
  starting_ = true;  // a joiner asks others, which runs the world on
  auto started = server::Server::start(machine, config, *loader_, this, parts_.logger);
  starting_ = false;
  if (!started) return std::move(started).error();
  server_ = std::move(*started);
  id_ = server_->state().member_id;
  return server_->serve();
}

void SimMember::crash(uint64_t seed) {
  dying_ = true;
  server_.reset();
  machine.crash(seed);
  process_ended();
}

void SimMember::kill() {
  dying_ = true;
  server_.reset();
  machine.disk().kill();
  process_ended();
}

Status SimMember::stop() {
  stopping_ = true;
  Status status = server_->stop(1000);
  stopping_ = false;
  const bool gone = machine.is_gone();
  dying_ = true;
  server_.reset();
  if (!gone) machine.disk().kill();
  process_ended();
  return status;
}

void SimMember::process_ended() {
  services_ = nullptr;
  machine.paused_until_ns = 0;
  engines.process_ended();
  failure_expected_ = false;
  for (auto& [number, call] : std::exchange(calls_, {})) {
    call->died = true;
    call->code = Code::kUnknownOutcome;
    ++call->completions;
    finish(call);
  }
  for (auto& [stream, watch] : std::exchange(watches_, {}))
    if (!watch->ended) watch->sink->ended();
}

void SimMember::failed(const Status& status) {
  if (machine.is_gone()) return;
  if (failure_.ok()) failure_ = status;
}

void SimMember::applied(const raft::Entry& entry, const Status& status, const mvcc::Store& store) {
  if (!machine.is_gone()) parts_.oracle->applied(number_, entry, status, store);
}

void SimMember::installed(const mvcc::Store& store) {
  if (!machine.is_gone()) parts_.oracle->installed(number_, store);
}

// ---------------------------------------------------------------- calls

void SimMember::finish(const std::shared_ptr<Call>& call) {
  const uint64_t number = call->number;
  parts_.world->note(number ^ (uint64_t{number_} << 56) ^
                     (static_cast<uint64_t>(call->code) << 40));
  const uint64_t delay = kAnswerNsMin + (number * 0x9e3779b97f4a7c15 >> 32) % kAnswerNsSpread;
  parts_.timers->after(delay, [call, world = parts_.world] {
    call->answered_ns = world->clock().now_ns();
    if (call->done) call->done(*call);
  });
}

std::shared_ptr<Call> SimMember::call(const Bytes& request, uint64_t timeout_ms,
                                      std::function<void(const Call&)> done) {
  auto call = std::make_shared<Call>();
  call->number = next_call_++;
  call->member = number_;
  call->done = std::move(done);
  if (services_ == nullptr) {
    call->code = Code::kUnavailable;
    ++call->completions;
    finish(call);
    return call;
  }
  calls_.emplace(call->number, call);
  quorate_call options{};
  options.struct_size = sizeof options;
  options.timeout_ms = timeout_ms;
  quorate_submission item{&options, to_c(request.slice()),
                          reinterpret_cast<void*>(static_cast<uintptr_t>(call->number)), 0, 0};
  services_->submit_batch(services_->ctx, on_done, this, &item, sizeof item, 1);
  if (item.status != QUORATE_OK) {
    call->code = static_cast<Code>(item.status);
    ++call->completions;
    calls_.erase(call->number);
    finish(call);
  } else {
    call->id = item.call_id;
  }
  return call;
}

void SimMember::cancel(const Call& call) {
  if (services_ != nullptr && call.id != 0) services_->cancel(services_->ctx, call.id);
}

void SimMember::on_done(void* sink, const quorate_completion* items, size_t count) {
  auto* member = static_cast<SimMember*>(sink);
  if (member->dying_ || member->machine.is_gone()) return;
  for (size_t i = 0; i < count; ++i) {
    const auto number = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(items[i].user));
    const auto found = member->calls_.find(number);
    if (found == member->calls_.end()) {
      member->parts_.verdicts->add(
          Checker::kCalls, member->parts_.world->clock().now_ns(),
          fmt::format("member {} answered call {} twice, or one that it never got", member->number_,
                      number));
      continue;
    }
    const std::shared_ptr<Call> call = found->second;
    member->calls_.erase(found);
    call->code = static_cast<Code>(items[i].code);
    call->response = Bytes::copy(from_c(items[i].response.bytes));
    ++call->completions;
    member->finish(call);
  }
}

// ---------------------------------------------------------------- watches

uint64_t SimMember::open_watch(WatchSink* sink) {
  if (services_ == nullptr) return 0;
  auto watch = std::make_unique<OpenWatch>(OpenWatch{this, sink, 0});
  uint64_t stream = 0;
  if (services_->watch_open(services_->ctx, nullptr, on_watch, watch.get(), &stream, nullptr) !=
      QUORATE_OK)
    return 0;
  watch->stream = stream;
  watches_.emplace(stream, std::move(watch));
  return stream;
}

void SimMember::add_watch(uint64_t stream, uint64_t watch, const Bytes& request) {
  services_->watch_add(services_->ctx, stream, watch, to_c(request.slice()));
}

void SimMember::close_watch(uint64_t stream) {
  if (services_ != nullptr) services_->watch_close(services_->ctx, stream);
}

quorate_status SimMember::on_watch(void* user, const quorate_watch_item* items, size_t count) {
  auto* watch = static_cast<OpenWatch*>(user);
  SimMember& member = *watch->member;
  if (member.dying_ || member.machine.is_gone()) return QUORATE_OK;
  if (watch->ended)
    member.parts_.verdicts->add(
        Checker::kCalls, member.parts_.world->clock().now_ns(),
        fmt::format("member {}: a watch stream got something after its end", member.number_));
  if (!watch->sink->items(items, count)) return QUORATE_BUSY;
  for (size_t i = 0; i < count; ++i) {
    if (items[i].watch != QUORATE_WATCH_ALL || items[i].kind != QUORATE_WATCH_CLOSED) continue;
    watch->ended = true;
    watch->sink->ended();
  }
  return QUORATE_OK;
}

}  // namespace quorate::sim
