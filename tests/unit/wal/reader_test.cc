// SPDX-License-Identifier: Apache-2.0
#include "wal/reader.h"

#include "fixture.h"

namespace quorate::wal::test {
namespace {

struct ReaderFixture : Fixture {
  ReaderFixture() { create(); }
  Result<std::vector<raft::Entry>> read(raft::Index first, uint64_t bytes_max = 1 << 20) {
    return read_window(disk(), options.dir, wal->head(), first, bytes_max);
  }
  std::string text(raft::Index first, uint64_t bytes_max = 1 << 20) {
    const auto window = read(first, bytes_max);
    if (!window) return std::string(code_name(window.error().code()));
    std::string result;
    for (const raft::Entry& e : *window)
      result +=
          (result.empty() ? "" : " ") + std::to_string(e.term) + ":" + std::to_string(e.index);
    return result;
  }
};

TEST_CASE("a window runs over sealed segments, in the bytes it is given", "[wal]") {
  ReaderFixture f;
  for (raft::Index i = 1; i <= 33; ++i) f.append_synced(entries(1, i, i, 3000));
  REQUIRE(f.segment_files().size() == 3);
  CHECK(f.text(14, 9000) == "1:14 1:15 1:16");
  CHECK(f.text(14, 1) == "1:14");
  CHECK(f.read(1)->size() == 30);
  CHECK(f.read(30)->front() == entries(1, 30, 30, 3000).front());
}

TEST_CASE("what is not sealed is not read", "[wal]") {
  ReaderFixture f;
  f.append_synced(entries(1, 1, 1));
  CHECK(f.text(1) == "compacted");
  for (raft::Index i = 2; i <= 20; ++i) f.append_synced(entries(1, i, i, 3000));
  CHECK(f.text(16) == "compacted");
  CHECK(f.text(15) == "1:15");
}

TEST_CASE("what was released is said to be gone", "[wal]") {
  ReaderFixture f;
  for (raft::Index i = 1; i <= 50; ++i) f.append_synced(entries(1, i, i, 3000));
  for (uint64_t number : f.wal->release(20, 20))
    REQUIRE(retire(f.disk(), f.options.dir, number, "", 0).has_value());
  CHECK(f.text(15) == "compacted");
  CHECK(f.text(16, 1) == "1:16");
}

TEST_CASE("of an entry that was cut and written again, the last version is read", "[wal]") {
  ReaderFixture f;
  f.append_synced(entries(1, 1, 14, 3900));   // segment 1
  f.append_synced(entries(2, 8, 20, 3900));   // segment 2
  f.append_synced(entries(3, 15, 28, 3900));  // segment 3
  f.append_synced(entries(3, 29, 40, 3900));  // segment 4
  REQUIRE(f.segment_files().size() == 4);
  CHECK(f.text(6, 1) == "1:6");
  CHECK(f.text(7, 3900 * 2) == "1:7");  // behind it, segment 2 wrote anew
  CHECK(f.text(8, 3900 * 2) == "2:8 2:9");
  CHECK(f.text(13, 1) == "2:13");
  CHECK(f.text(14, 3900 * 3) == "2:14");
  CHECK(f.text(15, 3900 * 2) == "3:15 3:16");
}

TEST_CASE("a snapshot record starts a window anew", "[wal]") {
  ReaderFixture f;
  f.append_synced(entries(1, 1, 5, 1000));
  raft::Append append = append_of(entries(2, 101, 112, 3900));
  append.snapshot = raft::SnapshotMeta{100, 2, {}};
  f.wal->append(append);
  REQUIRE(f.wal->sync().ok());
  f.append_synced(entries(2, 113, 120, 3900));
  CHECK(f.text(102, 1) == "2:102");
  CHECK(f.text(50, 1) == "compacted");
}

TEST_CASE("what the segment being written wrote anew is not read from an older one", "[wal]") {
  ReaderFixture f;
  f.append_synced(entries(1, 1, 14, 3900));  // segment 1
  f.append_synced(entries(1, 15, 18, 3900));
  REQUIRE(f.segment_files().size() == 2);
  f.append_synced(entries(2, 13, 15, 3900));
  CHECK(f.text(11) == "1:11 1:12");
  CHECK(f.text(13) == "compacted");
}

TEST_CASE("what a snapshot took off the log in the segment that wrote it is gone", "[wal]") {
  ReaderFixture f;
  f.append_synced(entries(1, 1, 5, 1000));
  raft::Append append = append_of(entries(2, 21, 24, 3000));
  append.snapshot = raft::SnapshotMeta{20, 2, {}};
  f.wal->append(append);
  REQUIRE(f.wal->sync().ok());
  f.append_synced(entries(2, 25, 40, 3000));
  REQUIRE(f.segment_files().size() > 1);
  CHECK(f.text(3) == "compacted");
  CHECK(f.text(21, 1) == "2:21");
}

TEST_CASE("damage in a sealed segment is told", "[wal]") {
  ReaderFixture f;
  for (raft::Index i = 1; i <= 20; ++i) f.append_synced(entries(1, i, i, 3000));
  f.disk().flip_bit(f.path(1), (3 * Fixture::kBlock + 100) * 8);
  CHECK(f.text(2, 3000) == "1:2");
  CHECK(f.text(3) == "corrupt");
}

}  // namespace
}  // namespace quorate::wal::test
