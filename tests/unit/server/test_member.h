// SPDX-License-Identifier: Apache-2.0
// A whole member on the test's own thread: the real server over virtual time, a disk that forgets
// what a disk may forget, and the memory engine; the test is its front-end.
//
//   TestMember member;
//   member.start();
//   member.put("a", "1");
//   member.crash(seed);
//   member.start();
#pragma once

#include <catch2/catch.hpp>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/loader.h"
#include "server/server.h"
#include "support/requests.h"
#include "support/sim_network.h"
#include "support/temp_dir.h"
#include "support/test_env.h"
#include "support/test_machine.h"
#include "support/test_plugin.h"

extern "C" const quorate_plugin* quorate_static_backend_memory(void);

namespace quorate::test {

struct Answer {
  Code code = Code::kOk;
  Bytes bytes;
  int completions = 0;

  bool done() const { return completions > 0; }
  // Keep the reader while what it returns is used.
  schema::SegmentReader reader() const { return schema::SegmentReader(bytes.slice()); }
  int64_t revision() const { return reader().root<schema::Response>().getHeader().getRevision(); }
};

struct WatchItem {
  uint64_t watch = 0;
  uint32_t kind = 0;
  Code code = Code::kOk;
  int64_t revision = 0;
  int64_t compact_revision = 0;
  std::vector<std::string> events;
};

struct Piece {
  uint32_t kind = 0;
  Code code = Code::kOk;
  std::string bytes;
};

class TestMember : private server::ServerEvents {
 public:
  // A member alone, in a world of its own.
  explicit TestMember(uint64_t seed = 1)
      : own_world_(std::make_unique<TestEnv>(seed)), env(*own_world_), machine(env, seed) {
    configure();
    config.advertise_peer_urls = {"http://127.0.0.1:2380"};
    config.initial_cluster = {{"default", config.advertise_peer_urls}};
  }
  // One of several in `world`, which reach each other through `network` under the URL
  // url_of(name); `world` and `network` outlive it.
  TestMember(TestEnv& world, SimNetwork& network, const std::string& name,
             const std::vector<std::string>& names, uint64_t seed)
      : env(world), machine(world, seed) {
    configure();
    config.name = name;
    config.wal_segment_bytes = 256 << 10;
    config.transport = {"sim", {{"network", network.address()}}};
    config.listen_peer_urls = config.advertise_peer_urls = {url_of(name)};
    config.advertise_client_urls = {"http://client." + name};
    for (const std::string& other : names)
      config.initial_cluster.push_back({other, {url_of(other)}});
  }
  ~TestMember() override { server_.reset(); }
  static std::string url_of(const std::string& name) { return "http://" + name + ":1"; }

  // Starts. It is ready once a leader has its name in the log.
  Status begin() {
    is_ready = false;
    failure = Status();
    std::vector<plugin::StaticPlugin> plugins = {
        {"backend_memory", quorate_static_backend_memory()},
        {"transport_sim", &SimNetwork::plugin()},
        {"frontend_test", &services_plugin<TestMember>()}};
    plugins.insert(plugins.end(), more_plugins.begin(), more_plugins.end());
    loader_ = std::make_unique<plugin::PluginLoader>("/nowhere", plugins, Logger());
    auto started = server::Server::start(machine, config, *loader_, this, Logger());
    if (!started) return std::move(started).error();
    server_ = std::move(*started);
    return server_->serve();
  }
  // Starts, and runs until it is ready to serve or has refused. virtual seconds pass.
  Status try_start() {
    if (Status status = begin(); !status.ok()) return status;
    for (int i = 0; i < 100 && !is_ready && failure.ok(); ++i) env.advance_ms(100);
    return Status();
  }
  void start() {
    const Status status = try_start();
    INFO(status.to_string());
    REQUIRE(status.ok());
    REQUIRE(is_ready);
  }
  // The power goes: what was not synced may be gone.
  void crash(uint64_t seed) {
    server_.reset();
    machine.crash(seed);
  }
  // As kill -9: what was written is there.
  void kill() {
    server_.reset();
    machine.disk().kill();
  }
  bool runs_now() const { return server_ != nullptr; }
  server::Server& server() { return *server_; }

  // Sends a request; the answer comes as the member runs.
  std::shared_ptr<Answer> send(const Bytes& request, uint64_t timeout_ms = 0) {
    return send_batch({request}, timeout_ms).front();
  }
  // Sends all at once.
  std::vector<std::shared_ptr<Answer>> send_batch(const std::vector<Bytes>& requests,
                                                  uint64_t timeout_ms = 0) {
    quorate_call call{};
    call.struct_size = sizeof call;
    call.timeout_ms = timeout_ms;
    std::vector<std::shared_ptr<Answer>> answers;
    std::vector<quorate_submission> items;
    for (const Bytes& request : requests) {
      answers.push_back(answers_.emplace_back(std::make_shared<Answer>()));
      items.push_back({&call, to_c(request.slice()), answers.back().get(), 0, 0});
    }
    services_->submit_batch(services_->ctx, on_done, this, items.data(), sizeof items[0],
                            items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].status == QUORATE_OK) continue;
      answers[i]->code = static_cast<Code>(items[i].status);
      answers[i]->completions = 1;
    }
    last_call = items.back().call_id;
    return answers;
  }
  // Sends, and runs until the answer is there.
  Answer call(const Bytes& request) {
    auto answer = send(request);
    for (int i = 0; i < 200 && !answer->done(); ++i) {
      env.run_until_idle();
      if (!answer->done()) env.advance_ms(100);
    }
    REQUIRE(answer->completions == 1);
    return *answer;
  }
  int64_t put(std::string_view key, std::string_view value, int64_t lease = 0) {
    const Answer answer = call(put_request(key, value, lease));
    REQUIRE(answer.code == Code::kOk);
    return answer.revision();
  }
  // How many keys there are in [key, end).
  int64_t count(std::string_view key, std::string_view end = "", int64_t revision = 0) {
    const Answer answer = call(range_request(key, end, revision));
    REQUIRE(answer.code == Code::kOk);
    return answer.reader().root<schema::Response>().getRange().getCount();
  }
  // The runs of a range.
  std::string runs(std::string_view key, std::string_view end = "", int64_t revision = 0) {
    const Answer answer = call(range_request(key, end, revision));
    REQUIRE(answer.code == Code::kOk);
    return std::string(chars(answer.reader().root<schema::Response>().getRange().getKvs()));
  }

  uint64_t open_watches() {
    uint64_t stream = 0;
    REQUIRE(services_->watch_open(services_->ctx, nullptr, on_watch, this, &stream, nullptr) ==
            QUORATE_OK);
    return stream;
  }
  uint64_t open_pull(const Bytes& request) {
    uint64_t pull = 0;
    REQUIRE(services_->range_open(services_->ctx, nullptr, to_c(request.slice()), on_piece, this,
                                  &pull, nullptr) == QUORATE_OK);
    return pull;
  }
  const quorate_services* services() const { return services_; }
  void take_services(const quorate_services* services) { services_ = services; }

  const std::unique_ptr<TestEnv> own_world_;
  TestEnv& env;
  TestMachine machine;
  server::Config config;
  std::vector<plugin::StaticPlugin> more_plugins;  // engines, beside the memory engine
  bool is_ready = false;
  bool is_removed = false;
  Status failure;
  uint64_t last_call = 0;
  std::deque<WatchItem> watched;
  std::deque<Piece> pieces;

 private:
  void ready() override { is_ready = true; }
  void failed(const Status& status) override { failure = status; }
  void removed() override { is_removed = true; }

  static void on_done(void*, const quorate_completion* items, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      auto* answer = static_cast<Answer*>(items[i].user);
      answer->code = static_cast<Code>(items[i].code);
      answer->bytes = Bytes::copy(from_c(items[i].response.bytes));
      ++answer->completions;
    }
  }
  static quorate_status on_watch(void* user, const quorate_watch_item* items, size_t count) {
    auto* member = static_cast<TestMember*>(user);
    for (size_t i = 0; i < count; ++i) {
      const quorate_watch_item& item = items[i];
      WatchItem copy{
          item.watch, item.kind, static_cast<Code>(item.code), item.revision, item.compact_revision,
          {}};
      for (uint32_t e = 0; e < item.event_count; ++e)
        copy.events.emplace_back(from_c(item.events[e].bytes));
      member->watched.push_back(std::move(copy));
    }
    return QUORATE_OK;
  }
  static void on_piece(void* user, const quorate_piece* piece) {
    static_cast<TestMember*>(user)->pieces.push_back(
        {piece->kind, static_cast<Code>(piece->code), std::string(from_c(piece->bytes.bytes))});
  }

  void configure() {
    // The engine locks its directory on the real disk; all else is on the simulated one.
    for (uint64_t generation = 1; generation < 100; ++generation)
      std::filesystem::create_directories(storage::generation_dir(directory_.path(), generation));
    config.data_dir = directory_.path();
    config.wal_segment_bytes = 4 << 20;  // a simulated disk holds its files in memory
    config.backend.name = "memory";
    config.frontends = {{"test", {{"owner", address_of(this)}}}};
    config.advertise_client_urls = {"http://127.0.0.1:2379"};
  }
  const TempDir directory_;
  const quorate_services* services_ = nullptr;
  std::vector<std::shared_ptr<Answer>> answers_;
  std::unique_ptr<plugin::PluginLoader> loader_;
  std::unique_ptr<server::Server> server_;
};

}  // namespace quorate::test
