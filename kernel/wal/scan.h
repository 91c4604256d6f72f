// SPDX-License-Identifier: Apache-2.0
// Reads a log from its files, oldest segment first, and judges it: what is bad and vouched for is
// damage; what is bad at the very end and vouched for by nobody is the torn end of a crash. Changes
// nothing on the disk: recovery builds on it, and so do tools that look at a log from outside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "env/env.h"
#include "raft/types.h"
#include "wal/batch.h"
#include "wal/segment.h"

namespace quorate::wal {

// Is told what a scan meets, in order: a segment, its batches and the mark behind them, the records
// of each. An error ends the scan and is its result.
class LogVisitor : public RecordSink {
 public:
  virtual Status on_segment(const SegmentHeader& header) = 0;
  // The records of it follow.
  virtual Status on_batch(const BatchHeader& header, uint64_t offset) = 0;
};

// The newest file, when it bears its name and is not begun: its header is not whole, and nothing in
// it vouches for a batch that the log lacks.
struct NamedFile {
  uint64_t bytes = 0;
  std::string path;
};

// What a log comes to, as far as it was read.
struct LogState {
  Identity identity;
  raft::EntryId base;  // the log begins behind it
  raft::EntryId last;  // its last entry, or base
  raft::HardState hard_state;
  raft::HardState batch_hard_state;            // without what the end mark holds
  std::optional<raft::SnapshotMeta> snapshot;  // the last snapshot record

  // Where reading ended: behind the last whole batch.
  std::string path;
  SegmentHeader segment;
  uint64_t offset = 0;
  uint64_t batch = 0;              // number of the last whole one
  uint32_t chain = 0;              // checksum of its header, or of the segment's
  uint64_t last_batch_offset = 0;  // 0: there is none in this segment
  bool marked = false;             // an end mark stands there, and vouches for the last batch
  std::optional<NamedFile> next;   // the file of the segment that follows
  std::string torn;                // where a batch stands that is not whole; empty: nowhere
  std::string place() const;       // path and offset, for messages
};

// kCorrupt, with file and offset, for damage; kUnsupported for a newer format; kNotFound without a
// log. `state` is filled as far as reading went.
Status scan_log(FileSystem& files, const std::string& dir, LogVisitor& visitor, LogState& state);

// What is still whole behind the place where a scan met damage.
struct Behind {
  uint64_t batches = 0;
  uint64_t first_batch = 0;  // the lowest number of them
  IndexRange entries;
  raft::Index commit = 0;  // the highest commit index that is told there
};
// state: as scan_log left it. What cannot be read is passed over.
Behind look_behind(FileSystem& files, const std::string& dir, const LogState& state);

}  // namespace quorate::wal
