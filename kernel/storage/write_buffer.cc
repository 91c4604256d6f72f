// SPDX-License-Identifier: Apache-2.0
#include "storage/write_buffer.h"

#include <utility>

#include "base/check.h"

namespace quorate::storage {

WriteBuffer::WriteBuffer() {
  buffer_.records_ = std::make_shared<RecordLog>();
  buffer_.arena_ = std::make_unique<Arena>();
}

void WriteBuffer::put_small(Bucket bucket, Slice key, Slice value) {
  QUORATE_CHECK(bucket != Bucket::kKey && bucket != Bucket::kMeta, "not a small bucket");
  buffer_.small_ops_.push_back(
      {bucket, false, buffer_.arena_->copy(key), buffer_.arena_->copy(value)});
}

void WriteBuffer::delete_small(Bucket bucket, Slice key) {
  QUORATE_CHECK(bucket != Bucket::kKey && bucket != Bucket::kMeta, "not a small bucket");
  buffer_.small_ops_.push_back({bucket, true, buffer_.arena_->copy(key), {}});
}

uint64_t WriteBuffer::bytes() const {
  return buffer_.records_->bytes() + buffer_.arena_->allocated_bytes() +
         buffer_.small_ops_.capacity() * sizeof(FrozenBuffer::SmallOp) +
         buffer_.dropped_.capacity() * sizeof(FrozenBuffer::Dropped);
}

bool WriteBuffer::has_changes() const {
  return buffer_.records_->count() > 0 || !buffer_.small_ops_.empty() || !buffer_.dropped_.empty();
}

std::unique_ptr<FrozenBuffer> WriteBuffer::freeze(uint64_t epoch, uint64_t batch,
                                                  const Applied& applied) {
  QUORATE_CHECK(buffer_.records_->visible() == buffer_.records_->count(),
                "a buffer is frozen between batches");
  auto frozen = std::make_unique<FrozenBuffer>(std::exchange(buffer_, WriteBuffer().buffer_));
  frozen->epoch_ = epoch;
  frozen->batch_ = batch;
  frozen->applied_ = applied;
  frozen->applied_bytes_ = frozen->arena_->copy(encode_applied(applied));
  return frozen;
}

std::vector<plugin::Op> FrozenBuffer::ops() const {
  std::vector<plugin::Op> ops;
  const uint64_t records = records_->count();
  ops.reserve(records + small_ops_.size() + dropped_.size() + 1);
  for (uint64_t i = 0; i < records; ++i) {
    const RecordLog::Entry& entry = records_->at(i);
    ops.push_back(plugin::put_op(number(Bucket::kKey), entry.key(), entry.record(), true));
  }
  for (const SmallOp& op : small_ops_) {
    ops.push_back(op.is_delete ? plugin::delete_op(number(op.bucket), op.key)
                               : plugin::put_op(number(op.bucket), op.key, op.value));
  }
  for (const Dropped& dropped : dropped_) {
    char* const key = arena_->allocate(kTombstoneKeyBytes);
    const size_t size = set_record_key(key, dropped.revision, dropped.tombstone);
    ops.push_back(plugin::delete_op(number(Bucket::kKey), {key, size}));
  }
  ops.push_back(plugin::put_op(number(Bucket::kMeta), kAppliedKey, applied_bytes_));
  return ops;
}

}  // namespace quorate::storage
