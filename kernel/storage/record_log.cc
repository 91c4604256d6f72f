// SPDX-License-Identifier: Apache-2.0
#include "storage/record_log.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace quorate::storage {
namespace {

constexpr size_t kFirstChunk = 64 * 1024;
constexpr size_t kLargestChunk = 1024 * 1024;

}  // namespace

RecordLog::~RecordLog() {
  for (Entry* block : blocks_) delete[] block;
}

RecordLog::Entry& RecordLog::slot(uint64_t i) const {
  const int block = std::bit_width(i / kFirstBlock + 1) - 1;
  const uint64_t first = kFirstBlock * ((uint64_t{1} << block) - 1);
  return blocks_[block][i - first];
}

const RecordLog::Entry& RecordLog::at(uint64_t i) const {
  const Entry& entry = slot(i);
  reads(&entry);
  return entry;
}

char* RecordLog::append(Revision revision, bool tombstone, size_t size) {
  QUORATE_CHECK(count_ == 0 || slot(count_ - 1).revision < revision,
                "revisions in a write buffer only grow");
  QUORATE_CHECK(size < size_t{1} << 31, "a record is far smaller than 2 GiB");
  const int block = std::bit_width(count_ / kFirstBlock + 1) - 1;
  if (blocks_[block] == nullptr) {
    const uint64_t entries = kFirstBlock << block;
    blocks_[block] = new Entry[entries];
    bytes_ += entries * sizeof(Entry);
  }
  const size_t key_bytes = tombstone ? kTombstoneKeyBytes : kRecordKeyBytes;
  char* const data = allocate(key_bytes + size);
  set_record_key(data, revision, tombstone);
  slot(count_) = {revision, static_cast<uint32_t>(size), tombstone ? 1u : 0u, data};
  wrote(&slot(count_));
  ++count_;
  return data + key_bytes;
}

char* RecordLog::allocate(size_t size) {
  if (size > free_bytes_) {
    chunk_bytes_ = std::clamp(chunk_bytes_ * 2, kFirstChunk, kLargestChunk);
    const size_t chunk = std::max(size, chunk_bytes_);
    chunks_.emplace_back(new char[chunk]);
    bytes_ += chunk;
    free_ = chunks_.back().get();
    free_bytes_ = chunk;
  }
  char* const result = free_;
  free_ += size;
  free_bytes_ -= size;
  return result;
}

uint64_t RecordLog::lower_bound_below(uint64_t count, Revision revision) const {
  uint64_t low = 0, high = count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (at(middle).revision < revision) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

const RecordLog::Entry* RecordLog::find_below(uint64_t count, Revision revision) const {
  const uint64_t i = lower_bound_below(count, revision);
  return i < count && at(i).revision == revision ? &slot(i) : nullptr;
}

}  // namespace quorate::storage
