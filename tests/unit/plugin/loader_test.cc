// SPDX-License-Identifier: Apache-2.0
#include "plugin/loader.h"

#include <catch2/catch.hpp>

#include "fake_backend.h"

namespace quorate::plugin {
namespace {

const std::string kDir = TEST_PLUGIN_DIR;

class ListSink : public LogSink {
 public:
  bool enabled(LogLevel) const override { return true; }
  void write(LogLevel, std::string_view component, std::string_view text) override {
    lines.push_back(std::string(component) + ": " + std::string(text));
  }
  std::vector<std::string> lines;
};

PluginLoader loader_of(std::vector<StaticPlugin> statics = {}) {
  return PluginLoader(kDir, std::move(statics), Logger());
}

std::string refusal(std::string_view name, Code code) {
  const Result<BackendFactory> factory = loader_of().backend(name);
  REQUIRE_FALSE(factory);
  CHECK(factory.error().code() == code);
  return std::string(factory.error().message());
}

std::string cannot_use(const std::string& name, const std::string& why) {
  return "cannot use " + kDir + "/backend_" + name + ".so as a backend: " + why;
}

struct Counts {
  int32_t inits, deinits;
};
const Counts& counts_of(const Backend& backend) {
  return *static_cast<const Counts*>(backend.extension("test.counts/1"));
}

Result<std::unique_ptr<Backend>> open(const BackendFactory& factory, Options options = {},
                                      Logger logger = Logger()) {
  BackendOptions wanted;
  wanted.dir = "/nowhere";
  wanted.options = std::move(options);
  wanted.host.logger = logger;
  return Backend::open(factory, std::move(wanted));
}

// A plugin that is linked in.
quorate_plugin static_plugin() {
  quorate_plugin plugin{};
  plugin.struct_size = sizeof(plugin);
  plugin.abi_major = QUORATE_ABI_MAJOR;
  plugin.abi_minor = QUORATE_ABI_MINOR;
  plugin.id = "org.quorate.static";
  plugin.version = "1";
  plugin.init = [](const quorate_host*, quorate_error*) { return quorate_status{QUORATE_OK}; };
  plugin.deinit = [] {};
  plugin.get_factory = [](const char* id) -> const void* {
    return std::string_view(id) == QUORATE_BACKEND_FACTORY ? &fake_backend_table() : nullptr;
  };
  plugin.options = [](const char*, uint32_t* count) -> const quorate_option_spec* {
    *count = 0;
    return nullptr;
  };
  return plugin;
}

TEST_CASE("a plugin is found by its short name, its full name and its path", "[loader]") {
  for (const std::string& name : {std::string("good"), std::string("backend_good"),
                                  std::string("backend_good.so"), kDir + "/backend_good.so"}) {
    const Result<BackendFactory> factory = loader_of().backend(name);
    REQUIRE(factory.status().to_string() == "ok");
    CHECK(factory->name() == "good");
    CHECK(factory->option_specs().size() == 1);
    CHECK_FALSE(factory->durable());
    CHECK(open(*factory));
  }
}

TEST_CASE("a plugin of a newer minor version is taken", "[loader]") {
  const Result<BackendFactory> factory = loader_of().backend("newer_minor");
  REQUIRE(factory.status().to_string() == "ok");
  CHECK(open(*factory));
}

TEST_CASE("init and deinit are paired over all that uses a plugin", "[loader]") {
  PluginLoader loader = loader_of();
  auto factory = std::make_unique<BackendFactory>(*loader.backend("good"));
  auto backend = *open(*factory);
  const Counts& counts = counts_of(*backend);
  const Counts before = counts;
  CHECK(before.inits == before.deinits + 1);

  CHECK(loader.backend(kDir + "/backend_good.so"));
  CHECK(counts.inits == before.inits);
  factory.reset();
  CHECK(counts.deinits == before.deinits);
  backend.reset();
  CHECK(counts.deinits == before.deinits + 1);

  CHECK(loader.backend("good"));
  CHECK(counts.inits == before.inits + 1);
  CHECK(counts.deinits == before.deinits + 2);
}

TEST_CASE("a factory outlives its loader", "[loader]") {
  const BackendFactory factory = *loader_of().backend("good");
  const auto backend = open(factory);
  REQUIRE(backend);
  CHECK(counts_of(**backend).inits == counts_of(**backend).deinits + 1);
}

TEST_CASE("an object's log lines go to its own host, one line each", "[loader]") {
  ListSink sink;
  const BackendFactory factory = *loader_of().backend("good");
  REQUIRE(open(factory, {}, Logger(&sink, "server")));
  CHECK(sink.lines == std::vector<std::string>{"test: opened here"});
}

TEST_CASE("what was loaded is logged with id, version and place", "[loader]") {
  ListSink sink;
  PluginLoader loader(kDir, {}, Logger(&sink, "plugins"));
  REQUIRE(loader.backend("good"));
  CHECK(sink.lines ==
        std::vector<std::string>{"plugins: backend good is org.quorate.test 0.1 from " + kDir +
                                 "/backend_good.so"});
}

TEST_CASE("a plugin that is linked in wins over a file of the same name", "[loader]") {
  FakeEngine fake;
  const quorate_plugin plugin = static_plugin();
  const Result<BackendFactory> factory = loader_of({{"backend_good", &plugin}}).backend("good");
  REQUIRE(factory);
  CHECK(factory->name() == "good");
  CHECK(factory->table() == &fake_backend_table());
}

TEST_CASE("a path takes the file, whatever is linked in", "[loader]") {
  const quorate_plugin plugin = static_plugin();
  const auto factory = loader_of({{"backend_good", &plugin}}).backend(kDir + "/backend_good.so");
  REQUIRE(factory);
  CHECK(factory->table() != &fake_backend_table());
}

TEST_CASE("a plugin that is linked in is checked like a file", "[loader]") {
  quorate_plugin plugin = static_plugin();
  plugin.abi_major = 9;
  const auto factory = loader_of({{"backend_old", &plugin}}).backend("old");
  CHECK(factory.status().message() ==
        "cannot use backend_old (linked in) as a backend: it was built for another major version "
        "of the plugin ABI; build it anew (plugin ABI 9.0, host ABI 1.0)");
}

TEST_CASE("a file that is not there is refused with where it was looked for", "[loader]") {
  CHECK(refusal("levelfile", Code::kNotFound) ==
        cannot_use("levelfile",
                   "there is no such file; --plugin-dir says where plugins are "
                   "(plugin ABI unknown, host ABI 1.0)"));
  CHECK(refusal("/nowhere/backend_x.so", Code::kNotFound) ==
        "cannot use /nowhere/backend_x.so as a backend: there is no such file (plugin ABI unknown, "
        "host ABI 1.0)");
}

TEST_CASE("a file that is no library is refused with the linker's text", "[loader]") {
  CHECK(refusal("text", Code::kInvalidArgument) ==
        cannot_use("text", "file too short (plugin ABI unknown, host ABI 1.0)"));
}

TEST_CASE("a library without the symbol is refused", "[loader]") {
  CHECK(refusal("no_symbol", Code::kInvalidArgument) ==
        cannot_use("no_symbol",
                   "it has no symbol quorate_entry, so it is not a plugin (plugin ABI "
                   "unknown, host ABI 1.0)"));
}

TEST_CASE("another major version is refused with both versions", "[loader]") {
  CHECK(refusal("wrong_major", Code::kUnsupported) ==
        cannot_use("wrong_major",
                   "it was built for another major version of the plugin ABI; build "
                   "it anew (plugin ABI 2.3, host ABI 1.0)"));
}

TEST_CASE("another kind is refused with the kinds it offers", "[loader]") {
  CHECK(refusal("wrong_kind", Code::kUnsupported) ==
        cannot_use("wrong_kind",
                   "it is none, it offers transport and frontend (plugin ABI 1.0, "
                   "host ABI 1.0)"));
  CHECK(refusal("no_kind", Code::kUnsupported) ==
        cannot_use("no_kind",
                   "it is none, it offers nothing this host knows (plugin ABI 1.0, host "
                   "ABI 1.0)"));
}

TEST_CASE("the name of a plugin of another kind is refused as such", "[loader]") {
  const auto factory = loader_of().frontend("backend_good");
  CHECK(factory.status().message() == "cannot use " + kDir +
                                          "/backend_good.so as a frontend: it is none, it offers "
                                          "backend (plugin ABI 1.0, host ABI 1.0)");
  CHECK(loader_of().transport(kDir + "/backend_good.so").status().code() == Code::kUnsupported);
}

TEST_CASE("an entry or a table that is too short is refused with both sizes", "[loader]") {
  CHECK(refusal("tiny_entry", Code::kInvalidArgument) ==
        cannot_use("tiny_entry",
                   "its quorate_entry has struct_size 8, too small to hold a version "
                   "(plugin ABI unknown, host ABI 1.0)"));
  CHECK(refusal("short_entry", Code::kInvalidArgument) ==
        cannot_use("short_entry",
                   "its quorate_entry has struct_size 48, ABI 1.0 needs 64 (plugin "
                   "ABI 1.0, host ABI 1.0)"));
  CHECK(refusal("short_table", Code::kInvalidArgument) ==
        cannot_use("short_table",
                   "its backend table has struct_size 24, ABI 1.0 needs 104 (plugin "
                   "ABI 1.0, host ABI 1.0)"));
}

TEST_CASE("an entry or a table with a hole is refused with the name of what is missing",
          "[loader]") {
  CHECK(refusal("entry_hole", Code::kInvalidArgument) ==
        cannot_use("entry_hole", "its quorate_entry has no deinit (plugin ABI 1.0, host ABI 1.0)"));
  CHECK(refusal("table_hole", Code::kInvalidArgument) ==
        cannot_use("table_hole", "its backend table has no write (plugin ABI 1.0, host ABI 1.0)"));
}

TEST_CASE("a symbol or a library that a plugin lacks is named", "[loader]") {
  CHECK(refusal("missing_symbol", Code::kInvalidArgument) ==
        cannot_use("missing_symbol",
                   "undefined symbol: a_function_that_nobody_has (plugin ABI "
                   "unknown, host ABI 1.0)"));
  CHECK(refusal("missing_library", Code::kInvalidArgument) ==
        cannot_use("missing_library",
                   "libtest_absent.so: cannot open shared object file: No such "
                   "file or directory (plugin ABI unknown, host ABI 1.0)"));
}

TEST_CASE("an init that fails is told with the plugin's text and code", "[loader]") {
  CHECK(refusal("bad_init", Code::kUnavailable) ==
        cannot_use("bad_init",
                   "org.quorate.test: init: no such device (plugin ABI 1.0, host ABI 1.0)"));
}

TEST_CASE("an option that a loaded plugin does not take names file, versions and its options",
          "[loader]") {
  const BackendFactory factory = *loader_of().backend("good");
  CHECK(open(factory, {{"map", "1"}}).status().message() ==
        "backend " + kDir +
            "/backend_good.so (plugin ABI 1.0, host ABI 1.0): unknown option \"map\"; its options "
            "are:\n  map-size (bytes, default 1GiB): how large the store may grow");
}

}  // namespace
}  // namespace quorate::plugin
