// SPDX-License-Identifier: Apache-2.0
// Torn or damaged: what a crash leaves is cut, what the disk spoiled is refused.
#include <algorithm>

#include "base/coding.h"
#include "base/crc32c.h"
#include "fixture.h"

namespace quorate::wal::test {
namespace {

// Three synced batches of one block each, in blocks 1, 2 and 3 of the first segment; then perhaps a
// mark in block 4.
struct ThreeBatches : Fixture {
  ThreeBatches() {
    create();
    for (raft::Index i = 1; i <= 3; ++i) append_synced(entries(1, i, i, 1000));
  }
  void flip(uint64_t block, uint64_t byte_in_block, uint64_t segment = 1) {
    disk().flip_bit(path(segment), (block * kBlock + byte_in_block) * 8 + 3);
  }
  std::string message(const Status& status) const { return std::string(status.message()); }
};

TEST_CASE("a damaged batch that a later one vouches for is refused with file and offset", "[wal]") {
  for (uint64_t byte : {0, 12, 30, 60, 64, 70, 1000}) {
    ThreeBatches f;
    f.flip(2, byte);
    const Status status = f.open();
    CHECK(status.code() == Code::kCorrupt);
    CHECK(f.message(status).find(f.path(1) + " at byte 8192: batch 2 is not whole") !=
          std::string::npos);
  }
}

TEST_CASE("the last batch, damaged and without a mark, is cut as torn, with a line in the log",
          "[wal]") {
  ThreeBatches f;
  f.flip(3, 100);
  f.reopen();
  CHECK(f.found_log() == "1:1 1:2");
  REQUIRE(f.sink.lines.size() == 1);
  CHECK(f.sink.lines[0].find(f.path(1) + " at byte 12288, after batch 2") != std::string::npos);
}

TEST_CASE("the last batch, damaged under its end mark, is refused", "[wal]") {
  ThreeBatches f;
  REQUIRE(f.wal->mark_end().ok());
  f.flip(3, 100);
  CHECK(f.open().code() == Code::kCorrupt);
}

TEST_CASE("a damaged end mark takes nothing with it", "[wal]") {
  ThreeBatches f;
  REQUIRE(f.wal->close().ok());
  f.flip(4, 20);
  f.reopen();
  CHECK(f.found_log() == "1:1 1:2 1:3");
}

TEST_CASE("a clean end is silent", "[wal]") {
  ThreeBatches f;
  REQUIRE(f.wal->close().ok());
  f.reopen();
  CHECK(f.found_log() == "1:1 1:2 1:3");
  CHECK(f.sink.lines.empty());
}

TEST_CASE("an end mark is overwritten by the next batch, and a second mark is not written twice",
          "[wal]") {
  ThreeBatches f;
  REQUIRE(f.wal->mark_end().ok());
  const uint64_t writes = f.disk().calls(SimDisk::Op::kWrite);
  REQUIRE(f.wal->mark_end().ok());
  CHECK(f.disk().calls(SimDisk::Op::kWrite) == writes);
  f.append_synced(entries(1, 4, 4));
  f.reopen();
  CHECK(f.found_log() == "1:1 1:2 1:3 1:4");
}

TEST_CASE("the engine's applied index vouches for the last batch too", "[wal]") {
  ThreeBatches f;
  f.flip(3, 100);
  f.reopen();
  CHECK(reconcile(f.found, {1, 3}).code() == Code::kCorrupt);
  CHECK(reconcile(f.found, {1, 2}).ok());
}

TEST_CASE("a commit index above the end of the log vouches as well", "[wal]") {
  Fixture f;
  f.create();
  f.append_synced(entries(1, 1, 2));
  raft::Append append = append_of(entries(1, 2, 2));
  append.hard_state = raft::HardState{1, 8, 3};
  f.wal->append(append);
  REQUIRE(f.wal->sync().ok());
  const Status status = f.open();
  CHECK(status.code() == Code::kCorrupt);
  CHECK(status.message().find("entries up to 3 were committed") != std::string_view::npos);
}

TEST_CASE("damage in a sealed segment is refused, its last batch included", "[wal]") {
  for (uint64_t block : {1, 8, 15}) {
    Fixture f;
    f.create();
    for (raft::Index i = 1; i <= 16; ++i) f.append_synced(entries(1, i, i, 3000));
    REQUIRE(f.segment_files().size() == 2);
    f.disk().flip_bit(f.path(1), (block * Fixture::kBlock + 99) * 8);
    const Status status = f.open();
    CHECK(status.code() == Code::kCorrupt);
    CHECK(status.message().find(f.path(1) + " at byte " +
                                std::to_string(block * Fixture::kBlock)) != std::string_view::npos);
  }
}

TEST_CASE("any flipped bit in a segment's header is refused, wherever the segment stands",
          "[wal]") {
  for (uint64_t byte : {0, 5, 8, 20, 60, 100, 2000, 4093})
    for (uint64_t segment : {1, 2}) {
      Fixture f;
      f.create();
      for (raft::Index i = 1; i <= 17; ++i) f.append_synced(entries(1, i, i, 3000));
      f.disk().flip_bit(f.path(segment), byte * 8);
      const Status status = f.open();
      CHECK(status.code() == Code::kCorrupt);
      CHECK(status.message().find(f.path(segment)) != std::string_view::npos);
    }
}

TEST_CASE("a missing segment is named", "[wal]") {
  Fixture f;
  f.create();
  for (raft::Index i = 1; i <= 40; ++i) f.append_synced(entries(1, i, i, 3000));
  REQUIRE(f.disk().remove(f.path(2)).ok());
  const Status status = f.open();
  CHECK(status.code() == Code::kCorrupt);
  CHECK(status.message().find(segment_name(2) + " is missing") != std::string_view::npos);
}

TEST_CASE("a file cut short is refused", "[wal]") {
  ThreeBatches f;
  f.disk().set_content(f.path(1), f.disk().content(f.path(1)).substr(0, 3 * Fixture::kBlock));
  const Status status = f.open();
  CHECK(status.code() == Code::kCorrupt);
  CHECK(status.message().find("had 65536 bytes and has 12288") != std::string_view::npos);
}

TEST_CASE("segments that changed their names are refused", "[wal]") {
  Fixture f;
  f.create();
  for (raft::Index i = 1; i <= 20; ++i) f.append_synced(entries(1, i, i, 3000));
  const std::string first = f.disk().content(f.path(1));
  f.disk().set_content(f.path(1), f.disk().content(f.path(2)));
  f.disk().set_content(f.path(2), first);
  CHECK(f.open().code() == Code::kCorrupt);
}

TEST_CASE("a segment of another member's log is refused", "[wal]") {
  Fixture a, b;
  for (Fixture* f : {&a, &b}) {
    auto made = Wal::create(f->env, f->options, {7, f == &a ? 8u : 9u}, {}, {});
    REQUIRE(made.has_value());
    f->wal = std::move(*made);
    for (raft::Index i = 1; i <= 20; ++i) f->append_synced(entries(1, i, i, 3000));
  }
  a.disk().set_content(a.path(2), b.disk().content(b.path(2)));
  CHECK(a.open().code() == Code::kCorrupt);
}

TEST_CASE("another format is refused with both versions, not taken for damage", "[wal]") {
  for (const uint32_t version : {1u, 9u}) {
    ThreeBatches f;
    std::string content = f.disk().content(f.path(1));
    set_le(content.data() + 8, version);
    set_le(content.data() + kBlockBytes - 4, crc32c(Slice(content).substr(0, kBlockBytes - 4)));
    f.disk().set_content(f.path(1), content);
    const Status status = f.open();
    CHECK(status.code() == Code::kUnsupported);
    CHECK(f.message(status).find("has log format " + std::to_string(version) +
                                 ", this program knows 2 alone: run the version that wrote it, " +
                                 (version == 9 ? "or a newer one" : "or remove the member")) !=
          std::string::npos);
  }
}

TEST_CASE("a torn end is overwritten before anything is appended", "[wal]") {
  ThreeBatches f;
  f.append_synced(entries(1, 4, 4, 9000));  // blocks 4 to 6
  f.append_synced(entries(1, 5, 5, 1000));  // block 7
  // The crash took batch 4's header, and batch 5 whole.
  std::string content = f.disk().content(f.path(1));
  content.replace(4 * Fixture::kBlock, Fixture::kBlock, Fixture::kBlock, '\0');
  content.replace(7 * Fixture::kBlock, Fixture::kBlock, Fixture::kBlock, '\0');
  f.disk().set_content(f.path(1), content);
  f.reopen();
  REQUIRE(f.found_log() == "1:1 1:2 1:3");
  f.append_synced(entries(2, 4, 4));
  const std::string after = f.disk().content(f.path(1)).substr(5 * Fixture::kBlock);
  CHECK(std::all_of(after.begin(), after.end(), [](char c) { return c == '\0'; }));
}

TEST_CASE("a batch that followed another predecessor is not taken, though number and place fit",
          "[wal]") {
  ThreeBatches f;
  const std::string three = f.disk().content(f.path(1));
  f.append_synced(entries(1, 4, 4));
  f.append_synced(entries(1, 5, 5));
  const std::string five = f.disk().content(f.path(1));
  f.disk().set_content(f.path(1), three);
  f.reopen();
  f.append_synced(entries(2, 4, 4));
  std::string mixed = f.disk().content(f.path(1));
  mixed.replace(5 * Fixture::kBlock, Fixture::kBlock, five, 5 * Fixture::kBlock, Fixture::kBlock);
  f.disk().set_content(f.path(1), mixed);
  f.reopen();
  CHECK(f.found_log() == "1:1 1:2 1:3 2:4");
}

TEST_CASE("a value that imitates a header does not pass for a voucher", "[wal]") {
  ThreeBatches f;
  // The client knows everything but the salt: the header of "batch 9" at a block boundary.
  BatchHeader forged{BatchKind::kBatch, 0, 1, 9, 8, 0, 0, 0};
  std::string value(3 * Fixture::kBlock, '\0');
  for (size_t at = 0; at + kBatchHeaderBytes <= value.size(); at += kBatchHeaderBytes)
    encode_batch_header(forged, {1, 12345}, value.data() + at);
  f.append_synced({entry(1, 4, value)});
  f.flip(4, 20);
  f.reopen();
  CHECK(f.found_log() == "1:1 1:2 1:3");
}

TEST_CASE("every bit of a small log flipped in turn is refused, cut at the end, or harmless",
          "[wal]") {
  ThreeBatches f;
  const std::string good = f.disk().content(f.path(1));
  const uint64_t last_batch = 3 * Fixture::kBlock;
  for (uint64_t byte = 0; byte < 4 * Fixture::kBlock; byte += byte % 4096 < 128 ? 1 : 61) {
    std::string bad = good;
    bad[byte] = static_cast<char>(bad[byte] ^ (1 << byte % 8));
    f.disk().set_content(f.path(1), bad);
    const Status status = f.open();
    const std::string log = status.ok() ? f.found_log() : "refused";
    INFO("byte " << byte << ": " << log);
    if (byte < last_batch) {
      CHECK((log == "refused" || (log == "1:1 1:2 1:3" && byte % 4096 >= 1000)));
    } else {
      CHECK((log == "1:1 1:2" || (log == "1:1 1:2 1:3" && byte % 4096 >= 1000)));
    }
  }
}

}  // namespace
}  // namespace quorate::wal::test
