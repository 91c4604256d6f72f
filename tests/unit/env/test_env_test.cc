// SPDX-License-Identifier: Apache-2.0
#include "support/test_env.h"

#include <catch2/catch.hpp>

#include "env/loop.h"

namespace quorate::test {
namespace {

class Recorder final : public Loop<int> {
 public:
  explicit Recorder(Executor* executor) : Loop(executor) {}
  std::vector<std::vector<int>> turns;

 private:
  void on_turn(std::vector<int>& events) override { turns.push_back(events); }
};

Status write_text(SimDisk& disk, const std::string& path, Slice text, bool sync) {
  auto file = disk.open(path, OpenMode::kReplace);
  QUORATE_TRY(file.status());
  QUORATE_TRY((*file)->write(0, {&text, 1}));
  return sync ? (*file)->sync() : Status();
}

TEST_CASE("the test runs what was posted, when it says so", "[support]") {
  TestEnv env;
  auto executor = env.make_executor("loop");
  Recorder recorder(executor.get());
  recorder.post(1);
  recorder.post(2);
  CHECK(recorder.turns.empty());
  CHECK(env.run_until_idle() == 1);
  recorder.wake_at(env.clock().now_ns() + 5);
  CHECK(env.run_until_idle() == 0);
  env.advance_ns(5);
  CHECK(recorder.turns == std::vector<std::vector<int>>{{1, 2}, {}});
  recorder.post(3);
  executor->stop();
  CHECK(env.run_until_idle() == 0);
}

TEST_CASE("what was synced survives every crash, a name only with its directory", "[support]") {
  bool name_lost = false, name_kept = false;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    TestEnv env;
    REQUIRE(env.disk().create_dir("/d").ok());
    REQUIRE(env.disk().sync_dir("/").ok());
    REQUIRE(write_text(env.disk(), "/d/a", "aaaa", true).ok());
    REQUIRE(env.disk().sync_dir("/d").ok());
    REQUIRE(write_text(env.disk(), "/d/b", "bbbb", true).ok());
    env.crash(seed);
    CHECK(env.disk().content("/d/a") == "aaaa");
    (env.disk().exists("/d/b") ? name_kept : name_lost) = true;
    if (env.disk().exists("/d/b")) CHECK(env.disk().content("/d/b") == "bbbb");
  }
  CHECK(name_lost);
  CHECK(name_kept);
}

TEST_CASE("what was not synced is kept, lost or torn", "[support]") {
  const std::string text(2048, 'x');
  int kept = 0, lost = 0, torn = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    TestEnv env;
    env.disk().set_content("/a", std::string(2048, '-'));
    {
      auto file = std::move(*env.disk().open("/a", OpenMode::kReadWrite));
      const Slice part = text;
      REQUIRE(file->write(0, {&part, 1}).ok());
      env.crash(seed);
      CHECK_FALSE(file->sync().ok());
    }
    const std::string after = env.disk().content("/a");
    if (after == text)
      ++kept;
    else if (after == std::string(2048, '-'))
      ++lost;
    else
      ++torn;
  }
  CHECK(kept > 0);
  CHECK(lost > 0);
  CHECK(torn > 0);
}

TEST_CASE("an atomic write leaves the old content or the new, whenever the crash comes",
          "[support]") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    TestEnv env;
    env.disk().set_content("/CURRENT", "old");
    env.disk().fail(SimDisk::Op::kSyncDir, 1, Code::kIoError);
    CHECK_FALSE(write_file_atomically(env.disk(), "/CURRENT", "new").ok());
    env.crash(seed);
    const std::string after = env.disk().content("/CURRENT");
    CHECK((after == "old" || after == "new"));
  }
}

TEST_CASE("a failed sync loses what it covered, even if a later one succeeds", "[support]") {
  TestEnv env;
  env.disk().set_content("/a", "");
  auto file = std::move(*env.disk().open("/a", OpenMode::kReadWrite));
  const Slice text = "abc";
  REQUIRE(file->write(0, {&text, 1}).ok());
  env.disk().fail(SimDisk::Op::kSync, 1, Code::kIoError);
  CHECK(file->sync().code() == Code::kIoError);
  CHECK(env.disk().content("/a") == "abc");
  CHECK(file->sync().ok());
  env.crash(1);
  CHECK(env.disk().content("/a").empty());
}

TEST_CASE("a sync asked of a machine that is gone loses nothing of what is on its way",
          "[support]") {
  TestEnv env;
  env.disk().set_content("/a", "");
  auto file = std::move(*env.disk().open("/a", OpenMode::kReadWrite));
  const Slice text = "abc";
  env.disk().stop_after(1);
  REQUIRE(file->write(0, {&text, 1}).ok());
  CHECK(file->sync().code() == Code::kIoError);
  env.disk().kill();
  file = std::move(*env.disk().open("/a", OpenMode::kReadWrite));
  REQUIRE(file->sync().ok());
  env.crash(1);
  CHECK(env.disk().content("/a") == "abc");
}

TEST_CASE("a directory that a crash takes back, or leaves deleted, holds nothing", "[support]") {
  int lost = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    TestEnv env;
    SimDisk& disk = env.disk();
    REQUIRE(disk.create_dir("/deleted").ok());
    REQUIRE(write_text(disk, "/deleted/a", "1", true).ok());
    REQUIRE(disk.sync_dir("/deleted").ok());
    REQUIRE(disk.sync_dir("/").ok());
    REQUIRE(disk.remove_all("/deleted").ok());
    REQUIRE(disk.create_dir("/made").ok());
    REQUIRE(write_text(disk, "/made/a", "1", true).ok());
    REQUIRE(disk.sync_dir("/made").ok());
    env.crash(seed);
    for (const std::string dir : {"/deleted", "/made"}) {
      if (disk.exists(dir)) continue;
      ++lost;
      CHECK_FALSE(disk.exists(dir + "/a"));
    }
  }
  CHECK(lost > 20);
}

TEST_CASE("a directory that is made durably outlives every crash, with those above it",
          "[support]") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    TestEnv env;
    // Some are left by a process that was killed before it synced.
    if (seed % 2 == 0) REQUIRE(create_dir_durably(env.disk(), "/a").ok());
    if (seed % 5 != 0) REQUIRE(env.disk().create_dir(seed % 3 == 0 ? "/a/b/c" : "/a/b").ok());
    REQUIRE(create_dir_durably(env.disk(), "/a/b/c").ok());
    env.crash(seed);
    CHECK(env.disk().exists("/a/b/c"));
  }
}

TEST_CASE("a simulated file reads as a plain string would", "[support]") {
  Random random(7);
  TestEnv env;
  auto file = env.disk().open("/f", OpenMode::kCreate);
  REQUIRE(file);
  std::string now;
  for (int step = 0; step < 400; ++step) {
    const uint64_t offset = random.below(5 * kPageBytes);
    switch (random.below(5)) {
      case 0:
        REQUIRE((*file)->truncate(offset).ok());
        now.resize(offset);
        break;
      case 1: REQUIRE((*file)->sync().ok()); break;
      default: {
        const std::string head(random.below(kPageBytes), static_cast<char>('a' + step % 26));
        const std::string tail(random.below(3 * kPageBytes), random.one_in(2) ? '\0' : 'z');
        const Slice parts[] = {head, "", tail};
        REQUIRE((*file)->write(offset, parts).ok());
        if (head.size() + tail.size() == 0) break;
        if (now.size() < offset) now.resize(offset);
        now.replace(offset, head.size() + tail.size(), head + tail);
      }
    }
    REQUIRE(env.disk().content("/f") == now);
  }
  std::string middle(kPageBytes, '?');
  const size_t got = *(*file)->read(kPageBytes / 2, middle.data(), middle.size());
  CHECK(middle.substr(0, got) == now.substr(kPageBytes / 2, kPageBytes));
  REQUIRE((*file)->sync().ok());
  REQUIRE(env.disk().sync_dir("/").ok());
  env.crash(3);
  CHECK(env.disk().content("/f") == now);
}

TEST_CASE("a byte written over what was synced may be lost, or kept, and nothing else",
          "[support]") {
  bool lost = false, kept = false;
  const std::string before(2 * kPageBytes, 'a');
  std::string after = before;
  after[kPageBytes + 7] = 'c';
  for (uint64_t seed = 0; seed < 40; ++seed) {
    TestEnv env;
    REQUIRE(write_text(env.disk(), "/f", before, true).ok());
    REQUIRE(env.disk().sync_dir("/").ok());
    auto file = env.disk().open("/f", OpenMode::kReadWrite);
    REQUIRE(file);
    const Slice one = "c";
    REQUIRE((*file)->write(kPageBytes + 7, {&one, 1}).ok());
    CHECK(env.disk().content("/f") == after);
    env.crash(seed);
    (env.disk().content("/f") == before ? lost : kept) = true;
    if (env.disk().content("/f") != before) CHECK(env.disk().content("/f") == after);
  }
  CHECK(lost);
  CHECK(kept);
}

TEST_CASE("a full disk refuses to grow a file", "[support]") {
  TestEnv env;
  env.disk().set_capacity(4);
  CHECK(write_text(env.disk(), "/a", "abcd", false).ok());
  CHECK(write_text(env.disk(), "/b", "e", false).code() == Code::kNoSpace);
}

TEST_CASE("a simulated lock is held once and forgotten in a crash", "[support]") {
  TestEnv env;
  auto lock = env.disk().lock("/LOCK");
  REQUIRE(lock.has_value());
  CHECK(env.disk().lock("/LOCK").error().code() == Code::kBusy);
  env.crash(1);
  CHECK(env.disk().lock("/LOCK").has_value());
}

}  // namespace
}  // namespace quorate::test
