// SPDX-License-Identifier: Apache-2.0
// From the files of a log to a log that can be appended to.
#include <utility>

#include "wal/scan.h"
#include "wal/wal.h"

namespace quorate::wal {

class Recovery final : private LogVisitor {
 public:
  Recovery(Env& env, const Options& options, const Logger& logger)
      : env_(env), options_(options), logger_(logger) {}

  Result<std::unique_ptr<Wal>> run(Recovered& found) {
    QUORATE_TRY(scan_log(env_.files(), options_.dir, *this, end_));
    if (!end_.marked || !end_.torn.empty())
      logger_.warn(
          "the log ends {} a mark in {}, after batch {} and entry {}: what follows, if anything, "
          "was never acknowledged and is dropped",
          end_.marked ? "with" : "without", end_.place(), end_.batch, end_.last.index);
    found_.identity = end_.identity;
    found_.hard_state = end_.hard_state;
    found_.snapshot = end_.snapshot;
    found_.end = end_.place();
    QUORATE_TRY(make_log());
    found = std::move(found_);
    return std::move(wal_);
  }

 private:
  Status make_log() {
    wal_.reset(new Wal(env_, options_, end_.identity, logger_));
    wal_->segments_ = std::move(segments_);
    wal_->seed_ = end_.segment.seed();
    wal_->next_salt_ = end_.segment.next_salt;
    wal_->offset_ = end_.offset;
    wal_->batch_number_ = wal_->synced_number_ = end_.batch;
    wal_->sealed_number_ = end_.segment.first_batch - 1;
    wal_->chain_ = end_.chain;
    wal_->marked_ = end_.marked;
    wal_->tail_dirty_ = !end_.marked;
    wal_->hard_state_ = wal_->marked_hard_state_ = end_.hard_state;
    wal_->written_hard_state_ = end_.batch_hard_state;
    wal_->snapshot_ = end_.snapshot;
    wal_->log_end_ = wal_->last_ = end_.last;
    Result<std::unique_ptr<File>> file = env_.files().open(end_.path, OpenMode::kReadWrite);
    QUORATE_TRY(file.status());
    wal_->file_ = std::move(*file);
    if (options_.sync) QUORATE_TRY(make_durable());
    if (end_.next) QUORATE_TRY(take_named(*end_.next));
    return wal_->adopt_spares();
  }

  // What was read need not be on the disk: the process may have died between write and sync, or
  // because a sync failed, after which the system's cache shows pages as clean that the disk never
  // got. Only the last batch can be such, with the header before it if it is the segment's first,
  // and only if no mark vouches for it. Written once more, it is synced in earnest.
  Status make_durable() {
    if (!end_.marked) {
      const uint64_t from = end_.last_batch_offset > kBlockBytes ? end_.last_batch_offset : 0;
      std::string batch(end_.offset - from, '\0');
      const Result<size_t> got = wal_->file_->read(from, batch.data(), batch.size());
      QUORATE_TRY(got.status());
      const Slice part = Slice(batch).substr(0, *got);
      QUORATE_TRY(wal_->file_->write(from, {&part, 1}));
    }
    QUORATE_TRY(wal_->file_->sync());
    wal_->file_->drop_cache();
    return env_.files().sync_dir(options_.dir);
  }

  // The file that has the name of the next segment already. It may hold parts of a beginning, the
  // header and that of the first batch: they go, as behind a torn end.
  Status take_named(const NamedFile& next) {
    FileSystem& files = env_.files();
    if (next.bytes == options_.segment_bytes) {
      QUORATE_TRY(clear_head(files, next.path, 2, options_.sync));
      drop_cache(files, next.path);
      wal_->next_ = Spare{next.path, next.bytes};
      wal_->next_is_named_ = true;
      return Status();
    }
    QUORATE_TRY(files.remove(next.path));
    return options_.sync ? files.sync_dir(options_.dir) : Status();
  }

  Status on_segment(const SegmentHeader& header) override {
    if (segments_.empty()) found_.log.previous = header.log_end;
    segments_.push_back({header.segment, header.bytes, {}});
    return Status();
  }
  Status on_batch(const BatchHeader&, uint64_t) override { return Status(); }
  Status on_hard_state(const raft::HardState&) override { return Status(); }

  Status on_snapshot(raft::SnapshotMeta snapshot) override {
    found_.log.previous = snapshot.id();
    found_.log.entries.clear();
    return Status();
  }

  Status on_entry(raft::Entry entry) override {
    segments_.back().written.add(entry.index);
    raft::LogSlice& log = found_.log;
    if (entry.index <= log.previous.index) {
      log.entries.clear();
      log.previous = entry.id();
    } else {
      log.entries.resize(entry.index - log.previous.index - 1);
      log.entries.push_back(std::move(entry));
    }
    return Status();
  }

  Env& env_;
  const Options& options_;
  const Logger& logger_;
  LogState end_;
  Recovered found_;
  std::vector<Wal::SegmentEntry> segments_;
  std::unique_ptr<Wal> wal_;
};

Result<std::unique_ptr<Wal>> Wal::open(Env& env, const Options& options, const Logger& logger,
                                       Recovered& found) {
  return Recovery(env, options, logger).run(found);
}

Status reconcile(Recovered& found, raft::EntryId applied) {
  raft::LogSlice& log = found.log;
  const std::string engine = "the engine has applied entry " + std::to_string(applied.index) +
                             " of term " + std::to_string(applied.term);
  const std::string advice =
      ". Engine and log do not belong together, or one has lost data: restore the member from a "
      "snapshot, or remove it from its cluster and add a new one";
  if (applied.index < log.previous.index)
    return Status(Code::kCorrupt, engine + ", but the log begins behind entry " +
                                      std::to_string(log.previous.index) + advice);
  if (applied.index > log.last().index)
    return Status(Code::kCorrupt, engine + ", but the log ends at entry " +
                                      std::to_string(log.last().index) + " (" + found.end + ")" +
                                      advice);
  const raft::EntryId there = applied.index == log.previous.index
                                  ? log.previous
                                  : log.entries[applied.index - log.previous.index - 1].id();
  if (there != applied)
    return Status(Code::kCorrupt, engine + ", but in the log that entry has term " +
                                      std::to_string(there.term) + advice);
  if (found.hard_state.commit < applied.index) found.hard_state.commit = applied.index;
  return Status();
}

}  // namespace quorate::wal
