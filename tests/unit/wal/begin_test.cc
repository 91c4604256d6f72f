// SPDX-License-Identifier: Apache-2.0
// How a segment is begun: its file is named in advance, its header is written with its first batch.
// What a crash leaves in between is no damage, and damage does not pass for it.
#include <algorithm>

#include "fixture.h"

namespace quorate::wal::test {
namespace {

constexpr uint64_t kSector = 512;

// A first segment that is full to the brim with batches 1 to 15, and a second that is named.
struct FullSegment : Fixture {
  FullSegment() {
    create();
    for (raft::Index i = 1; i <= 15; ++i) append_synced(entries(1, i, i, 3000));
    name_next();
    named = disk().content(path(2));
  }
  // Batch 16, the first of the second segment, and those after it.
  void begin(raft::Index last = 16) {
    for (raft::Index i = 16; i <= last; ++i) append_synced(entries(1, i, i, 3000));
  }
  void flip(uint64_t segment, uint64_t byte) { disk().flip_bit(path(segment), byte * 8 + 3); }
  // The log ends at entry `last`, and goes on from there over a start and a power cut.
  void goes_on_from(raft::Index last) {
    reopen();
    REQUIRE(found.log.last().index == last);
    append_synced(entries(2, last + 1, last + 1, 3000));
    append_synced(entries(2, last + 2, last + 2, 3000));
    power_cut(1);
    reopen();
    CHECK(found.log.last() == raft::EntryId{2, last + 2});
  }
  bool refused(const std::string& place, const std::string& why) {
    const Status status = open();
    INFO(status.to_string());
    return status.code() == Code::kCorrupt &&
           status.message().find(place) != std::string_view::npos &&
           status.message().find(why) != std::string_view::npos;
  }
  std::string named;  // the second file before it was begun
};

TEST_CASE("a segment that was named in advance costs one write and one sync", "[wal]") {
  FullSegment f;
  std::vector<uint64_t> before, after;
  const auto count = [&](std::vector<uint64_t>& calls) {
    for (const auto op : {SimDisk::Op::kWrite, SimDisk::Op::kSync, SimDisk::Op::kSyncDir,
                          SimDisk::Op::kRename, SimDisk::Op::kRead})
      calls.push_back(f.disk().calls(op));
  };
  count(before);
  const uint64_t bytes = f.wal->written_bytes();
  f.begin();
  count(after);
  CHECK(after[0] == before[0] + 1);
  CHECK(after[1] == before[1] + 1);
  CHECK(std::equal(after.begin() + 2, after.end(), before.begin() + 2));
  CHECK(f.wal->written_bytes() == bytes + 2 * Fixture::kBlock);
}

TEST_CASE("a named segment is no part of the log's size, and one of its spares", "[wal]") {
  FullSegment f;
  CHECK(f.wal->size_bytes() == f.options.segment_bytes);
  CHECK(f.wal->spares() == 1);
  CHECK_FALSE(f.wal->name_next());
  f.begin();
  CHECK(f.wal->size_bytes() == 2 * f.options.segment_bytes);
  CHECK(f.wal->spares() == 0);
}

TEST_CASE("a named segment that was never begun is found again, and begun", "[wal]") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    FullSegment f;
    if (seed % 2 == 0) f.power_cut(seed);
    f.reopen();
    CHECK(f.found.log.last().index == 15);
    CHECK(f.wal->spares() == 1);
    const uint64_t renames = f.disk().calls(SimDisk::Op::kRename);
    f.begin();
    CHECK(f.disk().calls(SimDisk::Op::kRename) == renames);
    f.goes_on_from(16);
  }
}

TEST_CASE("a header torn anywhere leaves the segment before it as the end", "[wal]") {
  for (uint64_t kept = 0; kept < 256; ++kept) {
    FullSegment f;
    f.begin();
    std::string content = f.disk().content(f.path(2));
    for (uint64_t sector = 0; sector < 8; ++sector)
      if ((kept >> sector & 1) == 0)
        content.replace(sector * kSector, kSector, f.named, sector * kSector, kSector);
    f.disk().set_content(f.path(2), content);
    // All that is not zeros lies in the first and the last sector.
    const bool whole = (kept & 1) != 0 && (kept & 128) != 0;
    INFO("sectors " << kept);
    f.goes_on_from(whole ? 16 : 15);
    REQUIRE_FALSE(f.sink.lines.empty());
  }
}

TEST_CASE("a torn first batch under a whole header leaves an empty segment", "[wal]") {
  for (uint64_t byte : {0, 20, 64, 2000}) {
    FullSegment f;
    f.begin();
    f.flip(2, Fixture::kBlock + byte);
    f.goes_on_from(15);
    CHECK(f.segment_files().size() == 2);
  }
}

TEST_CASE("what was torn when a segment was begun is gone before it is begun anew", "[wal]") {
  FullSegment f;
  f.begin();
  f.flip(2, 100);
  f.reopen();
  f.power_cut(1);
  const std::string head = f.disk().content(f.path(2)).substr(0, 2 * Fixture::kBlock);
  CHECK(std::all_of(head.begin(), head.end(), [](char c) { return c == '\0'; }));
}

TEST_CASE("a cut beginning is told, also behind a mark", "[wal]") {
  Fixture f;
  f.create();
  for (raft::Index i = 1; i <= 14; ++i) f.append_synced(entries(1, i, i, 3000));
  f.name_next();
  REQUIRE(f.wal->mark_end().ok());
  f.reopen();
  CHECK(f.sink.lines.empty());
  f.append_synced(entries(1, 15, 15, 6000));  // does not fit behind the mark
  f.disk().flip_bit(f.path(2), 100);
  f.reopen();
  CHECK(f.found.log.last().index == 14);
  REQUIRE(f.sink.lines.size() == 1);
  CHECK(f.sink.lines[0].find("ends with a mark in " + f.path(1)) != std::string::npos);
}

TEST_CASE("a damaged header that a second batch or a mark vouches for is refused", "[wal]") {
  for (uint64_t byte : {0, 5, 8, 20, 60, 100, 2000, 4093}) {
    FullSegment f;
    f.begin(17);
    f.flip(2, byte);
    CHECK(f.refused(f.path(2) + " at byte 0", "a batch in it says that batch 16 was"));
    FullSegment g;
    g.begin();
    REQUIRE(g.wal->mark_end().ok());
    g.flip(2, byte);
    CHECK(g.refused(g.path(2) + " at byte 0", "a batch in it says that batch 16 was"));
  }
}

TEST_CASE("a lost header block is found out, though the file is as it was when it was named",
          "[wal]") {
  FullSegment f;
  f.begin(17);
  std::string content = f.disk().content(f.path(2));
  content.replace(0, 2 * Fixture::kBlock, f.named, 0, 2 * Fixture::kBlock);
  f.disk().set_content(f.path(2), content);
  CHECK(f.refused(f.path(2) + " at byte 0", "its header is not whole"));
}

TEST_CASE("a damaged header that only one batch follows, and no mark, is cut as torn", "[wal]") {
  FullSegment f;
  f.begin();
  f.flip(2, 100);
  f.reopen();
  CHECK(f.found.log.last().index == 15);
  CHECK(reconcile(f.found, {1, 16}).code() == Code::kCorrupt);
}

TEST_CASE("a first batch vouches for the segment before, whatever became of its header", "[wal]") {
  FullSegment f;
  f.begin();
  f.flip(2, 100);
  f.flip(1, 15 * Fixture::kBlock + 99);
  CHECK(f.refused(f.path(2), "though a batch in it says that batch 15 was"));
}

TEST_CASE("a damaged header before another segment is refused, begun or named", "[wal]") {
  for (const bool begun : {true, false}) {
    FullSegment f;
    f.begin(30);
    f.name_next();
    if (begun) f.append_synced(entries(1, 31, 31));
    REQUIRE(f.segment_files().size() == 3);
    std::string content = f.disk().content(f.path(2));
    content.replace(0, f.named.size(), f.named);  // nothing in it vouches for anything
    f.disk().set_content(f.path(2), content);
    CHECK(f.refused(f.path(2), "has a damaged header"));
  }
}

TEST_CASE("another segment under the newest name is refused, not taken for one not begun",
          "[wal]") {
  FullSegment f;
  f.begin(17);
  f.disk().set_content(f.path(2), f.disk().content(f.path(1)));
  CHECK(f.refused(f.path(2), "it is segment 1 under another name"));
}

TEST_CASE("a segment whose salt is not the one that was chosen for it is refused", "[wal]") {
  FullSegment f;
  f.begin(17);
  std::string content = f.disk().content(f.path(2));
  SegmentHeader header = *decode_segment_header(content, "");
  ++header.salt;
  content.replace(0, Fixture::kBlock, encode_segment_header(header));
  f.disk().set_content(f.path(2), content);
  CHECK(f.refused(f.path(2), "it is not the segment that the one before it names"));
}

TEST_CASE("a segment that was released comes back without its header, whenever the power fails",
          "[wal]") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    FullSegment f;
    f.begin(30);
    REQUIRE(f.wal->release(15, 15) == std::vector<uint64_t>{1});
    const uint64_t step = seed % 4;
    const std::string spare = f.wal->next_spare_path();
    if (step == 0) {  // as far as the directory's sync
      REQUIRE(f.disk().rename(f.path(1), spare).ok());
      REQUIRE(f.disk().sync_dir(f.options.dir).ok());
    } else {
      auto retired = retire(f.disk(), f.options.dir, 1, spare, f.options.segment_bytes);
      REQUIRE(retired->has_value());
      f.wal->add_spare(**retired);
      if (step > 1) f.name_next();
    }
    if (step == 3) f.disk().kill();
    f.power_cut(seed);
    f.reopen();
    CHECK(f.wal->spares() == 1);
    if (step < 2) f.name_next();
    f.power_cut(seed);
    f.goes_on_from(30);
  }
}

TEST_CASE("a power cut anywhere in the retirement of a segment is no damage", "[wal]") {
  for (uint64_t calls = 0; calls < 5; ++calls)
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      FullSegment f;
      f.begin(30);
      REQUIRE(f.wal->release(15, 15) == std::vector<uint64_t>{1});
      f.disk().stop_after(calls);
      const auto retired =
          retire(f.disk(), f.options.dir, 1, f.wal->next_spare_path(), f.options.segment_bytes);
      CHECK(retired.has_value() == (calls == 4));
      f.power_cut(seed);
      f.goes_on_from(30);
    }
}

TEST_CASE("a released segment gives its name up while the next one has its own", "[wal]") {
  FullSegment f;
  f.begin(30);
  f.name_next();
  REQUIRE(f.wal->release(15, 15) == std::vector<uint64_t>{1});
  REQUIRE(retire(f.disk(), f.options.dir, 1, "", f.options.segment_bytes).has_value());
  CHECK(f.segment_files() == std::vector<std::string>{segment_name(2), segment_name(3)});
  f.goes_on_from(30);
}

TEST_CASE("a named file of another size is not begun", "[wal]") {
  for (const uint64_t blocks : {8, 32}) {
    FullSegment f;
    f.wal.reset();
    f.options.segment_bytes = blocks * Fixture::kBlock;
    f.reopen();
    CHECK(f.wal->spares() == 0);
    CHECK(f.segment_files().size() == 1);
    f.append_synced({entry(2, 16, std::string(f.wal->payload_bytes_max(), 'x'))});
    f.power_cut(3);
    f.goes_on_from(16);
  }
}

TEST_CASE("a name that is given while the log gives it comes to the same", "[wal]") {
  for (const bool pool_first : {true, false}) {
    FullSegment f;
    f.begin();
    f.make_spare();
    const auto next = f.wal->name_next();
    REQUIRE(next);
    if (pool_first) REQUIRE(f.disk().rename(next->spare_path, f.path(3)).ok());
    for (raft::Index i = 17; i <= 32; ++i) f.append_synced(entries(1, i, i, 3000));
    REQUIRE(f.wal->head().segment == 3);
    f.make_spare();
    const auto after = f.wal->name_next();
    REQUIRE(after->number == 4);
    // The pool comes late to the first of the two.
    REQUIRE(name_segment(f.disk(), f.options.dir, *next, true).ok());
    f.wal->next_named(next->number);
    const uint64_t renames = f.disk().calls(SimDisk::Op::kRename);
    for (raft::Index i = 33; i <= 47; ++i) f.append_synced(entries(1, i, i, 3000));
    CHECK(f.disk().calls(SimDisk::Op::kRename) == renames + 1);
    f.power_cut(1);
    f.goes_on_from(47);
  }
}

TEST_CASE("a segment begun by a sync that failed is on the disk before anything is built on it",
          "[wal]") {
  FullSegment f;
  f.disk().fail(SimDisk::Op::kSync, 1, Code::kIoError);
  f.append(entries(1, 16, 16, 3000));
  CHECK_FALSE(f.wal->sync().ok());
  f.kill_and_reopen();
  REQUIRE(f.found.log.last().index == 16);
  f.power_cut(1);
  f.reopen();
  CHECK(f.found.log.last().index == 16);
}

TEST_CASE("a named segment without its spare fails the switch, and says which", "[wal]") {
  FullSegment f;
  REQUIRE(f.disk().remove(f.path(2)).ok());
  f.append(entries(1, 16, 16));
  const Status status = f.wal->sync();
  CHECK(status.code() == Code::kNotFound);
  CHECK(status.message().find(f.path(2)) != std::string_view::npos);
  f.reopen();
  CHECK(f.found.log.last().index == 15);
}

TEST_CASE("batches that are large keep the next segment in the page cache", "[wal]") {
  for (const size_t bytes : {size_t{3000}, size_t{70000}}) {
    Fixture f;
    f.options.segment_bytes = 64 * Fixture::kBlock;
    f.create();
    f.make_spare();
    CHECK(f.wal->name_next()->drop_cache);
    raft::Index last = 0;
    for (; f.wal->head().segment == 1; ++last)
      f.append_synced(entries(1, last + 1, last + 1, bytes));
    f.make_spare();
    CHECK(f.wal->name_next()->drop_cache == (bytes == 3000));
  }
}

}  // namespace
}  // namespace quorate::wal::test
