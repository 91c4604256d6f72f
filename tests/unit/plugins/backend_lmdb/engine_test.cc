// SPDX-License-Identifier: Apache-2.0
// What only this engine has: its map, and the heads of its file. All else is in the conformance
// suite.
#include "backend_lmdb/engine.h"

#include <filesystem>
#include <fstream>
#include <optional>

#include <catch2/catch.hpp>

#include "backend_lmdb/verify.h"
#include "support/temp_dir.h"

namespace quorate::backend_lmdb {
namespace {

using test::TempDir;

constexpr size_t kPage = 4096;
constexpr size_t kCommitAt = 16 + 24 + 2 * 48 + 8;  // in a head

class Fixture {
 public:
  Fixture() { open(true); }
  Fixture(const char* key, const char* value) : options_{{key, value}} { open(true); }

  void open(bool create) {
    engine.reset();
    engine.emplace(sdk::BackendConfig{
        dir.path(),
        create,
        {"key"},
        0,
        sdk::Options(Engine::kOptions, options_.data(), static_cast<uint32_t>(options_.size())),
        sdk::Log(nullptr, "test")});
  }
  void put(const std::string& key, const std::string& value) {
    const quorate_op op = {QUORATE_OP_PUT, 0, 0, sdk::slice(key), sdk::slice(value)};
    engine->write({&op, 1});
  }
  std::string get(const std::string& key) {
    Engine::View view(*engine);
    std::string_view value;
    return view.get(0, key, value) ? std::string(value) : "none";
  }
  std::string data_file() const { return dir.path() + "/data.mdb"; }
  std::string refusal(bool deep) {
    try {
      verify_file(data_file(), deep);
    } catch (const sdk::Failure& failure) {
      CHECK(failure.code() == QUORATE_CORRUPT);
      return failure.what();
    }
    return "";
  }

  TempDir dir;
  std::optional<Engine> engine;

 private:
  std::vector<quorate_option> options_;
};

uint64_t commit_of(const std::string& path, size_t head) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(head * kPage + kCommitAt));
  uint64_t commit = 0;
  file.read(reinterpret_cast<char*>(&commit), sizeof commit);
  return commit;
}

void set_commit(const std::string& path, size_t head, uint64_t commit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(head * kPage + kCommitAt));
  file.write(reinterpret_cast<const char*>(&commit), sizeof commit);
}

TEST_CASE("a full map refuses the batch, changes nothing and takes smaller ones", "[lmdb]") {
  Fixture f("map-size", "16777216");
  f.put("k", "old");
  const std::string large(20u << 20, 'x');
  const quorate_op ops[] = {
      {QUORATE_OP_PUT, 0, 0, sdk::slice("k"), sdk::slice("new")},
      {QUORATE_OP_PUT, 0, 0, sdk::slice("l"), sdk::slice(large)},
  };
  try {
    f.engine->write(ops);
    FAIL("the map took more than it holds");
  } catch (const sdk::Failure& failure) {
    CHECK(failure.code() == QUORATE_NO_SPACE);
  }
  CHECK(f.get("k") == "old");
  f.put("k", "newer");
  CHECK(f.get("k") == "newer");
}

TEST_CASE("a head that went back to an older commit is refused, its tree being the newer's",
          "[lmdb]") {
  Fixture f;
  for (int i = 0; i < 8; ++i) f.put("k", std::to_string(i));
  f.engine.reset();
  CHECK(f.refusal(false).empty());
  const size_t newer = commit_of(f.data_file(), 0) > commit_of(f.data_file(), 1) ? 0 : 1;
  set_commit(f.data_file(), newer, commit_of(f.data_file(), newer) - 2);
  CHECK(f.refusal(false).find("another commit") != std::string::npos);
}

TEST_CASE("heads that are not of successive commits are refused", "[lmdb]") {
  Fixture f;
  for (int i = 0; i < 8; ++i) f.put("k", std::to_string(i));
  f.engine.reset();
  set_commit(f.data_file(), 0, commit_of(f.data_file(), 0) + 4);
  CHECK(f.refusal(false).find("successive") != std::string::npos);
}

TEST_CASE("a store with large values, much freed space and deep trees is found whole", "[lmdb]") {
  Fixture f;
  for (int i = 0; i < 400; ++i)
    f.put(std::to_string(i * 7919 % 1000) + std::string(static_cast<size_t>(i % 300), 'k'),
          std::string(static_cast<size_t>(i * i % 20000), 'v'));
  for (int i = 0; i < 200; ++i) f.put("same", std::string(static_cast<size_t>(i * 100), 'v'));
  f.engine.reset();
  CHECK(f.refusal(true).empty());
  f.open(false);
  CHECK(f.get("same").size() == 19900);
}

TEST_CASE("a map and a number of readers that make no sense are refused", "[lmdb]") {
  CHECK_THROWS_WITH(Fixture("readers-max", "0"),
                    "option readers-max is 0; write a number from 1 to 100000");
  CHECK_THROWS_WITH(Fixture("map-size", "much"),
                    "option map-size is 'much'; write a size, for instance 64MiB");
}

}  // namespace
}  // namespace quorate::backend_lmdb
