// SPDX-License-Identifier: Apache-2.0
// A whole store as a logical stream: a head, then all pairs of all buckets in order, cut into
// blocks that each carry a checksum, then an end that counts them. Independent of the engine; the
// bytes are in docs/formats-store.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "storage/applied.h"
#include "storage/engine.h"

namespace quorate::storage {

inline constexpr size_t kSnapshotBlockBytes = 256 * 1024;

// Writes the stream of one engine view, a block at a time. One thread at a time.
class SnapshotWriter {
 public:
  // view: with nothing else using it.
  static Result<SnapshotWriter> open(EngineView view);
  // The index the stream stands at.
  const Applied& applied() const { return applied_; }
  // Appends the next part of the stream to `out` (at most a block and one pair). False: that was
  // the last.
  Result<bool> next(std::string& out);

 private:
  explicit SnapshotWriter(EngineView view) : view_(std::move(view)) {}
  Status add_pair();
  enum class Stage { kHead, kPairs, kDone };
  EngineView view_;
  std::optional<plugin::Cursor> cursor_;  // ends before view_
  Applied applied_;
  std::string body_;
  uint32_t bucket_ = 0;
  uint64_t pairs_ = 0;
  Stage stage_ = Stage::kHead;
};

// Reads the stream in pieces of any size and writes its pairs into an engine that holds nothing.
class SnapshotImporter {
 public:
  explicit SnapshotImporter(Engine* engine) : engine_(engine) {}
  // Writes the pairs of the blocks that are whole now, as one batch. kCorrupt when a block is
  // damaged or the stream is none.
  Status feed(Slice piece);
  // OK once the end was read and every pair is written; kCorrupt when the stream was cut short.
  Status finish();
  const Applied& applied() const { return applied_; }

 private:
  Status take_blocks(Slice& from);
  Status take_block(Slice body);
  Status take_pairs(Slice body);

  Engine* const engine_;
  std::string pending_;          // less than a block
  std::vector<plugin::Op> ops_;  // of one feed(); they borrow from pending_
  Applied applied_;
  bool has_magic_ = false;
  bool has_head_ = false;
  bool ended_ = false;
  uint64_t pairs_ = 0;
};

}  // namespace quorate::storage
