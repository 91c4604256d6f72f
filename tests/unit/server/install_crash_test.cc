// SPDX-License-Identifier: Apache-2.0
// A crash at every point between the first block of a snapshot and the end of its installation: the
// member starts, with the store from before or with the snapshot's, and goes on from there.
#include <catch2/catch.hpp>

#include "plugin/loader.h"
#include "server/bootstrap.h"
#include "storage/generation_import.h"
#include "test_member.h"

extern "C" const quorate_plugin* quorate_static_backend_lmdb(void);

namespace quorate::test {
namespace {

std::vector<plugin::StaticPlugin> engines() {
  return {{"backend_memory", quorate_static_backend_memory()},
          {"backend_lmdb", quorate_static_backend_lmdb()}};
}

// What a member that has come further, with another engine, would send.
std::string longer_history(int puts) {
  TestMember further;
  further.more_plugins = {engines()[1]};
  further.config.backend.name = "lmdb";
  further.config.wal_segment_bytes = 64 << 10;
  further.start();
  for (int i = 0; i < puts; ++i) further.put("k" + std::to_string(i), "v");
  further.env.advance_ms(500);
  further.crash(1);
  plugin::PluginLoader loader("/nowhere", engines(), Logger());
  const Result<plugin::BackendFactory> factory = loader.backend("lmdb");
  const Result<server::Bootstrapped> found =
      server::bootstrap(further.machine, further.config, *factory, {}, nullptr, Logger());
  REQUIRE(found.has_value());
  storage::SnapshotWriter writer = *storage::SnapshotWriter::open(*found->engine.engine->view(0));
  std::string stream;
  while (writer.next(stream).value()) {
  }
  return stream;
}

// All that happens to the disk of a member that gets a snapshot, in order. What has been promised
// to the log is in `recorded`.
Status receive(TestMember& member, const std::string& stream, bool& recorded) {
  plugin::PluginLoader loader("/nowhere", engines(), Logger());
  const Result<plugin::BackendFactory> factory = loader.backend("memory");
  REQUIRE(factory.has_value());
  Result<server::Bootstrapped> found =
      server::bootstrap(member.machine, member.config, *factory, {}, nullptr, Logger());
  QUORATE_TRY(found.status());
  FileSystem& files = member.machine.files();
  auto import = storage::GenerationImport::begin(
      files, server::store_options(member.config, *factory, {}, Logger()));
  QUORATE_TRY(import.status());
  QUORATE_TRY((*import)->feed(stream));
  for (bool complete = false; !complete;) {
    const Result<bool> finished = (*import)->finish_some();
    QUORATE_TRY(finished.status());
    complete = *finished;
  }
  const storage::Applied applied = (*import)->applied();
  import->reset();

  raft::Append append;
  append.term = applied.entry.term;
  append.snapshot = raft::SnapshotMeta{applied.entry.index, applied.entry.term, applied.conf_state};
  append.hard_state = raft::HardState{applied.entry.term, 0, applied.entry.index};
  append.must_sync = true;
  found->wal->append(std::move(append));
  QUORATE_TRY(found->wal->sync());
  recorded = true;
  return storage::make_complete_current(files, member.config.data_dir);
}

TEST_CASE("a crash at any point of a snapshot's way in leaves a member that starts", "[install]") {
  const std::string stream = longer_history(40);
  bool whole = false;
  int before = 0, after = 0;
  for (uint64_t calls = 0; !whole; ++calls) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      CAPTURE(calls, seed);
      TestMember member(seed);
      member.config.wal_segment_bytes = 64 << 10;
      member.start();
      for (int i = 0; i < 3; ++i) member.put("k" + std::to_string(i), "v");
      member.crash(seed);
      member.machine.disk().stop_after(calls);
      bool recorded = false;
      whole = receive(member, stream, recorded).ok();
      member.crash(seed + 100);
      member.start();
      const int64_t keys = member.count("k", "l");
      CHECK((keys == 40 || (!recorded && keys == 3)));
      (keys == 40 ? after : before) += 1;
      const int64_t revision = member.put("k99", "v");
      CHECK(revision == keys + 2);
      member.crash(seed + 200);
      member.start();
      CHECK(member.count("k", "l") == keys + 1);
      CHECK_FALSE(member.machine.files().exists(storage::complete_path(member.config.data_dir)));
    }
  }
  CHECK(before > 10);
  CHECK(after > 3);
}

TEST_CASE("a snapshot that the log names, and no generation holds, is refused with a sentence",
          "[install]") {
  const std::string stream = longer_history(40);
  TestMember member;
  member.config.wal_segment_bytes = 64 << 10;
  member.start();
  member.put("k", "v");
  member.crash(1);
  bool recorded = false;
  REQUIRE(receive(member, stream, recorded).ok());
  const std::string dir = member.config.data_dir;
  REQUIRE(member.machine.files()
              .rename(storage::backend_dir(dir) + "/CURRENT", storage::complete_path(dir))
              .ok());
  REQUIRE(write_file_atomically(member.machine.files(), storage::backend_dir(dir) + "/CURRENT",
                                storage::encode_current({1, "memory", {}}))
              .ok());
  SECTION("it is there still") {
    CHECK(member.try_start().ok());
  }
  SECTION("its file is damaged") {
    member.machine.disk().flip_bit(storage::complete_path(dir), 100);
    const Status status = member.try_start();
    INFO(status.to_string());
    CHECK(status.code() == Code::kCorrupt);
  }
  SECTION("it is gone") {
    REQUIRE(member.machine.files().remove(storage::complete_path(dir)).ok());
    const Status status = member.try_start();
    CHECK_THAT(status.to_string(), Catch::Contains("but the log begins behind entry"));
  }
}

}  // namespace
}  // namespace quorate::test
