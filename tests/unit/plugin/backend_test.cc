// SPDX-License-Identifier: Apache-2.0
#include "plugin/backend.h"

#include <catch2/catch.hpp>

#include "fake_backend.h"

namespace quorate::plugin {
namespace {

constexpr const char* kBuckets[] = {"key", "meta"};
constexpr quorate_option_spec kSpecs[] = {
    {"map-size", "1GiB", "how large the store may grow", QUORATE_OPTION_BYTES, 0}};

BackendFactory fake_factory() {
  return BackendFactory("fake", &fake_backend_table(), {kSpecs});
}

BackendOptions options_for(std::string dir) {
  BackendOptions options;
  options.dir = std::move(dir);
  options.buckets = kBuckets;
  options.quota_bytes = 1234;
  return options;
}

std::unique_ptr<Backend> open_fake() {
  Result<std::unique_ptr<Backend>> backend = Backend::open(fake_factory(), options_for("/data"));
  REQUIRE(backend);
  return std::move(*backend);
}

void fill(Backend& backend) {
  REQUIRE(backend.write(std::vector<Op>{put_op(0, "a", "1"), put_op(0, "b", "2")}).ok());
}

TEST_CASE("an engine is told its directory, buckets, quota, host and options in plain spelling",
          "[backend]") {
  FakeEngine fake;
  BackendOptions options = options_for("/data");
  options.options = {{"map-size", "2KiB"}};
  const auto backend = Backend::open(fake_factory(), std::move(options));
  REQUIRE(backend);
  CHECK(fake.dir == "/data");
  CHECK(fake.buckets == std::vector<std::string>{"key", "meta"});
  CHECK(fake.quota_bytes == 1234);
  CHECK(fake.options == std::map<std::string, std::string>{{"map-size", "2048"}});
  CHECK(fake.host->abi_major == QUORATE_ABI_MAJOR);
}

TEST_CASE("an option the engine does not take keeps it closed", "[backend]") {
  FakeEngine fake;
  BackendOptions options = options_for("/data");
  options.options = {{"map-sise", "2KiB"}};
  const auto backend = Backend::open(fake_factory(), std::move(options));
  CHECK(backend.status().code() == Code::kInvalidArgument);
  CHECK(fake.dir.empty());
}

TEST_CASE("what was written is read by key, and an absent key is no error", "[backend]") {
  FakeEngine fake;
  const auto backend = open_fake();
  fill(*backend);
  REQUIRE(backend->write(std::vector<Op>{delete_op(0, "a"), put_op(0, "c", "3", true)}).ok());
  auto read = backend->read_open();
  REQUIRE(read);
  CHECK(**read->get(0, "b") == "2");
  CHECK(**read->get(0, "c") == "3");
  CHECK(*read->get(0, "a") == std::nullopt);
}

TEST_CASE("a cursor walks from the first key that is not below the one sought", "[backend]") {
  FakeEngine fake;
  const auto backend = open_fake();
  fill(*backend);
  auto read = backend->read_open();
  REQUIRE(read);
  auto cursor = read->cursor(0);
  REQUIRE(cursor);
  REQUIRE(*cursor->seek("aa"));
  CHECK(cursor->key() == "b");
  CHECK(cursor->value() == "2");
  CHECK_FALSE(*cursor->next());
  CHECK(cursor->key().empty());
  CHECK_FALSE(*cursor->seek("c"));
}

TEST_CASE("handles that were moved are closed once, and before the backend", "[backend]") {
  FakeEngine fake;
  {
    const auto backend = open_fake();
    auto first = backend->read_open();
    auto second = backend->read_open();
    REQUIRE((first && second));
    EngineRead kept = std::move(*first);
    kept = std::move(*second);
    auto cursor = kept.cursor(1);
    REQUIRE(cursor);
    const Cursor moved = std::move(*cursor);
    CHECK(fake.cursors == 1);
    CHECK(fake.reads == 2);
  }
  CHECK(fake.cursors == 0);
  CHECK(fake.reads == 0);
  CHECK(fake.backends == 0);
}

TEST_CASE("an engine's error carries its name, the call, its text and its native code",
          "[backend]") {
  FakeEngine fake;
  const auto backend = open_fake();
  fake.answer = QUORATE_NO_SPACE;
  fake.native_code = -30792;
  fake.message = "the map is full";
  const Status status = backend->write({});
  CHECK(status.code() == Code::kNoSpace);
  CHECK(status.message() == "fake: write: the map is full (native code -30792)");
}

TEST_CASE("every call hands its engine's error on", "[backend]") {
  FakeEngine fake;
  const auto backend = open_fake();
  auto read = backend->read_open();
  REQUIRE(read);
  auto cursor = read->cursor(0);
  REQUIRE(cursor);
  fake.answer = QUORATE_IO_ERROR;
  CHECK(read->get(0, "a").status().message() == "fake: get: io_error");
  CHECK(cursor->seek("a").status().message() == "fake: seek: io_error");
  fake.at = fake.pairs.insert({"a", "1"}).first;
  CHECK(cursor->next().status().message() == "fake: next: io_error");
  CHECK(read->cursor(0).status().message() == "fake: open a cursor: io_error");
  CHECK(backend->read_open().status().message() == "fake: open a view: io_error");
  CHECK(backend->stats().status().message() == "fake: read its statistics: io_error");
  CHECK(Backend::open(fake_factory(), options_for("/data")).status().message() ==
        "fake: open /data: io_error");
}

TEST_CASE("a status that this host does not know is an internal error that names it", "[backend]") {
  FakeEngine fake;
  const auto backend = open_fake();
  fake.answer = 4711;
  fake.message = "odd";
  const Status status = backend->write({});
  CHECK(status.code() == Code::kInternal);
  CHECK(status.message() == "fake: write: odd (unknown status 4711)");
}

TEST_CASE("an engine that says OK but gives no handle is refused", "[backend]") {
  FakeEngine fake;
  const auto backend = open_fake();
  auto read = backend->read_open();
  REQUIRE(read);
  fake.gives_handles = false;
  CHECK(backend->read_open().status().code() == Code::kInternal);
  CHECK(read->cursor(0).status().code() == Code::kInternal);
  CHECK(Backend::open(fake_factory(), options_for("/data")).status().code() == Code::kInternal);
}

TEST_CASE("statistics, capabilities and extensions come from the engine", "[backend]") {
  FakeEngine fake;
  const auto backend = open_fake();
  const auto stats = backend->stats();
  REQUIRE(stats);
  CHECK(stats->size == 100);
  CHECK(stats->size_in_use == 60);
  CHECK(backend->durable());
  CHECK(backend->extension(QUORATE_BACKEND_RECLAIM) != nullptr);
  CHECK(backend->extension("quorate.backend.other/1") == nullptr);
}

}  // namespace
}  // namespace quorate::plugin
