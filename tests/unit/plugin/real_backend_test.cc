// SPDX-License-Identifier: Apache-2.0
// The memory engine through both doors: linked in, and loaded from its shared library.
#include <catch2/catch.hpp>

#include "plugin/loader.h"
#include "sdk/entry.h"
#include "support/temp_dir.h"

QUORATE_STATIC_PLUGIN_DECLARE(backend_memory);

namespace quorate::plugin {
namespace {

constexpr const char* kBuckets[] = {"key", "meta"};

PluginLoader empty_loader() {
  return PluginLoader(REAL_PLUGIN_DIR, {}, Logger());
}
PluginLoader loader_with_static() {
  return PluginLoader("/nowhere", {{"backend_memory", quorate_static_backend_memory()}}, Logger());
}

// A write, a view and a walk through a real engine.
void serves(const BackendFactory& factory) {
  const test::TempDir dir;
  BackendOptions options;
  options.dir = dir.path();
  options.buckets = kBuckets;
  auto backend = Backend::open(factory, std::move(options));
  REQUIRE(backend.status().to_string() == "ok");
  CHECK((*backend)
            ->write(std::vector<Op>{put_op(0, "a", "1"), put_op(0, "b", "2"), put_op(1, "a", "3")})
            .to_string() == "ok");
  auto view = (*backend)->read_open();
  REQUIRE(view);
  CHECK((*backend)->write(std::vector<Op>{delete_op(0, "b")}).ok());
  CHECK(**view->get(1, "a") == "3");
  auto cursor = view->cursor(0);
  REQUIRE(cursor);
  CHECK(*cursor->seek(""));
  CHECK(cursor->key() == "a");
  CHECK(*cursor->next());
  CHECK(cursor->value() == "2");
  CHECK_FALSE(*cursor->next());
}

TEST_CASE("an engine serves when it is linked in", "[loader]") {
  const auto factory = loader_with_static().backend("memory");
  REQUIRE(factory.status().to_string() == "ok");
  serves(*factory);
}

TEST_CASE("the same engine serves from its shared library", "[loader]") {
  const auto factory = empty_loader().backend("memory");
  REQUIRE(factory.status().to_string() == "ok");
  CHECK(factory->table() != quorate_static_backend_memory()->get_factory(QUORATE_BACKEND_FACTORY));
  serves(*factory);
}

TEST_CASE("both forms of an engine live side by side", "[loader]") {
  const auto linked = loader_with_static().backend("memory");
  const auto loaded = empty_loader().backend("memory");
  REQUIRE((linked && loaded));
  CHECK(linked->name() == loaded->name());
  CHECK(linked->durable() == loaded->durable());
  serves(*linked);
  serves(*loaded);
}

TEST_CASE("a name in the wrong place gets the real engine's refusal", "[loader]") {
  CHECK(loader_with_static().frontend("backend_memory").status().message() ==
        "cannot use backend_memory (linked in) as a frontend: it is none, it offers backend "
        "(plugin ABI 1.0, host ABI 1.0)");
}

}  // namespace
}  // namespace quorate::plugin
