// SPDX-License-Identifier: Apache-2.0
#include "plugin/host.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

namespace quorate::plugin {
namespace {

struct Member : MemberInfoSource {
  quorate_member_info read() override {
    quorate_member_info info{};
    info.role = QUORATE_ROLE_LEADER;
    info.term = 7;
    info.revision = 42;
    std::strcpy(info.cluster_version, "3.6.0");
    return info;
  }
  void subscribe(MemberListener* added) override { listener = added; }
  void unsubscribe(MemberListener* removed) override {
    CHECK(removed == listener);
    listener = nullptr;
  }
  MemberListener* listener = nullptr;
};

struct Config : ConfigSource {
  const char* get(std::string_view name) override {
    return name == "max-request-bytes" ? "1572864" : nullptr;
  }
};

struct Sink : LogSink {
  bool enabled(LogLevel level) const override { return level >= LogLevel::kInfo; }
  void write(LogLevel level, std::string_view component, std::string_view text) override {
    lines.push_back(std::to_string(static_cast<int>(level)) + " " + std::string(component) + " " +
                    std::string(text));
  }
  std::vector<std::string> lines;
};

struct World {
  Member member;
  Config config;
  Sink sink;
  MetricRegistry metrics;
  Host host{{Logger(&sink, "server"), &member, &metrics, &config}};

  template <typename Table>
  const Table& extension(const char* id) {
    const void* table = host.table()->get_extension(host.table()->ctx, id);
    REQUIRE(table);
    return *static_cast<const Table*>(table);
  }
  const quorate_host_member& member_table() {
    return extension<quorate_host_member>(QUORATE_HOST_MEMBER);
  }
  const quorate_host_metrics& metrics_table() {
    return extension<quorate_host_metrics>(QUORATE_HOST_METRICS);
  }
  void log(int32_t level, const char* component, Slice text) {
    host.table()->log(host.table()->ctx, level, component, to_c(text));
  }
};

void count_call(void* user) {
  ++*static_cast<int*>(user);
}

TEST_CASE("a host says its size and version", "[host]") {
  World world;
  CHECK(world.host.table()->struct_size == sizeof(quorate_host));
  CHECK(world.host.table()->abi_major == QUORATE_ABI_MAJOR);
  CHECK(world.host.table()->abi_minor == QUORATE_ABI_MINOR);
}

TEST_CASE("a plugin's lines reach the sink, each as one line of a known level", "[host]") {
  World world;
  world.log(QUORATE_LOG_WARN, "lmdb", "slow");
  world.log(QUORATE_LOG_DEBUG, "lmdb", "not enabled");
  world.log(99, nullptr, "two\nlines\r");
  CHECK(world.sink.lines == std::vector<std::string>{"2 lmdb slow", "3 plugin two lines "});
}

TEST_CASE("services that the host lacks and ids it does not know are absent", "[host]") {
  Host host{HostServices{}};
  for (const char* id : {QUORATE_HOST_MEMBER, QUORATE_HOST_METRICS, QUORATE_HOST_CONFIG,
                         "quorate.host.member/2", ""})
    CHECK(host.table()->get_extension(host.table()->ctx, id) == nullptr);
  host.table()->log(host.table()->ctx, QUORATE_LOG_ERROR, "x", to_c("into the void"));
}

TEST_CASE("the member is read into a caller's struct of today's size", "[host]") {
  World world;
  quorate_member_info info{};
  info.struct_size = sizeof(info);
  world.member_table().read(world.member_table().ctx, &info);
  CHECK(info.struct_size == sizeof(info));
  CHECK(info.role == QUORATE_ROLE_LEADER);
  CHECK(info.revision == 42);
  CHECK(info.cluster_version == std::string("3.6.0"));
}

TEST_CASE("a shorter struct of a caller's is not written past its end", "[host]") {
  World world;
  quorate_member_info info{};
  info.struct_size = offsetof(quorate_member_info, commit_index);
  info.revision = -1;
  world.member_table().read(world.member_table().ctx, &info);
  CHECK(info.term == 7);
  CHECK(info.revision == -1);
}

TEST_CASE("a subscriber is told of changes until the host is closed", "[host]") {
  World world;
  int calls = 0;
  world.member_table().subscribe(world.member_table().ctx, count_call, &calls);
  REQUIRE(world.member.listener);
  world.member.listener->on_member_change();
  CHECK(calls == 1);
  world.host.close();
  CHECK(world.member.listener == nullptr);
  world.host.close();
}

TEST_CASE("a second subscription, and one after the end, are ignored with a warning", "[host]") {
  World world;
  int first = 0, second = 0;
  world.member_table().subscribe(world.member_table().ctx, count_call, &first);
  world.member_table().subscribe(world.member_table().ctx, count_call, &second);
  world.member.listener->on_member_change();
  CHECK(first == 1);
  CHECK(second == 0);
  world.host.close();
  world.member_table().subscribe(world.member_table().ctx, count_call, &second);
  CHECK(world.member.listener == nullptr);
  CHECK(world.sink.lines.size() == 2);
}

TEST_CASE("a plugin's metrics are in the server's text", "[host]") {
  World world;
  const quorate_host_metrics& table = world.metrics_table();
  const double bounds[] = {1, 2};
  quorate_metric* counter =
      table.define(table.ctx, QUORATE_METRIC_COUNTER, "reads", "k=\"v\"", "help", nullptr, 0);
  quorate_metric* histogram =
      table.define(table.ctx, QUORATE_METRIC_HISTOGRAM, "took", nullptr, nullptr, bounds, 2);
  REQUIRE((counter && histogram));
  CHECK(table.define(table.ctx, QUORATE_METRIC_COUNTER, "reads", "k=\"v\"", "", nullptr, 0) ==
        counter);
  table.record(counter, 2);
  table.record(histogram, 1.5);
  std::string text;
  const quorate_status status = table.render(
      table.ctx, QUORATE_METRICS_PROMETHEUS_TEXT,
      [](void* user, quorate_slice piece) { *static_cast<std::string*>(user) += from_c(piece); },
      &text);
  CHECK(status == QUORATE_OK);
  CHECK(text == world.metrics.render());
  CHECK(text.find("reads{k=\"v\"} 2\n") != text.npos);
  CHECK(text.find("took_bucket{le=\"2\"} 1\n") != text.npos);
}

TEST_CASE("a metric that cannot be is NULL, is logged, and may be recorded in", "[host]") {
  World world;
  const quorate_host_metrics& table = world.metrics_table();
  quorate_metric* bad = table.define(table.ctx, QUORATE_METRIC_GAUGE, "a b", "", "", nullptr, 0);
  CHECK(bad == nullptr);
  table.record(bad, 1);
  CHECK(table.define(table.ctx, 17, "a", "", "", nullptr, 0) == nullptr);
  CHECK(table.render(table.ctx, 17, nullptr, nullptr) == QUORATE_UNSUPPORTED);
  REQUIRE(world.sink.lines.size() == 1);
  CHECK(world.sink.lines[0] ==
        "2 server a plugin's metric a b{}: the name is not one of Prometheus'");
}

TEST_CASE("a setting is read by its flag's name", "[host]") {
  World world;
  const auto& table = world.extension<quorate_host_config>(QUORATE_HOST_CONFIG);
  CHECK(table.get(table.ctx, "max-request-bytes") == std::string("1572864"));
  CHECK(table.get(table.ctx, "no-such-flag") == nullptr);
}

}  // namespace
}  // namespace quorate::plugin
