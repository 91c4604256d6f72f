// SPDX-License-Identifier: Apache-2.0
// The records of one write buffer, in revision order. One thread (apply) appends while any other
// reads: a record never moves, and it is seen only after publish(), which is one release store of
// the count. It ends when the last shared pointer to it goes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "env/yield.h"
#include "storage/record_key.h"

namespace quorate::storage {

class RecordLog {
 public:
  struct Entry {
    Revision revision;
    uint32_t size : 31;
    uint32_t tombstone : 1;
    const char* data;  // the key of the record in the engine, then the record

    Slice key() const { return {data, tombstone ? kTombstoneKeyBytes : kRecordKeyBytes}; }
    Slice record() const { return {data + key().size(), size}; }
  };

  RecordLog() = default;
  RecordLog(const RecordLog&) = delete;
  RecordLog& operator=(const RecordLog&) = delete;
  ~RecordLog();

  // --- the appending thread
  // Makes room for a record of exactly `size` bytes and returns where its bytes go; the caller
  // fills them in before publish(). REQUIRES: revision > that of the last record.
  char* append(Revision revision, bool tombstone, size_t size);
  // All appended so far becomes visible to the other threads.
  void publish() { visible_.store(count_, std::memory_order_release); }
  uint64_t count() const { return count_; }
  uint64_t bytes() const { return bytes_; }  // of memory held
  // As find(), among all that was appended.
  const Entry* find_own(Revision revision) const { return find_below(count_, revision); }

  // --- any thread
  uint64_t visible() const { return visible_.load(std::memory_order_acquire); }
  // REQUIRES: i < visible() (the appending thread: < count()).
  const Entry& at(uint64_t i) const;
  // The visible record of exactly this revision, or nullptr.
  const Entry* find(Revision revision) const { return find_below(visible(), revision); }
  // The place of the first visible record with a revision >= `revision`.
  uint64_t lower_bound(Revision revision) const { return lower_bound_below(visible(), revision); }

 private:
  // Block k holds kFirstBlock << k entries, so a handful of pointers covers any count.
  static constexpr uint64_t kFirstBlock = 256;
  static constexpr int kBlocks = 40;
  const Entry* find_below(uint64_t count, Revision revision) const;
  uint64_t lower_bound_below(uint64_t count, Revision revision) const;
  Entry& slot(uint64_t i) const;
  char* allocate(size_t size);

  uint64_t count_ = 0;
  uint64_t bytes_ = 0;
  Entry* blocks_[kBlocks] = {};
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
  size_t chunk_bytes_ = 0;
  Atomic<uint64_t> visible_{0, "record_log.visible"};
};

}  // namespace quorate::storage
