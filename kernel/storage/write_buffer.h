// SPDX-License-Identifier: Apache-2.0
// What apply has done and the engine has not yet got. It stands in for the engine's open
// transaction: apply appends here and never waits for a disk; from time to time the whole of it is
// frozen and written as one crash-atomic batch.
//
// The order of a batch: records in revision order, changes of the small buckets in the order they
// were made, revisions that compaction dropped, and `meta/applied` last.
//
// Invariants: a record is in exactly one buffer, or in the engine, or (harmlessly) in both. The
// delete list is never consulted by a reader, and names only revisions that no reader can see any
// more. Owned by the apply loop; only records() is shared.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "plugin/backend.h"
#include "storage/applied.h"
#include "storage/bucket.h"
#include "storage/record_log.h"

namespace quorate::storage {

// At this size apply stops taking entries until the last freeze is written.
inline constexpr uint64_t kWriteBufferBytesMax = 64 << 20;

// A buffer that takes no more: moves to the commit loop, which writes and drops it.
class FrozenBuffer {
 public:
  uint64_t epoch() const { return epoch_; }
  uint64_t batch() const { return batch_; }
  const Applied& applied() const { return applied_; }
  // The batch as operations, in order; they borrow from this object.
  std::vector<plugin::Op> ops() const;

 private:
  friend class WriteBuffer;
  struct SmallOp {
    Bucket bucket;
    bool is_delete;
    Slice key, value;  // in arena_
  };
  struct Dropped {
    Revision revision;
    bool tombstone;
  };
  uint64_t epoch_ = 0;
  uint64_t batch_ = 0;
  std::shared_ptr<RecordLog> records_;
  std::unique_ptr<Arena> arena_;  // small ops, keys of dropped revisions, the applied record
  std::vector<SmallOp> small_ops_;
  std::vector<Dropped> dropped_;
  Applied applied_;
  Slice applied_bytes_;
};

// The active buffer. All functions: the apply loop.
class WriteBuffer {
 public:
  WriteBuffer();

  // The records, for readers.
  const std::shared_ptr<RecordLog>& records() const { return buffer_.records_; }

  // Room for a record of `size` bytes; see RecordLog::append().
  char* append_record(Revision revision, bool tombstone, size_t size) {
    return buffer_.records_->append(revision, tombstone, size);
  }
  // bucket: any but kKey and kMeta.
  void put_small(Bucket bucket, Slice key, Slice value);
  void delete_small(Bucket bucket, Slice key);
  // Compaction dropped this revision.
  void drop(Revision revision, bool tombstone) {
    buffer_.dropped_.push_back({revision, tombstone});
  }

  uint64_t bytes() const;
  bool has_changes() const;  // anything but the applied record

  // Hands over everything and starts anew, with a new records(). applied: goes with it.
  std::unique_ptr<FrozenBuffer> freeze(uint64_t epoch, uint64_t batch, const Applied& applied);

 private:
  FrozenBuffer buffer_;
};

}  // namespace quorate::storage
