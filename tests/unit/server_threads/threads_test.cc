// SPDX-License-Identifier: Apache-2.0
// The member on real threads and a real disk: what the thread sanitizer looks at.
#include <atomic>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "env/latch.h"
#include "plugin/loader.h"
#include "server/server.h"
#include "support/requests.h"
#include "support/temp_dir.h"

extern "C" const quorate_plugin* quorate_static_backend_memory(void);

namespace quorate::test {
namespace {

class Events final : public server::ServerEvents {
 public:
  void ready() override { ready_.open(); }
  void failed(const Status& status) override {
    failure_ = status;
    ready_.open();
  }
  void removed() override {}
  void wait() { ready_.wait(); }
  const Status& failure() const { return failure_; }

 private:
  Latch ready_;
  Status failure_;
};

// A client on a thread of its own: one call at a time.
class Client {
 public:
  explicit Client(const quorate_services* services) : services_(services) {}

  Code call(const Bytes& request) {
    Latch done;
    done_ = &done;
    quorate_submission item{nullptr, to_c(request.slice()), this, 0, 0};
    services_->submit_batch(services_->ctx, on_done, this, &item, sizeof item, 1);
    if (item.status != QUORATE_OK) return static_cast<Code>(item.status);
    done.wait();
    return code_;
  }
  int64_t revision() const { return revision_; }

 private:
  static void on_done(void*, const quorate_completion* items, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      auto* client = static_cast<Client*>(items[i].user);
      client->code_ = static_cast<Code>(items[i].code);
      const Bytes copy = Bytes::copy(from_c(items[i].response.bytes));
      client->revision_ =
          schema::SegmentReader(copy.slice()).root<schema::Response>().getHeader().getRevision();
      client->done_->open();
    }
  }
  const quorate_services* const services_;
  Latch* done_ = nullptr;
  Code code_ = Code::kOk;
  int64_t revision_ = 0;
};

struct Watcher {
  std::atomic<int> events{0};
  Latch closed;
  static quorate_status on_watch(void* user, const quorate_watch_item* items, size_t count) {
    auto* watcher = static_cast<Watcher*>(user);
    for (size_t i = 0; i < count; ++i) {
      watcher->events += static_cast<int>(items[i].event_count);
      if (items[i].watch == QUORATE_WATCH_ALL && items[i].kind == QUORATE_WATCH_CLOSED)
        watcher->closed.open();
    }
    return QUORATE_OK;
  }
};

const quorate_services* given_services = nullptr;

quorate_status create(const quorate_frontend_options*, const quorate_services* services,
                      quorate_frontend** out, quorate_error*) {
  given_services = services;
  *out = reinterpret_cast<quorate_frontend*>(&given_services);
  return QUORATE_OK;
}

const quorate_frontend_factory kFactory = {
    sizeof(quorate_frontend_factory),
    0,
    create,
    [](quorate_frontend*, quorate_error*) -> quorate_status { return QUORATE_OK; },
    [](quorate_frontend*, uint64_t) {},
    [](quorate_frontend*) {},
    [](quorate_frontend*, const char*) -> const void* { return nullptr; }};

const quorate_plugin kPlugin = {
    sizeof(quorate_plugin),
    QUORATE_ABI_MAJOR,
    QUORATE_ABI_MINOR,
    "org.quorate.frontend.direct",
    "1",
    [](const quorate_host*, quorate_error*) -> quorate_status { return QUORATE_OK; },
    [] {},
    [](const char* id) -> const void* {
      return Slice(id) == QUORATE_FRONTEND_FACTORY ? &kFactory : nullptr;
    },
    [](const char*, uint32_t* count) -> const quorate_option_spec* {
      *count = 0;
      return nullptr;
    }};

TEST_CASE("clients on several threads write, read and watch one member", "[member][threads]") {
  const TempDir directory;
  const std::unique_ptr<Env> env = make_posix_env();
  plugin::PluginLoader loader(
      "/nowhere",
      {{"backend_memory", quorate_static_backend_memory()}, {"frontend_direct", &kPlugin}},
      Logger());
  Events events;
  server::Config config;
  config.data_dir = directory.path() + "/data";
  config.backend.name = "memory";
  config.frontends = {{"direct", {}}};
  config.advertise_client_urls = {"http://127.0.0.1:2379"};
  config.initial_cluster = {{"default", {"http://127.0.0.1:2380"}}};
  auto started = server::Server::start(*env, config, loader, &events, Logger());
  INFO(started.status().to_string());
  REQUIRE(started.has_value());
  events.wait();
  REQUIRE(events.failure().ok());

  Watcher watcher;
  uint64_t stream = 0;
  REQUIRE(given_services->watch_open(given_services->ctx, nullptr, Watcher::on_watch, &watcher,
                                     &stream, nullptr) == QUORATE_OK);
  const Bytes create_watch = watch_request("k", "l", 1, true);
  given_services->watch_add(given_services->ctx, stream, 1, to_c(create_watch.slice()));

  constexpr int kThreads = 3, kPuts = 60;
  std::atomic<int> failures{0};
  std::vector<std::vector<int64_t>> revisions(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Client client(given_services);
      for (int i = 0; i < kPuts; ++i) {
        const std::string key = "k" + std::to_string(t) + "/" + std::to_string(i % 7);
        if (client.call(put_request(key, std::string(200, 'v'))) != Code::kOk) ++failures;
        revisions[static_cast<size_t>(t)].push_back(client.revision());
        if (client.call(range_request("k", "l", 0, i % 2 == 0)) != Code::kOk) ++failures;
        if (i % 20 == 19 && client.call(hash_kv_request()) != Code::kOk) ++failures;
        // Another thread may have compacted further.
        if (i % 30 == 29) (void)client.call(compact_request(client.revision() / 2));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  std::set<int64_t> distinct;
  for (const auto& each : revisions) distinct.insert(each.begin(), each.end());
  CHECK(distinct.size() == kThreads * kPuts);
  CHECK((*started)->stop(1000).ok());
  watcher.closed.wait();
  CHECK(watcher.events == kThreads * kPuts);
}

}  // namespace
}  // namespace quorate::test
