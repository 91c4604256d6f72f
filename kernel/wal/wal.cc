// SPDX-License-Identifier: Apache-2.0
#include "wal/wal.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/crc32c.h"

namespace quorate::wal {
namespace {

constexpr char kZeroBlock[kBlockBytes] = {};

uint64_t body_bytes_of(const raft::Append& append) {
  uint64_t bytes = append.snapshot ? Batch::bytes_of(*append.snapshot) : 0;
  for (const raft::Entry& entry : append.entries) bytes += Batch::bytes_of(entry);
  return bytes;
}

}  // namespace

Result<bool> exists(FileSystem& files, const std::string& dir) {
  if (!files.exists(dir)) return false;
  const Result<std::vector<uint64_t>> segments = list_segments(files, dir);
  QUORATE_TRY(segments.status());
  return !segments->empty();
}

Wal::Wal(Env& env, const Options& options, const Identity& identity, const Logger& logger)
    : env_(env), options_(options), identity_(identity), logger_(logger) {
  QUORATE_CHECK(
      options.segment_bytes % kBlockBytes == 0 && options.segment_bytes >= 4 * kBlockBytes,
      "a segment is some whole blocks");
}

Wal::~Wal() = default;

Result<std::unique_ptr<Wal>> Wal::create(Env& env, const Options& options, const Identity& identity,
                                         const std::optional<raft::SnapshotMeta>& base,
                                         const Logger& logger) {
  FileSystem& files = env.files();
  QUORATE_TRY(options.sync ? create_dir_durably(files, options.dir)
                           : files.create_dir(options.dir));
  const Result<bool> exists_already = exists(files, options.dir);
  QUORATE_TRY(exists_already.status());
  if (*exists_already)
    return Status(Code::kInvalidArgument,
                  options.dir + " holds a log already; open it, or name another directory");

  std::unique_ptr<Wal> wal(new Wal(env, options, identity, logger));
  if (base) {
    wal->snapshot_ = base;
    wal->log_end_ = wal->last_ = base->id();
    wal->hard_state_ = wal->written_hard_state_ = {base->term, 0, base->index};
  }
  QUORATE_TRY(wal->adopt_spares());
  QUORATE_TRY(wal->start_segment());
  return wal;
}

Status Wal::fail(Status status) {
  if (!status.ok() && status_.ok()) status_ = status;
  return status;
}

void Wal::append(raft::Append append) {
  if (append.snapshot) last_ = append.snapshot->id();
  for (const raft::Entry& entry : append.entries) {
    const bool first = &entry == &append.entries.front();
    QUORATE_CHECK(first ? entry.index <= last_.index + 1 : entry.index == last_.index + 1,
                  "an append leaves a gap in the log");
    QUORATE_CHECK(entry.payload.size() <= payload_bytes_max(), "an entry exceeds a segment");
    last_ = entry.id();
  }
  if (append.sequence != 0) {
    QUORATE_CHECK(append.sequence > last_sequence_, "an append comes out of its order");
    last_sequence_ = append.sequence;
  }
  const bool writes = !append.entries.empty() || append.snapshot || append.must_sync;
  if (writes || has_queued()) {
    queue_.push_back(std::move(append));
    return;
  }
  if (append.hard_state) hard_state_ = *append.hard_state;
  if (status_.ok()) durable_sequence_ = last_sequence_;
}

Status Wal::sync() {
  QUORATE_TRY(status_);
  QUORATE_TRY(fail(write_queue()));
  durable_sequence_ = last_sequence_;
  return Status();
}

Status Wal::write_queue() {
  if (queue_.empty()) return Status();
  for (raft::Append& append : queue_) QUORATE_TRY(add(append));
  queue_.clear();
  return flush();
}

// An Append goes into one batch if any segment can hold it, so that it is durable whole or not at
// all. Larger ones are cut at entries; a piece then stands for a shorter append, which Raft allows:
// the new term and vote come with the first piece, the commit index with the last.
Status Wal::add(raft::Append& append) {
  const uint64_t bytes = body_bytes_of(append);
  if (batch_.body_bytes() + bytes > room()) {
    if (!batch_.empty()) QUORATE_TRY(flush());
    if (bytes > room()) QUORATE_TRY(start_segment());
    if (bytes > room()) return add_in_parts(append);
  }
  if (append.snapshot) add_snapshot(*append.snapshot);
  for (const raft::Entry& entry : append.entries) add_entry(entry);
  if (append.hard_state) hard_state_ = *append.hard_state;
  return Status();
}

Status Wal::add_in_parts(raft::Append& append) {
  if (append.hard_state) {
    hard_state_.term = append.hard_state->term;
    hard_state_.vote = append.hard_state->vote;
  }
  if (append.snapshot) add_snapshot(*append.snapshot);
  for (const raft::Entry& entry : append.entries) {
    if (batch_.body_bytes() + Batch::bytes_of(entry) > room()) {
      if (!batch_.empty()) QUORATE_TRY(flush());
      QUORATE_TRY(start_segment());
    }
    add_entry(entry);
  }
  if (append.hard_state) hard_state_ = *append.hard_state;
  return Status();
}

void Wal::add_entry(const raft::Entry& entry) {
  batch_.add(entry);
  log_end_ = entry.id();
  segments_.back().written.add(entry.index);
}

void Wal::add_snapshot(const raft::SnapshotMeta& snapshot) {
  batch_.add(snapshot);
  log_end_ = snapshot.id();
  snapshot_ = snapshot;
}

Status Wal::flush() {
  if (hard_state_ != written_hard_state_) {
    if (room() == 0) QUORATE_TRY(start_segment());
    batch_.add(hard_state_);
  }
  if (batch_.empty()) return Status();
  QUORATE_TRY(write(BatchKind::kBatch));
  return sync_file();
}

// Leaves batch_ empty.
Status Wal::write(BatchKind kind) {
  if (tail_dirty_) QUORATE_TRY(overwrite_tail());
  const bool mark = kind == BatchKind::kMark;
  BatchHeader header;
  header.kind = kind;
  header.body_bytes = static_cast<uint32_t>(batch_.body_bytes());
  header.segment = seed_.segment;
  header.number = batch_number_ + (mark ? 0 : 1);
  header.vouches = synced_number_;
  header.previous = chain_;
  std::vector<Slice> parts = batch_.parts();
  for (Slice part : parts) header.body_crc = crc32c(part, header.body_crc);
  char header_bytes[kBatchHeaderBytes];
  encode_batch_header(header, seed_, header_bytes);

  // Whole blocks: a part of one would have to be read first.
  const uint64_t bytes = kBatchHeaderBytes + batch_.body_bytes();
  const uint64_t block_bytes = to_blocks(bytes);
  QUORATE_CHECK(offset_ + block_bytes <= segments_.back().bytes, "a batch leaves its segment");
  parts.insert(parts.begin(), Slice(header_bytes, kBatchHeaderBytes));
  parts.push_back(Slice(kZeroBlock, block_bytes - bytes));
  QUORATE_TRY(file_->write(offset_, parts));

  batch_.clear();
  written_bytes_ += block_bytes;
  marked_ = mark;
  if (mark) {
    marked_hard_state_ = hard_state_;
    return Status();
  }
  written_hard_state_ = hard_state_;
  batch_number_ = header.number;
  chain_ = header.checksum;
  offset_ += block_bytes;
  return Status();
}

Status Wal::sync_file() {
  if (!options_.sync) return Status();
  QUORATE_TRY(file_->sync());
  synced_number_ = batch_number_;
  return Status();
}

Status Wal::mark_end() {
  QUORATE_TRY(status_);
  QUORATE_CHECK(!has_queued(), "a log with appends in its queue is not at its end");
  if (marked_ && hard_state_ == marked_hard_state_) return Status();
  if (offset_ + kBlockBytes > segments_.back().bytes) return Status();
  if (hard_state_ != written_hard_state_) batch_.add(hard_state_);
  return fail(write(BatchKind::kMark));
}

Status Wal::close() {
  queue_.clear();
  QUORATE_TRY(mark_end());
  if (!options_.sync) return Status();
  return fail(file_->sync());
}

uint64_t Wal::room() const {
  constexpr uint64_t kOverhead = kBatchHeaderBytes + Batch::kHardStateBytesMax;
  const uint64_t left = segments_.back().bytes - offset_;
  return left > kOverhead ? left - kOverhead : 0;
}

uint64_t Wal::payload_bytes_max() const {
  constexpr uint64_t kEntryOverhead = 1 + 3 * 10;
  return options_.segment_bytes - kBlockBytes - kBatchHeaderBytes - Batch::kHardStateBytesMax -
         kEntryOverhead;
}

uint64_t Wal::size_bytes() const {
  uint64_t bytes = 0;
  for (const SegmentEntry& segment : segments_) bytes += segment.bytes;
  return bytes;
}

// Everything before is durable: flush() has been called. The header is durable before the file has
// its name, and the name before anything is written to it.
Status Wal::start_segment() {
  Result<Spare> spare = take_spare();
  QUORATE_TRY(spare.status());
  SegmentHeader header;
  header.segment = segments_.empty() ? 1 : segments_.back().number + 1;
  header.bytes = spare->bytes;
  header.salt = env_.random_seed();
  header.identity = identity_;
  header.first_batch = batch_number_ + 1;
  header.previous = segments_.empty() ? 0 : chain_;
  header.log_end = log_end_;
  if (!segments_.empty()) header.before = segments_.back().written;
  header.hard_state = written_hard_state_;
  header.snapshot = snapshot_;
  QUORATE_TRY(name_segment(*spare, header));

  segments_.push_back({header.segment, spare->bytes, {}});
  seed_ = header.seed();
  offset_ = kBlockBytes;
  chain_ = header.checksum;
  marked_ = false;
  tail_dirty_ = false;
  return Status();
}

Status Wal::name_segment(const Spare& spare, SegmentHeader& header) {
  FileSystem& files = env_.files();
  const std::string block = encode_segment_header(header);
  const Slice part = block;
  {
    Result<std::unique_ptr<File>> file = files.open(spare.path, OpenMode::kReadWrite);
    QUORATE_TRY(file.status());
    QUORATE_TRY((*file)->write(0, {&part, 1}));
    if (options_.sync) QUORATE_TRY((*file)->sync());
  }
  const std::string path = path_of(segment_name(header.segment));
  QUORATE_TRY(files.rename(spare.path, path));
  if (options_.sync) QUORATE_TRY(files.sync_dir(options_.dir));
  // Opened under its own name, so that errors tell it.
  Result<std::unique_ptr<File>> file = files.open(path, OpenMode::kReadWrite);
  QUORATE_TRY(file.status());
  file_ = std::move(*file);
  written_bytes_ += block.size();
  return Status();
}

// Behind a torn end may lie parts of what was being written. They must be gone before anything is
// appended that could make them look like its continuation.
Status Wal::overwrite_tail() {
  constexpr uint64_t kStepBytes = 1 << 20;
  const std::string zeros(std::min(kStepBytes, segments_.back().bytes - offset_), '\0');
  for (uint64_t at = offset_; at < segments_.back().bytes; at += zeros.size()) {
    const Slice part = Slice(zeros).substr(0, segments_.back().bytes - at);
    QUORATE_TRY(file_->write(at, {&part, 1}));
  }
  if (options_.sync) QUORATE_TRY(file_->sync());
  tail_dirty_ = false;
  return Status();
}

std::vector<uint64_t> Wal::release(raft::Index durable, raft::Index needed) {
  QUORATE_CHECK(needed <= durable, "the log would give up what the engine lacks");
  std::vector<uint64_t> released;
  uint64_t bytes = size_bytes();
  while (segments_.size() > 1) {
    const SegmentEntry& oldest = segments_.front();
    const raft::Index bound = bytes > options_.keep_bytes_max ? durable : needed;
    if (!oldest.written.empty() && oldest.written.last > bound) break;
    released.push_back(oldest.number);
    bytes -= oldest.bytes;
    segments_.erase(segments_.begin());
  }
  return released;
}

void Wal::add_spare(Spare spare) {
  QUORATE_CHECK(spares() < kSparesMax, "more spares than wanted");
  spares_.push_back(std::move(spare));
}

std::string Wal::next_spare_path() {
  return path_of(spare_name(++spare_number_));
}

Result<Spare> Wal::take_spare() {
  if (!spares_.empty()) {
    Spare spare = std::move(spares_.front());
    spares_.erase(spares_.begin());
    return spare;
  }
  SpareMaker maker(env_.files(), next_spare_path(), options_.segment_bytes, options_.sync);
  for (;;) {
    Result<std::optional<Spare>> spare = maker.step();
    QUORATE_TRY(spare.status());
    if (*spare) return std::move(**spare);
  }
}

Status Wal::adopt_spares() {
  FileSystem& files = env_.files();
  const Result<std::vector<std::string>> names = files.list(options_.dir);
  QUORATE_TRY(names.status());
  for (const std::string& name : *names) {
    const uint64_t number = spare_number(name);
    if (number == 0) continue;
    spare_number_ = std::max(spare_number_, number);
    const Result<uint64_t> size = size_of(files, path_of(name));
    QUORATE_TRY(size.status());
    if (*size == options_.segment_bytes && spares() < kSparesMax) {
      add_spare({path_of(name), *size});
    } else {
      QUORATE_TRY(files.remove(path_of(name)));
    }
  }
  return Status();
}

}  // namespace quorate::wal
