// SPDX-License-Identifier: Apache-2.0
// Segment files: their names, their header, and the spares that they are made of. A spare is a file
// of zeros of a segment's size, written once and synced, or a released segment: appending to blocks
// that have been written needs no new metadata, which halves the price of a sync. A spare gets the
// name of the next segment before that is begun, which is a write and a sync like any other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "env/env.h"
#include "raft/types.h"
#include "wal/batch.h"

namespace quorate::wal {

inline constexpr uint64_t kSegmentBytes = uint64_t{16} << 20;
inline constexpr int kSparesMade = 2;  // prepared in advance, the next segment among them
inline constexpr int kSparesMax = 4;   // with those that were segments: else none would come to use
inline constexpr uint32_t kFormatVersion = 2;

// Whose log it is; a directory of another member is refused by the server.
struct Identity {
  uint64_t cluster_id = 0;
  uint64_t member_id = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};

// first > last: empty.
struct IndexRange {
  raft::Index first = ~raft::Index{0};
  raft::Index last = 0;
  bool empty() const { return first > last; }
  void add(raft::Index index) {
    first = index < first ? index : first;
    last = index > last ? index : last;
  }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

// The first block of a segment. It repeats what the segments before it may take with them when they
// are released.
struct SegmentHeader {
  uint32_t version = kFormatVersion;
  uint64_t segment = 0;
  uint64_t bytes = 0;  // of the file: it never changes
  uint64_t salt = 0;
  uint64_t next_salt = 0;  // of the segment after it: what it holds is known without its header
  Identity identity;
  uint64_t first_batch = 0;  // the number that its first batch has
  uint32_t previous = 0;     // header checksum of the batch before it, 0 for the first segment
  raft::EntryId
      log_end;        // the log's last entry when this segment began: its base, if it is the first
  IndexRange before;  // indexes written to the segment before it
  raft::HardState hard_state;
  std::optional<raft::SnapshotMeta> snapshot;
  uint32_t checksum = 0;  // filled by encode and decode
  ChainSeed seed() const { return {segment, salt}; }
  ChainSeed next_seed() const { return {segment + 1, next_salt}; }
};

// The block, and header.checksum.
std::string encode_segment_header(SegmentHeader& header);
// kCorrupt, or kUnsupported for another version; both name `path`.
Result<SegmentHeader> decode_segment_header(Slice block, const std::string& path);

// "0000000000000001.wal" for 1; the reverse, 0 for any other name.
std::string segment_name(uint64_t number);
uint64_t segment_number(std::string_view name);
std::string spare_name(uint64_t number);
uint64_t spare_number(std::string_view name);  // 0: not a spare's

// Numbers of the segments in `dir`, ascending.
Result<std::vector<uint64_t>> list_segments(FileSystem& files, const std::string& dir);
Result<SegmentHeader> read_segment_header(File& file, const std::string& path);
Result<uint64_t> size_of(FileSystem& files, const std::string& path);

// A file that may become a segment: its first block holds zeros, durably, the others zeros or old
// frames.
struct Spare {
  std::string path;
  uint64_t bytes = 0;
};

// Makes a spare in steps of a megabyte, each synced, so that no step fills the disk's queue in
// front of the log. Removes its file when it does not come to its end.
class SpareMaker {
 public:
  // bytes: a multiple of kBlockBytes.
  SpareMaker(FileSystem& files, std::string path, uint64_t bytes, bool sync);
  ~SpareMaker();
  SpareMaker(const SpareMaker&) = delete;
  SpareMaker& operator=(const SpareMaker&) = delete;
  // The spare, when this was the last step.
  Result<std::optional<Spare>> step();

 private:
  FileSystem& files_;
  const std::string path_;
  const uint64_t bytes_;
  const bool sync_;
  std::unique_ptr<File> file_;
  uint64_t written_ = 0;
  bool finished_ = false;
};

// Writes zeros over the first `blocks` blocks, and syncs them.
Status clear_head(FileSystem& files, const std::string& path, uint64_t blocks, bool sync);

// Takes the file of a released segment out of the log: as the spare `spare_path`, or, when that is
// empty or the file has another size than `segment_bytes`, by removing it. Durable on return, so
// that segments vanish in their order and a gap in the numbers means damage. An error is final, as
// one of File::sync().
Result<std::optional<Spare>> retire(FileSystem& files, const std::string& dir, uint64_t number,
                                    const std::string& spare_path, uint64_t segment_bytes);

// A spare that becomes the next segment.
struct NextSegment {
  uint64_t number = 0;
  std::string spare_path;
  bool drop_cache = true;  // as batches are small, see drop_cache()
};

// Gives the spare the name of its segment, durably. Two may do it at once, and both find it done:
// who comes second finds no spare of that name, which is OK, since no other ever has it. An error
// is final, as one of File::sync().
Status name_segment(FileSystem& files, const std::string& dir, const NextSegment& next, bool sync);

// Takes a segment that is not begun out of the page cache. A small batch would else dirty the large
// folio that it lies in, and be accounted for as a write of all of it; a large one is written
// faster to pages that are there. Advice: what cannot be opened stays.
void drop_cache(FileSystem& files, const std::string& path);

// A batch or mark whose two checksums are right.
struct FoundBatch {
  BatchHeader header;
  Slice body;
};
// The one at `offset` of a segment; whether it stands where it belongs is not looked at.
std::optional<FoundBatch> whole_batch(Slice segment, const ChainSeed& seed, uint64_t offset);
// Whether a header at or behind `offset` says that a batch after `number` was durable.
bool voucher_stands(Slice segment, const ChainSeed& seed, uint64_t offset, uint64_t number);

// Walks the batches of a segment, while they are whole and in their place.
class BatchScanner {
 public:
  // segment: the whole file; must outlive the scanner. header: its own, decoded.
  BatchScanner(Slice segment, const SegmentHeader& header);
  // The next batch, or the mark behind the last one; nothing where no such thing stands, then and
  // ever after. Behind a mark nothing follows.
  std::optional<FoundBatch> next();
  uint64_t offset() const { return offset_; }  // where next() looks
  uint64_t last_number() const { return last_number_; }
  uint32_t chain() const { return chain_; }
  // Whether a header at or behind offset() says that a batch after last_number() was durable.
  bool voucher_follows() const {
    return voucher_stands(segment_, header_.seed(), offset_, last_number_);
  }
  // Whether the header of the next batch stands at offset(), whatever became of its body.
  bool header_stands() const;

 private:
  bool is_next(const BatchHeader& header) const;

  const Slice segment_;
  const SegmentHeader header_;
  uint64_t offset_ = kBlockBytes;
  uint64_t last_number_;
  uint32_t chain_;
  bool ended_ = false;
};

}  // namespace quorate::wal
