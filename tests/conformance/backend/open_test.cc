// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "conformance/backend/engine.h"

namespace quorate::conformance {
namespace {

TEST_CASE("the plugin says who it is and what its options are", "[open]") {
  CHECK(plugin().struct_size >= sizeof(quorate_plugin));
  CHECK(std::string(plugin().id).find('.') != std::string::npos);
  CHECK_FALSE(std::string(plugin().version).empty());
  CHECK(factory().struct_size >= sizeof(quorate_backend_factory));
  CHECK(plugin().get_factory("quorate.no-such-kind/1") == nullptr);
  uint32_t count = 0;
  const quorate_option_spec* specs = plugin().options(QUORATE_BACKEND_FACTORY, &count);
  for (uint32_t i = 0; i < count; ++i) {
    CHECK_FALSE(std::string(specs[i].key).empty());
    CHECK_FALSE(std::string(specs[i].help).empty());
  }
}

TEST_CASE("a directory that is open is refused to a second one", "[open]") {
  TempDir dir;
  Engine first(dir.path());
  first.write(Batch().put(0, "k", "v"));
  const Answer second = Engine::refused_open(dir.path());
  CHECK(second.status != QUORATE_OK);
  CHECK(second.message.find(dir.path()) != std::string::npos);
  first.write(Batch().put(0, "l", "w"));
  CHECK(first.view()->scan(0) == Pairs{{"k", "v"}, {"l", "w"}});
}

TEST_CASE("two directories may be open at once", "[open]") {
  TempDir one_dir, two_dir;
  Engine one(one_dir.path()), two(two_dir.path());
  one.write(Batch().put(0, "k", "one"));
  two.write(Batch().put(0, "k", "two"));
  CHECK(one.view()->get(0, "k") == "one");
  CHECK(two.view()->get(0, "k") == "two");
}

TEST_CASE("a directory can be opened again after it was closed", "[open]") {
  TempDir dir;
  for (int i = 0; i < 3; ++i) {
    Engine engine(dir.path());
    engine.write(Batch().put(0, "k", std::to_string(i)));
    CHECK(engine.view()->get(0, "k") == std::to_string(i));
  }
}

TEST_CASE("a directory that does not exist is refused with its name", "[open]") {
  TempDir dir;
  const Answer answer = Engine::refused_open(dir.path() + "/missing");
  CHECK(answer.status != QUORATE_OK);
  CHECK(answer.message.find("/missing") != std::string::npos);
}

TEST_CASE("an unknown option is refused", "[open]") {
  TempDir dir;
  const char* const buckets[] = {"key"};
  const quorate_option option = {"no-such-option", "1"};
  quorate_backend_options options{};
  options.struct_size = sizeof options;
  options.bucket_count = 1;
  options.buckets = buckets;
  options.dir = dir.path().c_str();
  options.options = &option;
  options.option_count = 1;
  quorate_backend* backend = nullptr;
  quorate_error error{};
  error.struct_size = sizeof error;
  CHECK(factory().open(&options, &backend, &error) == QUORATE_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("no-such-option") != std::string::npos);
}

TEST_CASE("other buckets than the directory was made with are refused", "[open]") {
  if (skipped_for_not_durable()) return;
  TempDir dir;
  { Engine engine(dir.path(), 0, {"key", "lease"}); }
  CHECK(Engine::refused_open(dir.path(), {"key", "other"}).status == QUORATE_INVALID_ARGUMENT);
  CHECK(Engine::refused_open(dir.path(), {"key"}).status == QUORATE_INVALID_ARGUMENT);
  CHECK(Engine::refused_open(dir.path(), {"key", "lease"}).status == QUORATE_OK);
}

}  // namespace
}  // namespace quorate::conformance
