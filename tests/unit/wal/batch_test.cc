// SPDX-License-Identifier: Apache-2.0
#include "wal/batch.h"

#include "fixture.h"

namespace quorate::wal {
namespace {

using test::entry;

class Kept final : public RecordSink {
 public:
  Status on_hard_state(const raft::HardState& state) override {
    hard_states.push_back(state);
    return Status();
  }
  Status on_snapshot(raft::SnapshotMeta snapshot) override {
    snapshots.push_back(std::move(snapshot));
    return Status();
  }
  Status on_entry(raft::Entry e) override {
    if (e.index == refused) return Status(Code::kCorrupt, "refused");
    entries.push_back(std::move(e));
    return Status();
  }
  std::vector<raft::HardState> hard_states;
  std::vector<raft::SnapshotMeta> snapshots;
  std::vector<raft::Entry> entries;
  raft::Index refused = 0;
};

std::string body_of(const Batch& batch) {
  std::string body;
  for (Slice part : batch.parts()) body.append(part);
  CHECK(body.size() == batch.body_bytes());
  return body;
}

Batch batch_of_everything() {
  Batch batch;
  batch.add(raft::HardState{3, ~uint64_t{0}, 1'000'000});
  batch.add(raft::SnapshotMeta{9, 2, {{1, 2, 3}, {4}, {5, 6}, {7}, true}});
  batch.add(entry(3, 10, ""));
  batch.add(entry(3, 11, std::string(kCopyBytesMax + 1, 'l')));
  batch.add(entry(3, 12, "short"));
  batch.add(raft::Entry{3, 13, raft::EntryType::kConfChange, Bytes::copy("conf")});
  return batch;
}

TEST_CASE("the records of a batch come back as they went in", "[wal]") {
  const std::string body = body_of(batch_of_everything());
  Kept kept;
  REQUIRE(read_records(body, kept).ok());
  CHECK(kept.hard_states == std::vector<raft::HardState>{{3, ~uint64_t{0}, 1'000'000}});
  CHECK(kept.snapshots ==
        std::vector<raft::SnapshotMeta>{{9, 2, {{1, 2, 3}, {4}, {5, 6}, {7}, true}}});
  REQUIRE(kept.entries.size() == 4);
  CHECK(kept.entries[0] == entry(3, 10, ""));
  CHECK(kept.entries[1] == entry(3, 11, std::string(kCopyBytesMax + 1, 'l')));
  CHECK(kept.entries[2] == entry(3, 12, "short"));
  CHECK(kept.entries[3].type == raft::EntryType::kConfChange);
}

TEST_CASE("payloads read back are aligned, so that requests can be read in place", "[wal]") {
  const std::string body = body_of(batch_of_everything());
  Kept kept;
  REQUIRE(read_records(body, kept).ok());
  for (const raft::Entry& e : kept.entries)
    CHECK(reinterpret_cast<uintptr_t>(e.payload.data()) % 8 == 0);
}

TEST_CASE("what a batch says of its size is what it takes", "[wal]") {
  Batch batch;
  const raft::Entry e = entry(300, 1 << 20, std::string(200, 'x'));
  batch.add(e);
  CHECK(batch.body_bytes() == Batch::bytes_of(e));
  const raft::SnapshotMeta snapshot{9, 2, {{1, 2, 3}, {}, {}, {}, false}};
  batch.add(snapshot);
  CHECK(batch.body_bytes() == Batch::bytes_of(e) + Batch::bytes_of(snapshot));
  batch.clear();
  CHECK(batch.empty());
  batch.add(raft::HardState{~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}});
  CHECK(batch.body_bytes() <= Batch::kHardStateBytesMax);
}

TEST_CASE("a body cut anywhere but between records is refused, and nothing of it is handed out",
          "[wal]") {
  Batch batch;
  batch.add(raft::SnapshotMeta{9, 2, {{1, 2}, {4}, {}, {}, false}});
  batch.add(entry(3, 12, "short"));
  const std::string body = body_of(batch);
  const size_t first = Batch::bytes_of(raft::SnapshotMeta{9, 2, {{1, 2}, {4}, {}, {}, false}});
  for (size_t size = 1; size < body.size(); ++size) {
    if (size == first) continue;
    Kept kept;
    CHECK(read_records(Slice(body).substr(0, size), kept).code() == Code::kCorrupt);
    CHECK(kept.snapshots.empty());
  }
  Kept kept;
  CHECK(read_records("\x05", kept).code() == Code::kCorrupt);
}

TEST_CASE("the sink's refusal ends the reading", "[wal]") {
  const std::string body = body_of(batch_of_everything());
  Kept kept;
  kept.refused = 11;
  CHECK(read_records(body, kept).message() == "refused");
  CHECK(kept.entries.size() == 1);
}

struct HeaderFixture {
  ChainSeed seed{5, 99};
  BatchHeader header{BatchKind::kBatch, 100, 5, 42, 41, 0xabc, 0xdef, 0};
  char bytes[kBatchHeaderBytes];
  HeaderFixture() { encode_batch_header(header, seed, bytes); }
};

TEST_CASE("a batch header comes back as it was", "[wal]") {
  HeaderFixture f;
  const auto back = decode_batch_header(f.bytes, f.seed);
  REQUIRE(back);
  CHECK(back->kind == BatchKind::kBatch);
  CHECK(back->body_bytes == 100);
  CHECK(back->number == 42);
  CHECK(back->vouches == 41);
  CHECK(back->body_crc == 0xabc);
  CHECK(back->previous == 0xdef);
  CHECK(back->checksum == f.header.checksum);
}

TEST_CASE("a header with any bit flipped, or of another segment's life, is none", "[wal]") {
  HeaderFixture f;
  for (size_t bit = 0; bit < 8 * kBatchHeaderBytes; ++bit) {
    f.bytes[bit / 8] = static_cast<char>(f.bytes[bit / 8] ^ (1 << bit % 8));
    CHECK_FALSE(decode_batch_header(f.bytes, f.seed));
    f.bytes[bit / 8] = static_cast<char>(f.bytes[bit / 8] ^ (1 << bit % 8));
  }
  CHECK(decode_batch_header(f.bytes, f.seed));
  CHECK_FALSE(decode_batch_header(f.bytes, {5, 98}));
  CHECK_FALSE(decode_batch_header(f.bytes, {6, 99}));
}

}  // namespace
}  // namespace quorate::wal
