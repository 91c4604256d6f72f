// SPDX-License-Identifier: Apache-2.0
// The member on real threads and a real disk: what the thread sanitizer looks at.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

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
extern "C" const quorate_plugin* quorate_static_transport_tcp(void);

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

// Of the server that was started last.
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
  config.advertise_peer_urls = {"http://127.0.0.1:2380"};
  config.initial_cluster = {{"default", config.advertise_peer_urls}};
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

// A port that is free now.
std::string free_url() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  socklen_t size = sizeof address;
  REQUIRE(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(socket);
  return "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

TEST_CASE("three members on threads of their own agree over TCP", "[member][threads]") {
  constexpr size_t kMembers = 3;
  const TempDir directory;
  const std::unique_ptr<Env> env = make_posix_env();
  plugin::PluginLoader loader("/nowhere",
                              {{"backend_memory", quorate_static_backend_memory()},
                               {"transport_tcp", quorate_static_transport_tcp()},
                               {"frontend_direct", &kPlugin}},
                              Logger());
  std::vector<server::InitialMember> members;
  for (size_t i = 0; i < kMembers; ++i)
    members.push_back({std::string(1, static_cast<char>('a' + i)), {free_url()}});
  std::vector<Events> events(kMembers);
  std::vector<std::unique_ptr<server::Server>> servers;
  std::vector<const quorate_services*> services;
  for (size_t i = 0; i < kMembers; ++i) {
    server::Config config;
    config.name = members[i].name;
    config.data_dir = directory.path() + "/" + config.name;
    config.backend.name = "memory";
    config.frontends = {{"direct", {}}};
    config.listen_peer_urls = config.advertise_peer_urls = members[i].peer_urls;
    config.advertise_client_urls = {"http://127.0.0.1:1"};
    config.initial_cluster = members;
    auto started = server::Server::start(*env, config, loader, &events[i], Logger());
    INFO(started.status().to_string());
    REQUIRE(started.has_value());
    servers.push_back(std::move(*started));
    services.push_back(given_services);
  }
  for (Events& each : events) {
    each.wait();
    REQUIRE(each.failure().ok());
  }

  constexpr int kPuts = 60;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kMembers; ++t) {
    threads.emplace_back([&, t] {
      Client client(services[t]);
      for (int i = 0; i < kPuts; ++i) {
        const std::string key = "k" + std::to_string(t) + "/" + std::to_string(i);
        if (client.call(put_request(key, "v")) != Code::kOk) ++failures;
        if (client.call(range_request("k", "l")) != Code::kOk) ++failures;
      }
      const auto lease = static_cast<int64_t>(100 + t);
      if (client.call(grant_request(60, lease)) != Code::kOk) ++failures;
      if (client.call(keep_alive_request(lease)) != Code::kOk) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  // The last that is left has no quorum; it stops all the same.
  for (auto& server : servers) CHECK(server->stop(1000).ok());
}

}  // namespace
}  // namespace quorate::test
