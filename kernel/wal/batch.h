// SPDX-License-Identifier: Apache-2.0
// One synced append on disk: a header of 64 bytes and a body of records. Bytes and reasons are in
// docs/formats.md.
//
// A header proves itself (its checksum is seeded by the segment's number and salt, so bytes that
// were written in an earlier life of the file, or by a client in a value, do not pass) and proves
// its place (it repeats the checksum of the header before it). It also says which batches were
// durable when it was written: for those it vouches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "raft/types.h"

namespace quorate::wal {

// A batch starts on a block boundary. Were two batches to share a block, a power cut while the
// second is written could take the synced half with it.
inline constexpr uint64_t kBlockBytes = 4096;
inline constexpr size_t kBatchHeaderBytes = 64;
// A payload at least this long is written from where it lies; a shorter one is copied.
inline constexpr size_t kCopyBytesMax = 2048;

inline uint64_t to_blocks(uint64_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

enum class BatchKind : uint8_t {
  kBatch = 1,
  kMark = 2,  // not synced on its own; holds a hard state at most; the next batch overwrites it
};

// What seeds the checksums of one life of one segment file.
struct ChainSeed {
  uint64_t segment = 0;
  uint64_t salt = 0;
  uint32_t value() const;
};

struct BatchHeader {
  BatchKind kind = BatchKind::kBatch;
  uint32_t body_bytes = 0;
  uint64_t segment = 0;
  uint64_t number =
      0;  // of the batch, over the whole log: 1, 2, 3, ...; a mark: of the batch before
  uint64_t vouches = 0;   // batches up to this one were durable when this was written
  uint32_t body_crc = 0;  //
  uint32_t previous = 0;  // checksum of the header before, the segment's own for the first
  uint32_t checksum = 0;  // of the header; filled by encode and decode
};

// Writes 64 bytes and sets header.checksum.
void encode_batch_header(BatchHeader& header, const ChainSeed& seed, char* to);
// Nothing, when the 64 bytes at `from` are no header of this life of this segment.
std::optional<BatchHeader> decode_batch_header(const char* from, const ChainSeed& seed);

// A body under construction, as parts that may lie elsewhere.
class Batch {
 public:
  void add(const raft::HardState& state);
  void add(const raft::SnapshotMeta& snapshot);
  // Indexes must follow one another within a run; a run begins wherever the log is cut.
  void add(const raft::Entry& entry);

  // What adding it would add to body_bytes().
  static uint64_t bytes_of(const raft::Entry& entry);
  static uint64_t bytes_of(const raft::SnapshotMeta& snapshot);
  static constexpr uint64_t kHardStateBytesMax = 1 + 10 + 8 + 10;

  bool empty() const { return body_bytes_ == 0; }
  uint64_t body_bytes() const { return body_bytes_; }
  // The body's parts, in order. Valid until the batch changes.
  std::vector<Slice> parts() const;
  void clear();

 private:
  struct Part {
    uint64_t text_end = 0;  // of text_, before the payload
    Bytes payload;
  };
  std::string text_;         // everything that was copied
  std::vector<Part> parts_;  // payloads that lie elsewhere
  uint64_t body_bytes_ = 0;
};

// The pieces that a segment's header shares with a body.
void put_hard_state(std::string& to, const raft::HardState& state);
bool take_hard_state(Slice& from, raft::HardState& state);
void put_snapshot(std::string& to, const raft::SnapshotMeta& snapshot);
bool take_snapshot(Slice& from, raft::SnapshotMeta& snapshot);

// Takes the records of a body, in order.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual Status on_hard_state(const raft::HardState& state) = 0;
  virtual Status on_snapshot(raft::SnapshotMeta snapshot) = 0;
  virtual Status on_entry(raft::Entry entry) = 0;
};

// kCorrupt when `body`, whose checksum was right, is none that a Batch wrote; else the sink's first
// error. Payloads are copied out, together, eight-byte aligned.
Status read_records(Slice body, RecordSink& sink);

}  // namespace quorate::wal
