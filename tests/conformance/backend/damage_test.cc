// SPDX-License-Identifier: Apache-2.0
// What a damaged directory may do: be refused, at once or where the damage is read, or give exactly
// what was written. It may not crash, and it may not give anything else.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include <catch2/catch.hpp>

#include "conformance/backend/child.h"
#include "conformance/backend/engine.h"

namespace quorate::conformance {
namespace {

namespace fs = std::filesystem;

// Everything the store holds, each value also by get, as one number.
std::string digest_of(Engine& engine) {
  const auto view = engine.view();
  size_t digest = 0;
  const auto add = [&](const std::string& bytes) {
    digest = digest * 1000003 + std::hash<std::string>()(bytes);
  };
  for (uint32_t bucket = 0; bucket < kBucketCount; ++bucket)
    for (const auto& [key, value] : view->scan(bucket)) {
      add(key);
      add(value);
      add(view->get(bucket, key).value_or("gone"));
    }
  return std::to_string(digest);
}

TEST_CASE("in a child: reads everything and says what it found", "[.reader]") {
  if (child_dir().empty()) return;
  try {
    Engine engine(child_dir());
    tell_parent("found " + digest_of(engine));
  } catch (const EngineError& error) {
    tell_parent(std::string("refused ") + error.what());
  }
}

// A small store with a past: several levels of tree, large and long things, freed space.
void fill(const std::string& dir) {
  Engine engine(dir);
  for (uint64_t round = 0; round < 8; ++round) {
    Batch batch;
    for (uint64_t i = 0; i < 250; ++i)
      batch.append(0, number_key(round * 250 + i), std::string(i % 60, 'v'));
    for (uint64_t i = 0; i < 40; ++i) batch.put(1, std::to_string(i * 7 + round), "small");
    batch.put(2, std::string(600, 'l') + std::to_string(round), std::string(9000, 'x'));
    if (round > 1)
      for (uint64_t i = 0; i < 250; i += 3) batch.erase(0, number_key((round - 2) * 250 + i));
    engine.write(batch);
  }
}

std::vector<fs::path> files_of(const std::string& dir) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(dir))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class DamageFixture {
 public:
  DamageFixture() {
    const char* seed = std::getenv("QUORATE_SEED");
    if (seed != nullptr) random.seed(static_cast<uint32_t>(std::stoul(seed)));
    fill(whole_.path());
    {
      Engine engine(whole_.path());
      digest_ = digest_of(engine);
    }
    files_ = files_of(whole_.path());
  }

  // Damages a copy of one file of the store, for each file in turn, and judges what comes out.
  void judge(int times, const std::function<std::string(const fs::path&)>& damage) {
    for (int i = 0; i < times; ++i) {
      TempDir copy;
      fs::copy(whole_.path(), copy.path(),
               fs::copy_options::recursive | fs::copy_options::overwrite_existing);
      const fs::path file = files_[static_cast<size_t>(i) % files_.size()];
      const std::string what = damage(copy.path() / fs::relative(file, whole_.path()));
      if (what.empty()) continue;
      Child reader("[.reader]", copy.path());
      const std::string said = reader.line().value_or("nothing: it crashed");
      INFO(file.filename().string() << ": " << what << "; the reader said: " << said);
      CHECK((said.starts_with("refused ") || said == "found " + digest_));
      if (said.starts_with("refused ")) ++refused;
    }
  }

  std::mt19937 random{20240608};
  int refused = 0;

 private:
  TempDir whole_;
  std::string digest_;
  std::vector<fs::path> files_;
};

TEST_CASE("a flipped bit is refused or does no harm", "[damage]") {
  if (skipped_for_not_durable()) return;
  DamageFixture f;
  f.judge(120, [&](const fs::path& file) -> std::string {
    const uint64_t size = fs::file_size(file);
    if (size == 0) return "";
    const uint64_t at = f.random() % size;
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const int bit = static_cast<int>(f.random() % 8);
    const char flipped = static_cast<char>(stream.get() ^ (1 << bit));
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(flipped);
    return "bit " + std::to_string(bit) + " of byte " + std::to_string(at);
  });
  CHECK(f.refused > 0);
}

TEST_CASE("a file that was cut is refused or does no harm", "[damage]") {
  if (skipped_for_not_durable()) return;
  DamageFixture f;
  f.judge(40, [&](const fs::path& file) -> std::string {
    const uint64_t size = fs::file_size(file);
    if (size == 0) return "";
    const uint64_t kept = f.random() % 3 == 0 ? 0 : f.random() % size;
    fs::resize_file(file, kept);
    return "cut to " + std::to_string(kept) + " of " + std::to_string(size);
  });
  CHECK(f.refused > 0);
}

TEST_CASE("a file with a page of zeros is refused or does no harm", "[damage]") {
  if (skipped_for_not_durable()) return;
  DamageFixture f;
  f.judge(40, [&](const fs::path& file) -> std::string {
    const uint64_t size = fs::file_size(file);
    if (size == 0) return "";
    const uint64_t page = f.random() % (size / 4096 + 1);
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(page * 4096));
    stream << std::string(std::min<uint64_t>(4096, size - page * 4096), '\0');
    return "zeros in page " + std::to_string(page);
  });
  CHECK(f.refused > 0);
}

TEST_CASE("a file that is missing is refused or does no harm", "[damage]") {
  if (skipped_for_not_durable()) return;
  DamageFixture f;
  f.judge(12, [](const fs::path& file) -> std::string {
    fs::remove(file);
    return "missing";
  });
  CHECK(f.refused > 0);
}

TEST_CASE("an undamaged copy of a directory is the store", "[damage]") {
  if (skipped_for_not_durable()) return;
  DamageFixture f;
  f.judge(2, [](const fs::path&) -> std::string { return "nothing"; });
  CHECK(f.refused == 0);
}

}  // namespace
}  // namespace quorate::conformance
