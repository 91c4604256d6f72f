// SPDX-License-Identifier: Apache-2.0
#include "plugin/frontend.h"

#include <catch2/catch.hpp>
#include <cstdio>

namespace quorate::plugin {
namespace {

struct Script {
  quorate_status answer = QUORATE_OK;
  bool gives_handle = true;
  std::vector<std::string> calls;
  std::vector<std::string> urls;
  const quorate_host* host = nullptr;
};
Script* script = nullptr;  // that of the running test

quorate_status answer(const char* call, quorate_error* error) {
  script->calls.push_back(call);
  std::snprintf(error->message, sizeof(error->message), "port 2379 is taken");
  return script->answer;
}

const quorate_frontend_factory kTable = [] {
  quorate_frontend_factory table{};
  table.struct_size = sizeof(table);
  table.create = [](const quorate_frontend_options* options, const quorate_services*,
                    quorate_frontend** out, quorate_error* error) {
    script->urls.assign(options->listen_urls, options->listen_urls + options->listen_url_count);
    script->host = options->host;
    if (script->gives_handle) *out = reinterpret_cast<quorate_frontend*>(script);
    return answer("create", error);
  };
  table.start = [](quorate_frontend*, quorate_error* error) { return answer("start", error); };
  table.stop = [](quorate_frontend*, uint64_t drain_ms) {
    script->calls.push_back("stop " + std::to_string(drain_ms));
  };
  table.destroy = [](quorate_frontend*) { script->calls.push_back("destroy"); };
  table.get_extension = [](quorate_frontend*, const char* id) -> const void* { return id; };
  return table;
}();

struct Fixture {
  Fixture() { script = &state; }
  ~Fixture() { script = nullptr; }
  Result<std::unique_ptr<Frontend>> create(FrontendOptions options = {}) {
    return Frontend::create(FrontendFactory("etcd", &kTable), std::move(options), &services);
  }
  Script state;
  quorate_services services{};
};

TEST_CASE("a front-end is created, started, stopped and destroyed", "[frontend]") {
  Fixture fixture;
  {
    auto frontend = fixture.create();
    REQUIRE(frontend);
    CHECK((*frontend)->start().ok());
    (*frontend)->stop(250);
    const char* id = "x/1";
    CHECK((*frontend)->extension(id) == id);
  }
  CHECK(fixture.state.calls == std::vector<std::string>{"create", "start", "stop 250", "destroy"});
}

TEST_CASE("a front-end is told its URLs and its host", "[frontend]") {
  Fixture fixture;
  FrontendOptions options;
  options.listen_urls = {"http://127.0.0.1:0", "http://[::1]:0"};
  const auto frontend = fixture.create(std::move(options));
  REQUIRE(frontend);
  CHECK(fixture.state.urls == std::vector<std::string>{"http://127.0.0.1:0", "http://[::1]:0"});
  CHECK(fixture.state.host->abi_major == QUORATE_ABI_MAJOR);
}

TEST_CASE("a front-end that fails says its name, the call and why", "[frontend]") {
  Fixture fixture;
  auto frontend = fixture.create();
  REQUIRE(frontend);
  fixture.state.answer = QUORATE_UNAVAILABLE;
  CHECK((*frontend)->start().to_string() == "unavailable: etcd: start: port 2379 is taken");
}

TEST_CASE("a front-end that was not created is not destroyed", "[frontend]") {
  Fixture fixture;
  fixture.state.answer = QUORATE_INVALID_ARGUMENT;
  CHECK(fixture.create().status().code() == Code::kInvalidArgument);
  fixture.state.answer = QUORATE_OK;
  fixture.state.gives_handle = false;
  CHECK(fixture.create().status().code() == Code::kInternal);
  CHECK(fixture.state.calls == std::vector<std::string>{"create", "create"});
}

TEST_CASE("a front-end without options refuses one", "[frontend]") {
  Fixture fixture;
  FrontendOptions options;
  options.options = {{"a", "b"}};
  CHECK(fixture.create(std::move(options)).status().message() ==
        "etcd: unknown option \"a\": it takes no options");
  CHECK(fixture.state.calls.empty());
}

}  // namespace
}  // namespace quorate::plugin
