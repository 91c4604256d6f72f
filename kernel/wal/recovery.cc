// SPDX-License-Identifier: Apache-2.0
// Reads a log back. What is bad and vouched for is damage and refused; what is bad at the very end
// and vouched for by nobody is the torn end of a crash, and cut.
#include <utility>

#include "wal/wal.h"

namespace quorate::wal {
namespace {

std::string at_byte(const std::string& path, uint64_t offset) {
  return path + " at byte " + std::to_string(offset);
}

Status damage(const std::string& place, const std::string& what) {
  return Status(Code::kCorrupt,
                "the log is damaged in " + place + ": " + what +
                    "; what was acknowledged would be lost. Restore the member from a snapshot, or "
                    "remove it from its cluster and add a new one");
}

}  // namespace

class Recovery final : private RecordSink {
 public:
  Recovery(Env& env, const Options& options, const Logger& logger)
      : env_(env), options_(options), logger_(logger) {}

  Result<std::unique_ptr<Wal>> run(Recovered& found) {
    Result<std::vector<uint64_t>> numbers = list_segments(env_.files(), options_.dir);
    QUORATE_TRY(numbers.status());
    if (numbers->empty()) return Status(Code::kNotFound, options_.dir + " holds no log");
    for (size_t i = 0; i < numbers->size(); ++i) {
      const bool last = i + 1 == numbers->size();
      QUORATE_TRY(check_neighbours(*numbers, i));
      QUORATE_TRY(read_segment((*numbers)[i], last));
    }
    if (found_.hard_state.commit > found_.log.last().index)
      return damage(found_.end, "entries up to " + std::to_string(found_.hard_state.commit) +
                                    " were committed, and the log ends at " +
                                    std::to_string(found_.log.last().index));
    QUORATE_TRY(finish());
    found = std::move(found_);
    return std::move(wal_);
  }

 private:
  Status check_neighbours(const std::vector<uint64_t>& numbers, size_t i) const {
    if (i == 0 || numbers[i] == numbers[i - 1] + 1) return Status();
    return damage(options_.dir, "the file " + segment_name(numbers[i - 1] + 1) + " is missing");
  }

  Status read_segment(uint64_t number, bool last) {
    path_ = options_.dir + "/" + segment_name(number);
    QUORATE_TRY(load());
    Result<SegmentHeader> header = decode_segment_header(content_, path_);
    QUORATE_TRY(header.status());
    if (header->segment != number)
      return damage(at_byte(path_, 0),
                    "it is segment " + std::to_string(header->segment) + " under another name");
    if (header->bytes != content_.size())
      return damage(path_, "the file had " + std::to_string(header->bytes) + " bytes and has " +
                               std::to_string(content_.size()));
    QUORATE_TRY(wal_ ? join(*header) : begin(*header));
    wal_->segments_.push_back({number, header->bytes, {}});

    BatchScanner scanner(content_, *header);
    last_batch_ = {};
    bool marked = false;
    while (!marked) {
      offset_ = scanner.offset();
      const auto batch = scanner.next();
      if (!batch) break;
      marked = batch->header.kind == BatchKind::kMark;
      if (!marked) last_batch_ = {offset_, scanner.offset() - offset_};
      wal_->written_hard_state_ = found_.hard_state;
      QUORATE_TRY(read_records(batch->body, *this).with_context(at_byte(path_, offset_)));
    }
    found_.end = at_byte(path_, offset_);
    take_position(*header, scanner, marked);
    if (last && !marked) return check_end(scanner);
    return Status();
  }

  Status load() {
    Result<std::unique_ptr<File>> file = env_.files().open(path_, OpenMode::kRead);
    QUORATE_TRY(file.status());
    const Result<uint64_t> size = (*file)->size();
    QUORATE_TRY(size.status());
    content_.resize(*size);
    const Result<size_t> got = (*file)->read(0, content_.data(), content_.size());
    QUORATE_TRY(got.status());
    content_.resize(*got);
    return Status();
  }

  // The first segment there is: everything before it has been released.
  Status begin(const SegmentHeader& header) {
    wal_.reset(new Wal(env_, options_, header.identity, logger_));
    found_.identity = header.identity;
    found_.hard_state = header.hard_state;
    found_.log.previous = header.log_end;
    found_.snapshot = header.snapshot;
    return Status();
  }

  // A later segment was begun when all of the one before was durable, so it vouches for all of it.
  Status join(const SegmentHeader& header) {
    if (header.identity != found_.identity)
      return damage(at_byte(path_, 0), "it belongs to another member's log");
    if (header.first_batch != wal_->batch_number_ + 1 || header.previous != wal_->chain_)
      return damage(found_.end, "batch " + std::to_string(wal_->batch_number_ + 1) +
                                    " is not whole, though batch " +
                                    std::to_string(header.first_batch - 1) + " was written");
    return Status();
  }

  void take_position(const SegmentHeader& header, const BatchScanner& scanner, bool marked) {
    wal_->seed_ = header.seed();
    wal_->offset_ = scanner.offset();
    wal_->batch_number_ = wal_->synced_number_ = scanner.last_number();
    wal_->chain_ = scanner.chain();
    wal_->marked_ = marked;
    wal_->tail_dirty_ = !marked;
  }

  Status check_end(const BatchScanner& scanner) const {
    if (scanner.voucher_follows())
      return damage(found_.end, "batch " + std::to_string(scanner.last_number() + 1) +
                                    " is not whole, though a later one says that it was");
    logger_.warn(
        "the log ends without a mark in {}, after batch {} and entry {}: what follows, if "
        "anything, was never acknowledged and is dropped",
        found_.end, scanner.last_number(), found_.log.last().index);
    return Status();
  }

  Status finish() {
    wal_->hard_state_ = wal_->marked_hard_state_ = found_.hard_state;
    if (!wal_->marked_) wal_->written_hard_state_ = found_.hard_state;
    wal_->snapshot_ = found_.snapshot;
    wal_->log_end_ = wal_->last_ = found_.log.last();
    Result<std::unique_ptr<File>> file = env_.files().open(path_, OpenMode::kReadWrite);
    QUORATE_TRY(file.status());
    wal_->file_ = std::move(*file);
    if (options_.sync) QUORATE_TRY(make_durable());
    return wal_->adopt_spares();
  }

  // What was read need not be on the disk: the process may have died between write and sync, or
  // because a sync failed, after which the system's cache shows pages as clean that the disk never
  // got. Only the last batch can be such, and only if no mark vouches for it. Written once more, it
  // is synced in earnest.
  Status make_durable() {
    if (!wal_->marked_ && last_batch_.bytes > 0) {
      const Slice batch = Slice(content_).substr(last_batch_.offset, last_batch_.bytes);
      QUORATE_TRY(wal_->file_->write(last_batch_.offset, {&batch, 1}));
    }
    QUORATE_TRY(wal_->file_->sync());
    return env_.files().sync_dir(options_.dir);
  }

  Status on_hard_state(const raft::HardState& state) override {
    if (state.term < found_.hard_state.term)
      return damage(at_byte(path_, offset_), "the term falls from " +
                                                 std::to_string(found_.hard_state.term) + " to " +
                                                 std::to_string(state.term));
    found_.hard_state = state;
    return Status();
  }

  Status on_snapshot(raft::SnapshotMeta snapshot) override {
    found_.log.previous = snapshot.id();
    found_.log.entries.clear();
    found_.snapshot = std::move(snapshot);
    return Status();
  }

  Status on_entry(raft::Entry entry) override {
    wal_->segments_.back().written.add(entry.index);
    raft::LogSlice& log = found_.log;
    if (entry.index <= log.previous.index) {
      // The log was cut at or before its base while it still reached further back. The entries that
      // this one followed are released; it is the base from here on.
      log.entries.clear();
      log.previous = entry.id();
      return Status();
    }
    const uint64_t kept = entry.index - log.previous.index - 1;
    if (kept > log.entries.size())
      return damage(at_byte(path_, offset_), "entry " + std::to_string(entry.index) +
                                                 " follows entry " +
                                                 std::to_string(log.last().index));
    log.entries.resize(kept);
    if (entry.term < log.last().term)
      return damage(at_byte(path_, offset_), "entry " + std::to_string(entry.index) +
                                                 " has an older term than the one before");
    log.entries.push_back(std::move(entry));
    return Status();
  }

  Env& env_;
  const Options& options_;
  const Logger& logger_;
  Recovered found_;
  std::unique_ptr<Wal> wal_;
  std::string path_;     // of the segment being read
  std::string content_;  // of the same
  uint64_t offset_ = 0;  // of the batch being read
  struct {
    uint64_t offset = 0;
    uint64_t bytes = 0;
  } last_batch_;  // of the segment
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
