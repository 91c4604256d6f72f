// SPDX-License-Identifier: Apache-2.0
#include "wal/scan.h"

#include <algorithm>
#include <utility>

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

// The terms of a log's entries, without the entries.
class Terms {
 public:
  void begin(raft::EntryId base) {
    runs_ = {{base.term, base.index}};
    last_ = base.index;
  }
  raft::EntryId base() const { return {runs_.front().term, runs_.front().index}; }
  raft::EntryId last() const { return {runs_.back().term, last_}; }
  // REQUIRES: base().index <= index
  void cut_behind(raft::Index index) {
    while (runs_.back().index > index) runs_.pop_back();
    last_ = std::min(last_, index);
  }
  // REQUIRES: it follows last(), and its term is no older
  void add(raft::EntryId entry) {
    if (entry.term != runs_.back().term) runs_.push_back(entry);
    last_ = entry.index;
  }

 private:
  std::vector<raft::EntryId> runs_;  // the first entry of each term; in front, the base
  raft::Index last_ = 0;
};

class Scan final : private RecordSink {
 public:
  Scan(FileSystem& files, const std::string& dir, LogVisitor& visitor, LogState& state)
      : files_(files), dir_(dir), visitor_(visitor), state_(state) {}

  Status run() {
    Result<std::vector<uint64_t>> numbers = list_segments(files_, dir_);
    QUORATE_TRY(numbers.status());
    if (numbers->empty()) return Status(Code::kNotFound, dir_ + " holds no log");
    const Result<bool> begun = is_begun(*numbers);
    QUORATE_TRY(begun.status());
    const size_t segments = numbers->size() - (*begun ? 0 : 1);
    for (size_t i = 0; i < numbers->size(); ++i) {
      QUORATE_TRY(check_neighbours(*numbers, i));
      QUORATE_TRY(i < segments ? read_segment((*numbers)[i], i == 0, i + 1 == segments)
                               : read_named((*numbers)[i]));
    }
    if (state_.hard_state.commit > state_.last.index)
      return damage(state_.place(), "entries up to " + std::to_string(state_.hard_state.commit) +
                                        " were committed, and the log ends at " +
                                        std::to_string(state_.last.index));
    return Status();
  }

 private:
  Status check_neighbours(const std::vector<uint64_t>& numbers, size_t i) const {
    if (i == 0 || numbers[i] == numbers[i - 1] + 1) return Status();
    return damage(dir_, "the file " + segment_name(numbers[i - 1] + 1) + " is missing");
  }

  std::string path_of(uint64_t number) const { return dir_ + "/" + segment_name(number); }

  // Of the newest file. The first of all had its header before its name.
  Result<bool> is_begun(const std::vector<uint64_t>& numbers) const {
    if (numbers.size() == 1) return true;
    const std::string path = path_of(numbers.back());
    Result<std::unique_ptr<File>> file = files_.open(path, OpenMode::kRead);
    QUORATE_TRY(file.status());
    std::string block(kBlockBytes, '\0');
    const Result<size_t> got = (*file)->read(0, block.data(), block.size());
    QUORATE_TRY(got.status());
    const auto header = decode_segment_header(Slice(block).substr(0, *got), path);
    return header || header.error().code() != Code::kCorrupt;
  }

  // A file whose header is not whole. That became durable with the first batch, so a later one, or
  // a mark, vouches for both; and the first batch for all that was before.
  Status read_named(uint64_t number) {
    const std::string path = path_of(number);
    const Result<std::string> content = read_file(files_, path);
    QUORATE_TRY(content.status());
    const ChainSeed seed = state_.segment.next_seed();
    if (voucher_stands(*content, seed, kBlockBytes, state_.batch))
      return damage(at_byte(path, 0),
                    "its header is not whole, though a batch in it says that batch " +
                        std::to_string(state_.batch + 1) + " was");
    state_.next = NamedFile{content->size(), path};
    const bool batch = content->size() >= kBlockBytes + kBatchHeaderBytes &&
                       decode_batch_header(content->data() + kBlockBytes, seed);
    if (batch || content->find_first_not_of('\0') < kBlockBytes) state_.torn = at_byte(path, 0);
    return Status();
  }

  Status read_segment(uint64_t number, bool first, bool last) {
    const std::string path = path_of(number);
    Result<std::string> content = read_file(files_, path);
    QUORATE_TRY(content.status());
    Result<SegmentHeader> header = decode_segment_header(*content, path);
    QUORATE_TRY(header.status());
    if (header->segment != number)
      return damage(at_byte(path, 0),
                    "it is segment " + std::to_string(header->segment) + " under another name");
    if (header->bytes != content->size())
      return damage(path, "the file had " + std::to_string(header->bytes) + " bytes and has " +
                              std::to_string(content->size()));
    if (first) {
      begin(*header);
    } else {
      QUORATE_TRY(join(*header, path));
    }
    state_.path = path;
    state_.segment = *header;
    state_.offset = kBlockBytes;
    state_.chain = header->checksum;
    state_.last_batch_offset = 0;
    state_.marked = false;
    QUORATE_TRY(visitor_.on_segment(*header));

    BatchScanner scanner(*content, *header);
    QUORATE_TRY(read_batches(scanner));
    return last && !state_.marked ? check_end(scanner) : Status();
  }

  // The first segment there is: everything before it has been released.
  void begin(const SegmentHeader& header) {
    state_.identity = header.identity;
    state_.hard_state = state_.batch_hard_state = header.hard_state;
    state_.snapshot = header.snapshot;
    state_.batch = header.first_batch - 1;
    terms_.begin(header.log_end);
    note_log();
  }

  // A later segment was begun when all of the one before was durable, so it vouches for all of it.
  Status join(const SegmentHeader& header, const std::string& path) const {
    if (header.identity != state_.identity)
      return damage(at_byte(path, 0), "it belongs to another member's log");
    if (header.salt != state_.segment.next_salt)
      return damage(at_byte(path, 0), "it is not the segment that the one before it names");
    if (header.first_batch != state_.batch + 1 || header.previous != state_.chain)
      return damage(state_.place(), "batch " + std::to_string(state_.batch + 1) +
                                        " is not whole, though batch " +
                                        std::to_string(header.first_batch - 1) + " was written");
    return Status();
  }

  Status read_batches(BatchScanner& scanner) {
    while (!state_.marked) {
      const uint64_t offset = scanner.offset();
      const auto batch = scanner.next();
      if (!batch) break;
      state_.marked = batch->header.kind == BatchKind::kMark;
      QUORATE_TRY(visitor_.on_batch(batch->header, offset));
      QUORATE_TRY(read_records(batch->body, *this).with_context(at_byte(state_.path, offset)));
      if (state_.marked) break;
      state_.batch_hard_state = state_.hard_state;
      state_.last_batch_offset = offset;
      state_.batch = scanner.last_number();
      state_.chain = scanner.chain();
      state_.offset = scanner.offset();
    }
    return Status();
  }

  Status check_end(const BatchScanner& scanner) {
    if (scanner.voucher_follows())
      return damage(state_.place(), "batch " + std::to_string(state_.batch + 1) +
                                        " is not whole, though a later one says that it was");
    if (scanner.header_stands()) state_.torn = state_.place();
    return Status();
  }

  Status on_hard_state(const raft::HardState& state) override {
    if (state.term < state_.hard_state.term)
      return damage(state_.place(), "the term falls from " +
                                        std::to_string(state_.hard_state.term) + " to " +
                                        std::to_string(state.term));
    state_.hard_state = state;
    return visitor_.on_hard_state(state);
  }

  Status on_snapshot(raft::SnapshotMeta snapshot) override {
    terms_.begin(snapshot.id());
    state_.snapshot = snapshot;
    note_log();
    return visitor_.on_snapshot(std::move(snapshot));
  }

  Status on_entry(raft::Entry entry) override {
    if (entry.index <= terms_.base().index) {
      // The log was cut at or before its base while it still reached further back. The entries that
      // this one followed are released; it is the base from here on.
      terms_.begin(entry.id());
    } else {
      if (entry.index > terms_.last().index + 1)
        return damage(state_.place(), "entry " + std::to_string(entry.index) + " follows entry " +
                                          std::to_string(terms_.last().index));
      terms_.cut_behind(entry.index - 1);
      if (entry.term < terms_.last().term)
        return damage(state_.place(), "entry " + std::to_string(entry.index) +
                                          " has an older term than the one before");
      terms_.add(entry.id());
    }
    note_log();
    return visitor_.on_entry(std::move(entry));
  }

  void note_log() {
    state_.base = terms_.base();
    state_.last = terms_.last();
  }

  FileSystem& files_;
  const std::string& dir_;
  LogVisitor& visitor_;
  LogState& state_;
  Terms terms_;
};

// Counts whole batches without their chain.
class Gleaner final : private RecordSink {
 public:
  explicit Gleaner(Behind& behind) : behind_(behind) {}

  void read(Slice segment, const ChainSeed& seed, uint64_t from) {
    for (uint64_t at = from; at + kBatchHeaderBytes <= segment.size(); at += kBlockBytes) {
      const auto batch = whole_batch(segment, seed, at);
      if (!batch || !read_records(batch->body, *this).ok()) continue;
      if (batch->header.kind == BatchKind::kMark) continue;
      if (behind_.batches++ == 0) behind_.first_batch = batch->header.number;
    }
  }

 private:
  Status on_hard_state(const raft::HardState& state) override {
    behind_.commit = std::max(behind_.commit, state.commit);
    return Status();
  }
  Status on_snapshot(raft::SnapshotMeta) override { return Status(); }
  Status on_entry(raft::Entry entry) override {
    behind_.entries.add(entry.index);
    return Status();
  }

  Behind& behind_;
};

}  // namespace

std::string LogState::place() const {
  return at_byte(path, offset);
}

Status scan_log(FileSystem& files, const std::string& dir, LogVisitor& visitor, LogState& state) {
  return Scan(files, dir, visitor, state).run();
}

Behind look_behind(FileSystem& files, const std::string& dir, const LogState& state) {
  Behind behind;
  Gleaner gleaner(behind);
  const Result<std::vector<uint64_t>> numbers = list_segments(files, dir);
  if (!numbers) return behind;
  for (uint64_t number : *numbers) {
    if (number < state.segment.segment) continue;
    const std::string path = dir + "/" + segment_name(number);
    const Result<std::string> content = read_file(files, path);
    if (!content) continue;
    const Result<SegmentHeader> header = decode_segment_header(*content, path);
    if (!header && number != state.segment.segment + 1) continue;
    if (header) behind.commit = std::max(behind.commit, header->hard_state.commit);
    const bool reached = number == state.segment.segment;
    gleaner.read(*content, header ? header->seed() : state.segment.next_seed(),
                 reached ? state.offset : kBlockBytes);
  }
  return behind;
}

}  // namespace quorate::wal
