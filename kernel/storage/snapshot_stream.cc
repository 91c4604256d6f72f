// SPDX-License-Identifier: Apache-2.0
#include "storage/snapshot_stream.h"

#include <utility>

#include "base/coding.h"
#include "base/crc32c.h"

namespace quorate::storage {
namespace {

// Stands before the first block.
constexpr Slice kMagic("QRSTORE1", 8);
constexpr size_t kBlockHead = 8;  // length of the body, its checksum
// A block ends with the pair that fills it, and no pair is longer than a request and its key.
constexpr uint32_t kBlockBytesMax = 64 << 20;

constexpr char kHead = 'h', kPairs = 'p', kEnd = 'e';

void put_block(std::string& out, Slice body) {
  put_le(out, static_cast<uint32_t>(body.size()));
  put_le(out, crc32c(body));
  out.append(body);
}

Status cut_short() {
  return Status(Code::kCorrupt, "the snapshot stream ends before its end block");
}
Status damaged(const char* what) {
  return Status(Code::kCorrupt, std::string("the snapshot stream is damaged: ") + what);
}

bool take_pair(Slice& from, uint32_t& bucket, Slice& key, Slice& value) {
  uint64_t number = 0, size = 0;
  if (!take_varint(from, number) || number >= kBucketCount) return false;
  bucket = static_cast<uint32_t>(number);
  return take_varint(from, size) && take_bytes(from, size, key) && take_varint(from, size) &&
         take_bytes(from, size, value);
}

}  // namespace

Result<SnapshotWriter> SnapshotWriter::open(EngineView view) {
  Result<std::optional<Slice>> bytes = view.read().get(number(Bucket::kMeta), kAppliedKey);
  if (!bytes) return std::move(bytes).error();
  SnapshotWriter writer(std::move(view));
  if (bytes->has_value()) {
    Result<Applied> applied = decode_applied(**bytes);
    if (!applied) return std::move(applied).error();
    writer.applied_ = *std::move(applied);
  }
  return writer;
}

Result<bool> SnapshotWriter::next(std::string& out) {
  if (stage_ == Stage::kHead) {
    out.append(kMagic);
    put_block(out, kHead + encode_applied(applied_));
    stage_ = Stage::kPairs;
    return true;
  }
  if (stage_ == Stage::kDone) return false;
  body_.assign(1, kPairs);
  while (body_.size() < kSnapshotBlockBytes && bucket_ < kBucketCount) QUORATE_TRY(add_pair());
  if (body_.size() > 1) {
    put_block(out, body_);
    return true;
  }
  body_.assign(1, kEnd);
  put_le(body_, pairs_);
  put_block(out, body_);
  stage_ = Stage::kDone;
  return false;
}

// Adds the next pair, or goes on to the next bucket.
Status SnapshotWriter::add_pair() {
  Result<bool> at_pair = false;
  if (cursor_.has_value()) {
    at_pair = cursor_->next();
  } else {
    Result<plugin::Cursor> cursor = view_.read().cursor(bucket_);
    if (!cursor) return std::move(cursor).error();
    cursor_.emplace(*std::move(cursor));
    at_pair = cursor_->seek("");
  }
  if (!at_pair) return std::move(at_pair).error();
  if (!*at_pair) {
    cursor_.reset();
    ++bucket_;
    return Status();
  }
  put_varint(body_, bucket_);
  put_varint(body_, cursor_->key().size());
  body_.append(cursor_->key());
  put_varint(body_, cursor_->value().size());
  body_.append(cursor_->value());
  ++pairs_;
  return Status();
}

Status SnapshotImporter::feed(Slice piece) {
  pending_.append(piece);
  Slice rest = pending_;
  ops_.clear();
  Status status = take_blocks(rest);
  if (status.ok() && !ops_.empty()) status = engine_->write(ops_, engine_->written_batch());
  pending_.erase(0, pending_.size() - rest.size());
  return status;
}

Status SnapshotImporter::take_blocks(Slice& from) {
  if (!has_magic_) {
    if (from.size() < kMagic.size()) return Status();
    if (from.substr(0, kMagic.size()) != kMagic) return damaged("it does not begin as one");
    from.remove_prefix(kMagic.size());
    has_magic_ = true;
  }
  while (from.size() >= kBlockHead) {
    const auto size = get_le<uint32_t>(from.data());
    if (size == 0 || size > kBlockBytesMax) return damaged("a block has no possible length");
    if (from.size() - kBlockHead < size) return Status();
    const Slice body = from.substr(kBlockHead, size);
    if (crc32c(body) != get_le<uint32_t>(from.data() + 4)) return damaged("a checksum is wrong");
    QUORATE_TRY(take_block(body));
    from.remove_prefix(kBlockHead + size);
  }
  return Status();
}

Status SnapshotImporter::take_block(Slice body) {
  const char kind = body.front();
  body.remove_prefix(1);
  if (ended_ || has_head_ == (kind == kHead)) return damaged("a block stands where it may not");
  switch (kind) {
    case kHead: {
      Result<Applied> applied = decode_applied(body);
      if (!applied) return std::move(applied).error();
      applied_ = *std::move(applied);
      has_head_ = true;
      return Status();
    }
    case kPairs: return take_pairs(body);
    case kEnd: {
      uint64_t pairs = 0;
      if (!take_le(body, pairs) || !body.empty() || pairs != pairs_) {
        return damaged("its end counts other pairs than came");
      }
      ended_ = true;
      return Status();
    }
    default: return damaged("a block is of no known kind");
  }
}

Status SnapshotImporter::take_pairs(Slice body) {
  while (!body.empty()) {
    uint32_t bucket = 0;
    Slice key, value;
    if (!take_pair(body, bucket, key, value)) return damaged("a pair is cut short");
    ops_.push_back(plugin::put_op(bucket, key, value, true));
    ++pairs_;
  }
  return Status();
}

Status SnapshotImporter::finish() {
  return ended_ && pending_.empty() ? Status() : cut_short();
}

}  // namespace quorate::storage
