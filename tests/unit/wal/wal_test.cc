// SPDX-License-Identifier: Apache-2.0
#include "wal/wal.h"

#include <type_traits>

#include "fixture.h"

namespace quorate::wal::test {
namespace {

// Nobody but the log can say that something is durable, nor take a reply out before.
static_assert(!std::is_constructible_v<raft::Durable, uint64_t>);
static_assert(!std::is_default_constructible_v<raft::Durable>);
static_assert(!std::is_convertible_v<raft::HeldReplies, std::vector<raft::Message>>);

TEST_CASE("a log begins empty and knows whose it is", "[wal]") {
  Fixture f;
  CHECK_FALSE(*exists(f.disk(), f.options.dir));
  f.create();
  CHECK(*exists(f.disk(), f.options.dir));
  f.reopen();
  CHECK(f.found.identity == Identity{7, 8});
  CHECK(f.found.log.last() == raft::EntryId{});
  CHECK(f.found.hard_state.empty());
  CHECK_FALSE(f.found.snapshot);
}

TEST_CASE("a directory that holds a log already is not begun anew", "[wal]") {
  Fixture f;
  f.create();
  f.append_synced(entries(1, 1, 3));
  CHECK(Wal::create(f.env, f.options, {7, 8}, {}, {}).error().code() == Code::kInvalidArgument);
  f.reopen();
  CHECK(f.found_log() == "1:1 1:2 1:3");
}

TEST_CASE("opening where there is no log says so", "[wal]") {
  Fixture f;
  CHECK(f.open().code() == Code::kNotFound);
  REQUIRE(f.disk().create_dir(f.options.dir).ok());
  REQUIRE(f.disk().create_dir(f.options.dir + "/lost+found").ok());
  CHECK(f.open().code() == Code::kNotFound);
}

TEST_CASE("what was synced is there after any crash", "[wal]") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Fixture f;
    f.create();
    f.hard_state(1, 8, 0);
    f.append_synced(entries(1, 1, 2));
    f.append_synced(entries(1, 3, 3, 9000));
    f.power_cut(seed);
    f.reopen();
    CHECK(f.found_log() == "1:1 1:2 1:3");
    CHECK(f.found.log.entries[2].payload.slice() == std::string(9000, 'd'));
    CHECK(f.found.hard_state == raft::HardState{1, 8, 0});
  }
}

TEST_CASE("a position is durable once it is synced, and not before", "[wal]") {
  Fixture f;
  f.create();
  const auto append = [&](uint64_t sequence, std::vector<raft::Entry> entries) {
    raft::Append next = append_of(std::move(entries));
    next.sequence = sequence;
    next.must_sync = !next.entries.empty();
    f.wal->append(std::move(next));
  };
  append(1, entries(1, 1, 1));
  append(2, entries(1, 2, 2));
  CHECK(f.wal->durable().sequence() == 0);
  REQUIRE(f.wal->sync().ok());
  CHECK(f.wal->durable().sequence() == 2);
  append(3, {});  // a commit index alone, with nothing before it
  CHECK(f.wal->durable().sequence() == 3);
  append(4, entries(1, 3, 3));
  append(5, {});  // its replies may promise what is queued
  CHECK(f.wal->durable().sequence() == 3);
  f.disk().fail(SimDisk::Op::kSync, 1, Code::kIoError);
  REQUIRE_FALSE(f.wal->sync().ok());
  append(6, {});
  CHECK(f.wal->durable().sequence() == 3);
}

TEST_CASE("what was queued is not there before it is synced", "[wal]") {
  Fixture f;
  f.create();
  f.append_synced(entries(1, 1, 1));
  f.append(entries(1, 2, 2));
  CHECK(f.wal->has_queued());
  CHECK(f.wal->last() == raft::EntryId{1, 2});
  f.kill_and_reopen();
  CHECK(f.found_log() == "1:1");
}

TEST_CASE("all that is queued becomes one batch and one sync", "[wal]") {
  Fixture f;
  f.create();
  const uint64_t syncs = f.disk().calls(SimDisk::Op::kSync);
  const uint64_t writes = f.disk().calls(SimDisk::Op::kWrite);
  for (raft::Index i = 1; i <= 20; ++i) f.append(entries(1, i, i));
  REQUIRE(f.wal->sync().ok());
  CHECK(f.disk().calls(SimDisk::Op::kSync) == syncs + 1);
  CHECK(f.disk().calls(SimDisk::Op::kWrite) == writes + 1);
  REQUIRE(f.wal->sync().ok());
  CHECK(f.disk().calls(SimDisk::Op::kSync) == syncs + 1);
}

TEST_CASE("an append cuts the log where it begins", "[wal]") {
  Fixture f;
  f.create();
  f.append_synced(entries(1, 1, 5));
  f.append(entries(2, 3, 4));
  f.append_synced(entries(3, 4, 6));
  f.reopen();
  CHECK(f.found_log() == "1:1 1:2 2:3 3:4 3:5 3:6");
}

TEST_CASE("a commit index alone is not synced, and comes with the next batch or mark", "[wal]") {
  Fixture f;
  f.create();
  f.append_synced(entries(1, 1, 3));
  const uint64_t syncs = f.disk().calls(SimDisk::Op::kSync);
  f.hard_state(0, 0, 2, false);
  REQUIRE(f.wal->sync().ok());
  CHECK(f.disk().calls(SimDisk::Op::kSync) == syncs);
  SECTION("batch") {
    f.append_synced(entries(1, 4, 4));
  }
  SECTION("mark") {
    REQUIRE(f.wal->mark_end().ok());
  }
  SECTION("mark, overwritten by a batch") {
    REQUIRE(f.wal->mark_end().ok());
    f.append_synced(entries(1, 4, 4));
  }
  f.kill_and_reopen();
  CHECK(f.found.hard_state.commit == 2);
}

TEST_CASE("a commit index found in a mark survives the batch that overwrites the mark", "[wal]") {
  Fixture f;
  f.create();
  f.append_synced(entries(1, 1, 3));
  f.hard_state(0, 0, 2, false);
  REQUIRE(f.wal->close().ok());
  f.reopen();
  f.append_synced(entries(1, 4, 4));
  f.reopen();
  CHECK(f.found.hard_state.commit == 2);
}

TEST_CASE("a snapshot record starts the log anew behind it", "[wal]") {
  Fixture f;
  f.create();
  f.append_synced(entries(1, 1, 3));
  raft::Append append = append_of(entries(4, 101, 102));
  append.snapshot = raft::SnapshotMeta{100, 4, {{8}, {}, {}, {}, false}};
  f.wal->append(append);
  REQUIRE(f.wal->sync().ok());
  f.reopen();
  CHECK(f.found.log.previous == raft::EntryId{4, 100});
  CHECK(f.found_log() == "4:101 4:102");
  CHECK(f.found.snapshot == append.snapshot);
  CHECK(f.wal->last() == raft::EntryId{4, 102});
}

TEST_CASE("a restored member's log begins behind its snapshot", "[wal]") {
  Fixture f;
  const raft::SnapshotMeta base{100, 4, {{8}, {}, {}, {}, false}};
  f.create(base);
  f.append_synced(entries(5, 101, 101));
  f.reopen();
  CHECK(f.found.log.previous == base.id());
  CHECK(f.found.snapshot == base);
  CHECK(f.found.hard_state == raft::HardState{4, 0, 100});
}

TEST_CASE("a log that fills its segment goes on in the next, and all is read back", "[wal]") {
  Fixture f;
  f.create();
  for (raft::Index i = 1; i <= 50; ++i) f.append_synced(entries(1, i, i, 3000));
  CHECK(f.segment_files().size() > 3);
  f.reopen();
  CHECK(f.found.log.entries.size() == 50);
  f.append_synced(entries(1, 51, 60, 3000));
  f.reopen();
  CHECK(f.found.log.entries.size() == 60);
}

TEST_CASE("a queue larger than a segment's rest is parted between appends", "[wal]") {
  Fixture f;
  f.create();
  for (raft::Index i = 1; i <= 40; ++i) f.append(entries(1, i, i, 3000));
  const uint64_t syncs = f.disk().calls(SimDisk::Op::kSync);
  REQUIRE(f.wal->sync().ok());
  CHECK(f.disk().calls(SimDisk::Op::kSync) > syncs + 1);
  f.reopen();
  CHECK(f.found.log.entries.size() == 40);
}

TEST_CASE("an append larger than a segment is written in parts, the new term first", "[wal]") {
  Fixture f;
  f.create();
  f.hard_state(1, 8, 0);
  REQUIRE(f.wal->sync().ok());
  raft::Append append = append_of(entries(2, 1, 60, 3000));
  append.hard_state = raft::HardState{2, 0, 60};
  f.wal->append(append);
  SECTION("whole") {
    REQUIRE(f.wal->sync().ok());
    f.reopen();
    CHECK(f.found.log.entries.size() == 60);
    CHECK(f.found.hard_state == raft::HardState{2, 0, 60});
  }
  SECTION("cut short by a crash") {
    f.disk().fail(SimDisk::Op::kRename, 2, Code::kIoError);
    CHECK_FALSE(f.wal->sync().ok());
    f.power_cut(1);
    f.reopen();
    CHECK(f.found.log.entries.size() > 1);
    CHECK(f.found.log.entries.size() < 60);
    CHECK(f.found.hard_state == raft::HardState{2, 0, 0});
  }
}

TEST_CASE("the largest payload fits, alone in a segment", "[wal]") {
  Fixture f;
  f.create();
  f.append_synced(entries(1, 1, 1));
  f.hard_state(~uint64_t{0}, ~uint64_t{0}, 1);
  f.append_synced({entry(~uint64_t{0}, 2, std::string(f.wal->payload_bytes_max(), 'x'))});
  f.append_synced(entries(~uint64_t{0}, 3, 3));
  f.reopen();
  CHECK(f.found.log.entries.size() == 3);
}

TEST_CASE("a hard state alone opens a segment when the last one is full to the brim", "[wal]") {
  Fixture f;
  f.create();
  // 15 blocks of batches fill a segment of 16.
  for (raft::Index i = 1; i <= 15; ++i) f.append_synced(entries(1, i, i));
  CHECK(f.segment_files().size() == 1);
  REQUIRE(f.wal->mark_end().ok());
  f.hard_state(2, 8, 0);
  REQUIRE(f.wal->sync().ok());
  CHECK(f.segment_files().size() == 2);
  f.reopen();
  CHECK(f.found.hard_state == raft::HardState{2, 8, 0});
}

TEST_CASE("release gives up the segments that lie wholly below, and the rest still opens",
          "[wal]") {
  Fixture f;
  f.create();
  f.hard_state(3, 8, 0);
  for (raft::Index i = 1; i <= 50; ++i) f.append_synced(entries(1, i, i, 3000));
  CHECK(f.wal->release(14, 14).empty());
  const std::vector<uint64_t> released = f.wal->release(40, 40);
  CHECK(released == std::vector<uint64_t>{1, 2});
  for (uint64_t number : released)
    REQUIRE(retire(f.disk(), f.options.dir, number, "", f.options.segment_bytes).has_value());
  f.power_cut(3);
  f.reopen();
  CHECK(f.found.log.previous.index < 40);
  CHECK(f.found.log.previous.term == 1);
  CHECK(f.found.log.last().index == 50);
  CHECK(f.found.hard_state.term == 3);
  CHECK(reconcile(f.found, {1, 40}).ok());
}

TEST_CASE("a follower's need keeps segments, up to the limit", "[wal]") {
  Fixture f;
  f.options.keep_bytes_max = 3 * f.options.segment_bytes;
  f.create();
  for (raft::Index i = 1; i <= 33; ++i) f.append_synced(entries(1, i, i, 3000));
  CHECK(f.segment_files().size() == 3);
  CHECK(f.wal->release(30, 1).empty());
  for (raft::Index i = 34; i <= 63; ++i) f.append_synced(entries(1, i, i, 3000));
  CHECK(f.wal->release(60, 1) == std::vector<uint64_t>{1, 2});
  CHECK(f.wal->size_bytes() == f.options.keep_bytes_max);
}

TEST_CASE("entries that were cut keep their segment until the index is durable", "[wal]") {
  Fixture f;
  f.create();
  f.append_synced(entries(1, 1, 20, 1000));
  f.append_synced(entries(2, 5, 6, 60000 - 4096 - 2000));
  CHECK(f.wal->release(6, 6).empty());
}

TEST_CASE("a log whose kept part cuts below its base is read from the cut", "[wal]") {
  Fixture f;
  f.create();
  f.append_synced(entries(1, 1, 14, 4000));   // the first segment, nearly full
  f.append_synced(entries(2, 10, 22, 4000));  // the second begins with a cut
  f.append_synced(entries(2, 23, 30, 4000));
  const std::vector<uint64_t> released = f.wal->release(20, 20);
  REQUIRE(released == std::vector<uint64_t>{1});
  REQUIRE(retire(f.disk(), f.options.dir, 1, "", 0).has_value());
  f.reopen();
  CHECK(f.found.log.previous == raft::EntryId{2, 10});
  CHECK(f.found.log.last() == raft::EntryId{2, 30});
  CHECK(reconcile(f.found, {2, 20}).ok());
}

TEST_CASE("a released segment is written again, and its old frames never come back", "[wal]") {
  Fixture f;
  f.create();
  for (raft::Index i = 1; i <= 45; ++i) f.append_synced(entries(1, i, i, 3000));
  for (uint64_t number : f.wal->release(45, 45)) {
    auto spare =
        retire(f.disk(), f.options.dir, number, f.wal->next_spare_path(), f.options.segment_bytes);
    REQUIRE(spare->has_value());
    f.wal->add_spare(**spare);
  }
  CHECK(f.wal->spares() > 1);
  raft::Index last = 45;
  while (f.wal->spares() > 0) {
    ++last;
    f.append_synced(entries(2, last, last, 3000));
  }
  f.append_synced(entries(2, last + 1, last + 1, 100));
  f.kill_and_reopen();
  CHECK(f.found.log.last() == raft::EntryId{2, last + 1});
  f.append_synced(entries(3, last, last));
  f.reopen();
  CHECK(f.found.log.last() == raft::EntryId{3, last});
}

TEST_CASE("spares that are whole are kept over a restart, others are removed", "[wal]") {
  Fixture f;
  f.create();
  for (int i = 0; i < kSparesMax + 1; ++i)
    f.disk().set_content(f.wal->next_spare_path(), std::string(f.options.segment_bytes, '\0'));
  f.disk().set_content(f.wal->next_spare_path(), "half");
  f.reopen();
  CHECK(f.wal->spares() == kSparesMax);
  CHECK(f.disk().list(f.options.dir)->size() == kSparesMax + 1);
}

TEST_CASE("without sync nothing is synced", "[wal]") {
  Fixture f;
  f.options.sync = false;
  f.create();
  for (raft::Index i = 1; i <= 30; ++i) f.append_synced(entries(1, i, i, 3000));
  REQUIRE(f.wal->close().ok());
  CHECK(f.disk().calls(SimDisk::Op::kSync) == 0);
  CHECK(f.disk().calls(SimDisk::Op::kSyncDir) == 0);
  f.kill_and_reopen();
  CHECK(f.found.log.entries.size() == 30);
}

TEST_CASE("a failed write or sync is final", "[wal]") {
  for (const auto op : {SimDisk::Op::kWrite, SimDisk::Op::kSync}) {
    Fixture f;
    f.create();
    f.append_synced(entries(1, 1, 1));
    f.disk().fail(op, 1, Code::kIoError);
    f.append(entries(1, 2, 2));
    CHECK(f.wal->sync().code() == Code::kIoError);
    CHECK(f.wal->sync().code() == Code::kIoError);
    CHECK(f.wal->mark_end().code() == Code::kIoError);
    CHECK(f.wal->close().code() == Code::kIoError);
    CHECK(f.wal->status().message().find(f.path(1)) != std::string_view::npos);
  }
}

TEST_CASE("what was read back after a failed sync is on the disk before anything is built on it",
          "[wal]") {
  Fixture f;
  f.create();
  f.append_synced(entries(1, 1, 1));
  f.disk().fail(SimDisk::Op::kSync, 1, Code::kIoError);
  f.append(entries(1, 2, 2));
  CHECK_FALSE(f.wal->sync().ok());
  f.kill_and_reopen();
  REQUIRE(f.found_log() == "1:1 1:2");
  f.power_cut(1);
  f.reopen();
  CHECK(f.found_log() == "1:1 1:2");
}

TEST_CASE("a full disk fails the start of a segment, not the one before", "[wal]") {
  Fixture f;
  f.create();
  f.disk().set_capacity(f.options.segment_bytes + 100);
  raft::Index last = 0;
  Status status;
  while (status.ok()) {
    ++last;
    f.append(entries(1, last, last, 3000));
    status = f.wal->sync();
  }
  CHECK(status.code() == Code::kNoSpace);
  f.disk().set_capacity(~uint64_t{0});
  f.reopen();
  CHECK(f.found.log.last().index == last - 1);
  CHECK(f.segment_files().size() == 1);
}

TEST_CASE("a log that could not be begun leaves nothing that counts as one", "[wal]") {
  for (const auto op : {SimDisk::Op::kOpen, SimDisk::Op::kWrite, SimDisk::Op::kSync,
                        SimDisk::Op::kRename, SimDisk::Op::kSyncDir}) {
    Fixture f;
    f.disk().fail(op, 1, Code::kIoError);
    CHECK_FALSE(Wal::create(f.env, f.options, {7, 8}, {}, {}).has_value());
    CHECK_FALSE(*exists(f.disk(), f.options.dir));
    f.create();
    f.append_synced(entries(1, 1, 1));
    f.power_cut(1);
    f.reopen();
    CHECK(f.found_log() == "1:1");
  }
}

TEST_CASE("the engine's applied index must lie in the log", "[wal]") {
  Fixture f;
  f.create();
  f.append_synced(entries(1, 1, 3));
  f.append_synced(entries(2, 4, 5));
  f.reopen();
  CHECK(reconcile(f.found, {}).ok());
  CHECK(reconcile(f.found, {2, 5}).ok());
  CHECK(f.found.hard_state.commit == 5);
  CHECK(reconcile(f.found, {1, 2}).ok());
  CHECK(f.found.hard_state.commit == 5);
  const Status behind = reconcile(f.found, {2, 6});
  CHECK(behind.code() == Code::kCorrupt);
  CHECK(behind.message().find(f.path(1) + " at byte ") != std::string_view::npos);
  CHECK(reconcile(f.found, {1, 4}).code() == Code::kCorrupt);
  f.found.log.previous = {1, 9};
  f.found.log.entries.clear();
  CHECK(reconcile(f.found, {1, 9}).ok());
  CHECK(reconcile(f.found, {1, 8}).code() == Code::kCorrupt);
}

}  // namespace
}  // namespace quorate::wal::test
