// SPDX-License-Identifier: Apache-2.0
// What only this engine has: its WAL, its voucher, its reclaim. All else is in the conformance
// suite.
#include "backend_rocksdb/engine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include <catch2/catch.hpp>

#include "support/temp_dir.h"

namespace quorate::backend_rocksdb {
namespace {

using test::TempDir;

namespace fs = std::filesystem;

sdk::BackendConfig config(const std::string& dir, bool create) {
  return {dir,
          create,
          {"key"},
          0,
          sdk::Options(Engine::kOptions, nullptr, 0),
          sdk::Log(nullptr, "test")};
}

void put(Engine& engine, const std::string& key, const std::string& value) {
  const quorate_op op = {QUORATE_OP_PUT, 0, 0, sdk::slice(key), sdk::slice(value)};
  engine.write({&op, 1});
}

std::string get(Engine& engine, const std::string& key) {
  Engine::View view(engine);
  std::string_view value;
  return view.get(0, key, value) ? std::string(value) : "none";
}

// A copy of a store that is open: what a kill leaves behind.
class KilledStore {
 public:
  explicit KilledStore(int puts) {
    TempDir dir;
    Engine engine(config(dir.path(), true));
    for (int i = 0; i < puts; ++i) put(engine, std::to_string(i), std::string(1000, 'v'));
    fs::copy(dir.path(), copy_.path(), fs::copy_options::recursive);
  }

  fs::path file(const std::string& part) const {
    for (const auto& entry : fs::directory_iterator(copy_.path() + "/db"))
      if (entry.path().filename().string().find(part) != std::string::npos) return entry.path();
    throw std::runtime_error("no file " + part);
  }
  const std::string& dir() const { return copy_.path(); }

 private:
  TempDir copy_;
};

quorate_status status_of_open(const std::string& dir) {
  try {
    Engine engine(config(dir, false));
    return QUORATE_OK;
  } catch (const sdk::Failure& failure) {
    return failure.code();
  }
}

TEST_CASE("a record of the WAL that was torn by a kill is cut", "[rocksdb]") {
  const KilledStore store(10);
  const fs::path wal = store.file(".log");
  fs::resize_file(wal, fs::file_size(wal) - 100);
  Engine engine(config(store.dir(), false));
  CHECK(get(engine, "8").size() == 1000);
  CHECK(get(engine, "9") == "none");
}

TEST_CASE("a damaged record in the middle of the WAL is refused", "[rocksdb]") {
  const KilledStore store(10);
  {
    std::fstream wal(store.file(".log"), std::ios::in | std::ios::out | std::ios::binary);
    wal.seekp(3000);
    wal.put('x');
  }
  CHECK(status_of_open(store.dir()) == QUORATE_CORRUPT);
}

// What a copy of a closed store says of its key when the manifest has `kept` bytes left; "whole"
// when it has no more than that.
std::string with_manifest_cut_to(const std::string& store, uint64_t kept) {
  TempDir copy;
  fs::copy(store, copy.path(), fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(copy.path() + "/db")) {
    if (!entry.path().filename().string().starts_with("MANIFEST")) continue;
    if (fs::file_size(entry.path()) <= kept) return "whole";
    fs::resize_file(entry.path(), kept);
  }
  try {
    Engine engine(config(copy.path(), false));
    return get(engine, "k");
  } catch (const sdk::Failure& failure) {
    return failure.code() == QUORATE_CORRUPT ? "refused" : failure.what();
  }
}

TEST_CASE("a manifest that lost its end is refused, or had said everything before", "[rocksdb]") {
  TempDir dir;
  {
    Engine engine(config(dir.path(), true));
    put(engine, "k", "v");
  }
  int refused = 0;
  for (uint64_t kept = 0;; kept += 25) {
    const std::string found = with_manifest_cut_to(dir.path(), kept);
    if (found == "whole") break;
    INFO("cut to " << kept);
    CHECK((found == "refused" || found == "v"));
    if (found == "refused") ++refused;
  }
  CHECK(refused > 0);
}

TEST_CASE("a closed store has nothing in its WAL", "[rocksdb]") {
  TempDir dir;
  {
    Engine engine(config(dir.path(), true));
    put(engine, "k", "v");
  }
  for (const auto& entry : fs::directory_iterator(dir.path() + "/db"))
    if (entry.path().extension() == ".log") fs::resize_file(entry.path(), 0);
  Engine engine(config(dir.path(), false));
  CHECK(get(engine, "k") == "v");
}

TEST_CASE("reclaim gives the space of deleted keys back", "[rocksdb]") {
  TempDir dir;
  {
    Engine engine(config(dir.path(), true));
    for (int i = 0; i < 40; ++i) put(engine, std::to_string(i), std::string(100000, 'v'));
  }
  Engine engine(config(dir.path(), false));
  const uint64_t before = engine.stats().size;
  for (int i = 1; i < 40; ++i) {
    const std::string key = std::to_string(i);
    const quorate_op op = {QUORATE_OP_DELETE, 0, 0, sdk::slice(key), {}};
    engine.write({&op, 1});
  }
  engine.reclaim();
  CHECK(engine.stats().size < before / 10);
  CHECK(get(engine, "0").size() == 100000);
}

}  // namespace
}  // namespace quorate::backend_rocksdb
