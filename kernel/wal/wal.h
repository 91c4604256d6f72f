// SPDX-License-Identifier: Apache-2.0
// The durable log: entries, hard state and snapshot records in a chain of segment files of equal
// size (docs/formats.md has the bytes and the reasons).
//
// Invariants:
//   - what was queued before a sync() that returned OK survives a power cut, in that order;
//   - one sync() writes one batch and does one fdatasync, however much was queued (two, where the
//     queue crosses the end of a segment); a batch never spans two segments; the first one of a
//     segment costs a block more, if the file was named in advance;
//   - a batch is written only when all batches before it are durable, so it vouches for them: a bad
//     batch with a voucher is damage, one without is the torn end of a crash;
//   - a segment's name is durable before anything is written to it, and its header becomes durable
//     with its first batch, by the same sync; of the first segment of all it is durable before the
//     file has its name. So the newest file may have a name and not be begun, and no other may.
// Owned by the WAL loop; no other thread may call it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "env/env.h"
#include "raft/raw_node.h"
#include "wal/batch.h"
#include "wal/reader.h"
#include "wal/segment.h"

namespace quorate::wal {

struct Options {
  std::string dir;
  uint64_t segment_bytes =
      kSegmentBytes;  // a multiple of kBlockBytes; of segments made from now on
  // Segments that hold nothing the engine lacks stay for followers that need them, up to this much.
  uint64_t keep_bytes_max = uint64_t{1} << 30;
  // False: nothing is ever synced (--unsafe-no-fsync). A power cut may then lose acknowledged data
  // or leave a log that is refused, and the member must not rejoin its cluster after one.
  bool sync = true;
};

// What the log held when it was opened.
struct Recovered {
  Identity identity;
  raft::HardState hard_state;
  raft::LogSlice log;  // log.previous is the base: the place behind which the log begins
  std::optional<raft::SnapshotMeta> snapshot;  // the last snapshot record
  std::string end;                             // file and offset where reading ended, for messages
};

// Whether `dir` holds a log. A directory that is absent, empty, or left half-made by a failed
// create() holds none; foreign names (lost+found) do not count.
Result<bool> exists(FileSystem& files, const std::string& dir);

// Makes what was found fit an engine whose applied index is `applied` ({} for an empty one): raises
// the commit index to it. kCorrupt, with a sentence, when the log does not reach it (does not hold
// that entry with that term, and does not begin right behind it) or begins further behind. For a
// generation that CURRENT does not name yet, see Recovered::snapshot.
Status reconcile(Recovered& found, raft::EntryId applied);

class Wal : private raft::DurableSource {
 public:
  // Begins a log in `options.dir` (created when absent), behind `base`: nothing for a new cluster,
  // else where a restored snapshot ends. Durable on return. kInvalidArgument when there is one.
  static Result<std::unique_ptr<Wal>> create(Env& env, const Options& options,
                                             const Identity& identity,
                                             const std::optional<raft::SnapshotMeta>& base,
                                             const Logger& logger);
  // Reads the log of `options.dir` into `found`. A torn end is cut, with a line in the log, and
  // overwritten before the first append. kCorrupt, with file and offset, for damage; kUnsupported
  // for a newer format; kNotFound without a log.
  static Result<std::unique_ptr<Wal>> open(Env& env, const Options& options, const Logger& logger,
                                           Recovered& found);
  ~Wal();  // writes nothing: see close()
  Wal(const Wal&) = delete;
  Wal& operator=(const Wal&) = delete;

  // Queues `append` (its replies are not looked at) behind what is queued already: cuts the log
  // after entries.front().index - 1, and appends. Durable when the next sync() returns OK, not
  // before. What asks for no sync, a commit index alone, is written along with the next batch or
  // mark. REQUIRES: no gap before the first entry, and no payload above payload_bytes_max(); a
  // sequence above those before, or 0: nobody waits for it.
  void append(raft::Append append);
  bool has_queued() const { return !queue_.empty(); }
  // Writes and syncs all that is queued. An error is final, and every later call returns it: the
  // member must stop, because a failed sync may have dropped pages that a retry would report as
  // written.
  Status sync();
  // The position up to which all appends are durable: it moves when a sync() returns OK, and what
  // asks for no sync takes it along. With Options::sync off it moves all the same.
  raft::Durable durable() const { return durable_to(durable_sequence_); }
  // For a loop that goes idle: writes, unsynced, an end mark that vouches for the last batch and
  // holds the commit index. The next batch overwrites it. Does nothing when nothing is new.
  // REQUIRES: !has_queued()
  Status mark_end();
  // mark_end() and a sync: the last call of a clean stop. What is queued still is dropped.
  Status close();

  // The engine holds everything up to `durable`; entries above `needed` may still be asked for.
  // Answers which segments have left the log therefore, oldest first: retire() may have their
  // files, in this order. REQUIRES: needed <= durable
  std::vector<uint64_t> release(raft::Index durable, raft::Index needed);

  // Spares are made and brought from outside (SpareMaker, retire), at most kSparesMax at a time,
  // the next segment's file among them. When a new segment is due and there is none, sync() makes
  // one itself, at its price.
  int spares() const { return static_cast<int>(spares_.size()) + (next_ ? 1 : 0); }
  void add_spare(Spare spare);
  // A path for a spare that no other has had.
  std::string next_spare_path();
  // The file of the next segment gets its name from outside as well. Answers what to give to
  // name_segment() now; nothing when there is no spare, or it was answered already. If the segment
  // is due before next_named() says that the name is durable, sync() sees to the name itself.
  std::optional<NextSegment> name_next();
  void next_named(uint64_t number);  // late is harmless

  LogHead head() const {
    const IndexRange& written = segments_.back().written;
    return {segments_.back().number, written.empty() ? ~raft::Index{0} : written.first};
  }
  // The error that ended it; OK while it works.
  const Status& status() const { return status_; }
  // The last entry, queued ones included.
  raft::EntryId last() const { return last_; }
  uint64_t size_bytes() const;  // of the files of all segments that are begun
  uint64_t written_bytes() const { return written_bytes_; }  // to segments, since it was opened
  uint64_t payload_bytes_max() const;
  const Options& options() const { return options_; }

 private:
  friend class Recovery;
  struct SegmentEntry {
    uint64_t number = 0;
    uint64_t bytes = 0;
    IndexRange written;  // all indexes in it, also those that were cut later
  };

  Wal(Env& env, const Options& options, const Identity& identity, const Logger& logger);
  Status fail(Status status);
  Status write_queue();
  Status add(raft::Append& append);
  Status add_in_parts(raft::Append& append);
  void add_entry(const raft::Entry& entry);
  void add_snapshot(const raft::SnapshotMeta& snapshot);
  Status flush();
  Status write(BatchKind kind);
  Status sync_file();
  SegmentHeader next_header(uint64_t bytes);
  Status begin_log();
  Status start_segment();
  Status open_segment(const SegmentHeader& header);
  Status overwrite_tail();
  Result<Spare> take_next();
  Status adopt_spares();
  Result<Spare> take_spare();
  uint64_t room() const;
  std::string path_of(std::string_view name) const {
    return options_.dir + "/" + std::string(name);
  }

  Env& env_;
  const Options options_;
  const Identity identity_;
  const Logger logger_;
  Status status_;

  std::deque<raft::Append> queue_;
  raft::EntryId last_;             // when the queue is written
  uint64_t last_sequence_ = 0;     // of what was appended
  uint64_t durable_sequence_ = 0;  // <= last_sequence_

  // What is written, or in the batch under construction.
  Batch batch_;
  raft::EntryId log_end_;
  raft::HardState hard_state_;
  raft::HardState written_hard_state_;  // as batches say
  raft::HardState marked_hard_state_;   // as the mark says, if marked_
  std::optional<raft::SnapshotMeta> snapshot_;

  // The segment being written.
  std::vector<SegmentEntry> segments_;  // oldest first; the last is the one being written
  std::unique_ptr<File> file_;
  ChainSeed seed_;
  uint64_t next_salt_ = 0;      // as its header says
  std::string header_;          // its header, until that is written with the first batch
  uint64_t offset_ = 0;         // of the next batch; a multiple of kBlockBytes
  uint64_t batch_number_ = 0;   // of the last batch
  uint64_t sealed_number_ = 0;  // of the last batch of the segment before
  uint64_t synced_number_ = 0;  // <= batch_number_
  uint32_t chain_ = 0;          // checksum of the last batch's header, or of the segment's
  bool marked_ = false;         // an end mark stands at offset_
  bool tail_dirty_ = false;     // what lies at and behind offset_ must be overwritten first

  std::vector<Spare> spares_;
  bool large_batches_ = false;  // in the last segment that was sealed, on the average
  std::optional<Spare> next_;   // will be the next segment; its path is the one it had as a spare
  bool next_is_named_ = false;  // durably; else somebody may be about it
  uint64_t spare_number_ = 0;   // the last that was given out
  uint64_t written_bytes_ = 0;
};

}  // namespace quorate::wal
