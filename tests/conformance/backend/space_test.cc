// SPDX-License-Identifier: Apache-2.0
#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "conformance/backend/engine.h"

namespace quorate::conformance {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// A file system of its own, and small. mounted() is false where that is not allowed.
class SmallDisk {
 public:
  SmallDisk() {
    mounted_ = ::mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, "size=112m") == 0;
    if (!mounted_) WARN("skipped: cannot mount a tmpfs: " << std::strerror(errno));
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(dir_.path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  std::string engine_dir() const {
    const std::string dir = dir_.path() + "/engine";
    std::filesystem::create_directory(dir);
    return dir;
  }
  std::string ballast() const { return dir_.path() + "/ballast"; }

 private:
  TempDir dir_;
  bool mounted_ = false;
};

// One batch of 1 MiB in ten values, and its number.
Batch megabyte(uint64_t number) {
  Batch batch;
  for (uint64_t i = 0; i < 10; ++i)
    batch.append(0, number_key(number) + number_key(i),
                 std::string(kMiB / 10, static_cast<char>('a' + number % 26)));
  return batch.put(1, "last", std::to_string(number));
}

void require_batches(View& view, uint64_t last) {
  const Pairs pairs = view.scan(0);
  REQUIRE(pairs.size() == last * 10);
  for (uint64_t number = 1; number <= last; ++number)
    for (uint64_t i = 0; i < 10; ++i) {
      const auto& [key, value] = pairs[(number - 1) * 10 + i];
      REQUIRE((key == number_key(number) + number_key(i)));
      REQUIRE((value == std::string(kMiB / 10, static_cast<char>('a' + number % 26))));
    }
}

TEST_CASE("a store grows well beyond any first size", "[space]") {
  TempDir dir;
  Engine engine(dir.path());
  for (uint64_t number = 1; number <= 96; ++number) engine.write(megabyte(number));
  require_batches(*engine.view(), 96);
}

TEST_CASE("a store holds twice its quota", "[space]") {
  TempDir dir;
  constexpr uint64_t kQuota = 8 * kMiB;
  Engine engine(dir.path(), kQuota);
  uint64_t number = 0;
  while (engine.stats().size < 2 * kQuota && number < 64) engine.write(megabyte(++number));
  require_batches(*engine.view(), number);
}

TEST_CASE("space that deletes set free is used again", "[space]") {
  TempDir dir;
  Engine engine(dir.path(), 16 * kMiB);
  uint64_t largest = 0;
  for (uint64_t number = 1; number <= 200; ++number) {
    Batch batch = megabyte(number);
    if (number > 4)
      for (uint64_t i = 0; i < 10; ++i) batch.erase(0, number_key(number - 4) + number_key(i));
    engine.write(batch);
    largest = std::max(largest, engine.stats().size);
  }
  CHECK(engine.view()->scan(0).size() == 40);
  CHECK(largest < 128 * kMiB);
}

TEST_CASE("a full disk refuses the batch, and neither tears it nor loses one before it",
          "[space][full]") {
  if (skipped_for_not_durable()) return;
  SmallDisk disk;
  if (!disk.mounted()) return;
  const std::string dir = disk.engine_dir();
  std::ofstream(disk.ballast()) << std::string(64 * kMiB, 'b');
  uint64_t last = 0;
  {
    Engine engine(dir);
    Answer answer;
    while (last < 200 && (answer = engine.try_write(megabyte(last + 1))).status == QUORATE_OK)
      ++last;
    INFO("after " << last << " batches: " << answer.message);
    REQUIRE(answer.status == QUORATE_NO_SPACE);
    CHECK_FALSE(answer.message.empty());
    require_batches(*engine.view(), last);
  }
  std::filesystem::remove(disk.ballast());
  Engine engine(dir);
  const auto view = engine.view();
  const uint64_t found = std::stoull(view->get(1, "last").value_or("0"));
  CHECK(found >= last);
  CHECK(found <= last + 1);
  require_batches(*view, found);
  engine.write(megabyte(found + 1));
  require_batches(*engine.view(), found + 1);
}

TEST_CASE("an open on a full disk is refused with a sentence", "[space][full]") {
  if (skipped_for_not_durable()) return;
  SmallDisk disk;
  if (!disk.mounted()) return;
  const std::string dir = disk.engine_dir();
  std::ofstream(disk.ballast()) << std::string(120 * kMiB, 'b');
  const Answer answer = Engine::refused_open(dir);
  CHECK(answer.status == QUORATE_NO_SPACE);
  CHECK_FALSE(answer.message.empty());
}

}  // namespace
}  // namespace quorate::conformance
