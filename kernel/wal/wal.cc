// SPDX-License-Identifier: Apache-2.0
#include "wal/wal.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/crc32c.h"

namespace quorate::wal {
namespace {

constexpr char kZeroBlock[kBlockBytes] = {};
constexpr uint64_t kLargeBatchBytes = 64 << 10;

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
  QUORATE_TRY(wal->begin_log());
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
  QUORATE_CHECK(!mark || header_.empty(), "a segment is begun with a mark");
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
  if (!header_.empty()) parts.insert(parts.begin(), header_);
  QUORATE_TRY(file_->write(offset_ - header_.size(), parts));

  batch_.clear();
  written_bytes_ += header_.size() + block_bytes;
  header_.clear();
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

SegmentHeader Wal::next_header(uint64_t bytes) {
  const bool first = segments_.empty();
  SegmentHeader header;
  header.segment = first ? 1 : segments_.back().number + 1;
  header.bytes = bytes;
  header.salt = first ? env_.random_seed() : next_salt_;
  header.next_salt = env_.random_seed();
  header.identity = identity_;
  header.first_batch = batch_number_ + 1;
  header.previous = first ? 0 : chain_;
  header.log_end = log_end_;
  if (!first) header.before = segments_.back().written;
  header.hard_state = written_hard_state_;
  header.snapshot = snapshot_;
  return header;
}

// There is no log before its first segment has a header: that is durable before the file has its
// name.
Status Wal::begin_log() {
  const Result<Spare> spare = take_spare();
  QUORATE_TRY(spare.status());
  FileSystem& files = env_.files();
  SegmentHeader header = next_header(spare->bytes);
  const std::string block = encode_segment_header(header);
  const Slice part = block;
  Result<std::unique_ptr<File>> file = files.open(spare->path, OpenMode::kReadWrite);
  QUORATE_TRY(file.status());
  QUORATE_TRY((*file)->write(0, {&part, 1}));
  if (options_.sync) QUORATE_TRY((*file)->sync());
  QUORATE_TRY(name_segment(files, options_.dir, {header.segment, spare->path}, options_.sync));
  written_bytes_ += block.size();
  return open_segment(header);
}

// Everything before is durable: flush() has been called. The header waits for the first batch,
// which follows before sync() returns.
Status Wal::start_segment() {
  QUORATE_CHECK(header_.empty() && batch_.empty(), "a segment ends before it is begun");
  large_batches_ = offset_ - kBlockBytes >= kLargeBatchBytes * (batch_number_ - sealed_number_);
  const Result<Spare> file = take_next();
  QUORATE_TRY(file.status());
  SegmentHeader header = next_header(file->bytes);
  header_ = encode_segment_header(header);
  return open_segment(header);
}

// Opened under its own name, so that errors tell it.
Status Wal::open_segment(const SegmentHeader& header) {
  Result<std::unique_ptr<File>> file =
      env_.files().open(path_of(segment_name(header.segment)), OpenMode::kReadWrite);
  QUORATE_TRY(file.status());
  file_ = std::move(*file);
  segments_.push_back({header.segment, header.bytes, {}});
  seed_ = header.seed();
  next_salt_ = header.next_salt;
  offset_ = kBlockBytes;
  chain_ = header.checksum;
  sealed_number_ = batch_number_;
  marked_ = false;
  tail_dirty_ = false;
  return Status();
}

// The file that bears the name of the next segment, durably.
Result<Spare> Wal::take_next() {
  if (!next_) {
    Result<Spare> spare = take_spare();
    QUORATE_TRY(spare.status());
    next_ = std::move(*spare);
  }
  if (!next_is_named_) {
    QUORATE_TRY(name_segment(env_.files(), options_.dir,
                             {segments_.back().number + 1, next_->path, !large_batches_},
                             options_.sync));
  }
  next_is_named_ = false;
  return *std::exchange(next_, std::nullopt);
}

std::optional<NextSegment> Wal::name_next() {
  if (next_ || spares_.empty()) return std::nullopt;
  next_ = std::move(spares_.front());
  spares_.erase(spares_.begin());
  return NextSegment{segments_.back().number + 1, next_->path, !large_batches_};
}

void Wal::next_named(uint64_t number) {
  if (next_ && number == segments_.back().number + 1) next_is_named_ = true;
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
      QUORATE_TRY(clear_head(files, path_of(name), 1, options_.sync));
      add_spare({path_of(name), *size});
    } else {
      QUORATE_TRY(files.remove(path_of(name)));
    }
  }
  return Status();
}

}  // namespace quorate::wal
