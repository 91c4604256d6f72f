// SPDX-License-Identifier: Apache-2.0
#include "wal/segment.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/coding.h"
#include "base/crc32c.h"

namespace quorate::wal {
namespace {

constexpr Slice kSegmentMagic = "QUORWAL\n";
constexpr size_t kHeaderChecksumAt = kBlockBytes - 4;
constexpr std::string_view kSegmentSuffix = ".wal";
constexpr std::string_view kSparePrefix = "spare-";
constexpr size_t kNumberDigits = 16;
constexpr uint64_t kSpareStepBytes = 1 << 20;

std::string digits(uint64_t number) {
  std::string text = std::to_string(number);
  return std::string(kNumberDigits - std::min(kNumberDigits, text.size()), '0') + text;
}

uint64_t number_of(std::string_view text) {
  if (text.size() < kNumberDigits || text.size() > 20) return 0;
  uint64_t number = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return 0;
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

Status unknown_version(uint32_t version, const std::string& path) {
  const std::string what = path + " has log format " + std::to_string(version) +
                           ", this program knows " + std::to_string(kFormatVersion) + " alone: ";
  return Status(Code::kUnsupported,
                what + (version > kFormatVersion
                            ? "run the version that wrote it, or a newer one"
                            : "run the version that wrote it, or remove the member from its "
                              "cluster and add a new one"));
}

bool take_header(Slice& from, SegmentHeader& header) {
  uint8_t has_snapshot = 0;
  if (!take_le(from, header.segment) || !take_le(from, header.bytes) ||
      !take_le(from, header.salt) || !take_le(from, header.next_salt) ||
      !take_le(from, header.identity.cluster_id) || !take_le(from, header.identity.member_id) ||
      !take_le(from, header.first_batch) || !take_le(from, header.previous) ||
      !take_le(from, header.log_end.term) || !take_le(from, header.log_end.index) ||
      !take_le(from, header.before.first) || !take_le(from, header.before.last) ||
      !take_hard_state(from, header.hard_state) || !take_le(from, has_snapshot))
    return false;
  if (has_snapshot == 0) return true;
  return take_snapshot(from, header.snapshot.emplace());
}

}  // namespace

std::string encode_segment_header(SegmentHeader& header) {
  std::string block(kSegmentMagic);
  put_le(block, header.version);
  put_le(block, header.segment);
  put_le(block, header.bytes);
  put_le(block, header.salt);
  put_le(block, header.next_salt);
  put_le(block, header.identity.cluster_id);
  put_le(block, header.identity.member_id);
  put_le(block, header.first_batch);
  put_le(block, header.previous);
  put_le(block, header.log_end.term);
  put_le(block, header.log_end.index);
  put_le(block, header.before.first);
  put_le(block, header.before.last);
  put_hard_state(block, header.hard_state);
  block.push_back(header.snapshot ? 1 : 0);
  if (header.snapshot) put_snapshot(block, *header.snapshot);
  QUORATE_CHECK(block.size() <= kHeaderChecksumAt,
                "a snapshot's configuration does not fit a block");
  block.resize(kHeaderChecksumAt);
  header.checksum = crc32c(block);
  put_le(block, header.checksum);
  return block;
}

Result<SegmentHeader> decode_segment_header(Slice block, const std::string& path) {
  const Status damaged(Code::kCorrupt,
                       path +
                           " has a damaged header (byte 0): the log cannot be read; "
                           "restore the member from a snapshot, or remove it and add a new one");
  if (block.size() < kBlockBytes || block.substr(0, kSegmentMagic.size()) != kSegmentMagic)
    return damaged;
  SegmentHeader header;
  header.checksum = get_le<uint32_t>(block.data() + kHeaderChecksumAt);
  if (header.checksum != crc32c(block.substr(0, kHeaderChecksumAt))) return damaged;
  Slice rest = block.substr(kSegmentMagic.size(), kHeaderChecksumAt - kSegmentMagic.size());
  take_le(rest, header.version);
  if (header.version != kFormatVersion) return unknown_version(header.version, path);
  if (!take_header(rest, header)) return damaged;
  return header;
}

std::string segment_name(uint64_t number) {
  return digits(number).append(kSegmentSuffix);
}

uint64_t segment_number(std::string_view name) {
  if (!name.ends_with(kSegmentSuffix)) return 0;
  return number_of(name.substr(0, name.size() - kSegmentSuffix.size()));
}

std::string spare_name(uint64_t number) {
  return std::string(kSparePrefix) + digits(number);
}

uint64_t spare_number(std::string_view name) {
  return name.starts_with(kSparePrefix) ? number_of(name.substr(kSparePrefix.size())) : 0;
}

Result<std::vector<uint64_t>> list_segments(FileSystem& files, const std::string& dir) {
  const Result<std::vector<std::string>> names = files.list(dir);
  QUORATE_TRY(names.status());
  std::vector<uint64_t> numbers;
  for (const std::string& name : *names)
    if (const uint64_t number = segment_number(name); number != 0) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<SegmentHeader> read_segment_header(File& file, const std::string& path) {
  std::string block(kBlockBytes, '\0');
  const Result<size_t> got = file.read(0, block.data(), block.size());
  QUORATE_TRY(got.status());
  return decode_segment_header(Slice(block).substr(0, *got), path);
}

Result<uint64_t> size_of(FileSystem& files, const std::string& path) {
  Result<std::unique_ptr<File>> file = files.open(path, OpenMode::kRead);
  QUORATE_TRY(file.status());
  return (*file)->size();
}

SpareMaker::SpareMaker(FileSystem& files, std::string path, uint64_t bytes, bool sync)
    : files_(files), path_(std::move(path)), bytes_(bytes), sync_(sync) {}

SpareMaker::~SpareMaker() {
  // What cannot be removed now is removed when the log is opened again.
  if (file_ && !finished_) static_cast<void>(files_.remove(path_));
}

Result<std::optional<Spare>> SpareMaker::step() {
  if (!file_) {
    Result<std::unique_ptr<File>> file = files_.open(path_, OpenMode::kReplace);
    QUORATE_TRY(file.status());
    file_ = std::move(*file);
  }
  const std::string zeros(std::min(kSpareStepBytes, bytes_ - written_), '\0');
  const Slice part = zeros;
  QUORATE_TRY(file_->write(written_, {&part, 1}));
  if (sync_) QUORATE_TRY(file_->sync());
  written_ += zeros.size();
  if (written_ < bytes_) return std::optional<Spare>();
  finished_ = true;
  return std::optional<Spare>(Spare{path_, bytes_});
}

Status clear_head(FileSystem& files, const std::string& path, uint64_t blocks, bool sync) {
  Result<std::unique_ptr<File>> file = files.open(path, OpenMode::kReadWrite);
  QUORATE_TRY(file.status());
  const std::string zeros(blocks * kBlockBytes, '\0');
  const Slice part = zeros;
  QUORATE_TRY((*file)->write(0, {&part, 1}));
  return sync ? (*file)->sync() : Status();
}

Result<std::optional<Spare>> retire(FileSystem& files, const std::string& dir, uint64_t number,
                                    const std::string& spare_path, uint64_t segment_bytes) {
  const std::string path = dir + "/" + segment_name(number);
  std::optional<Spare> spare;
  if (files.exists(path)) {
    Result<std::unique_ptr<File>> file = files.open(path, OpenMode::kRead);
    QUORATE_TRY(file.status());
    const Result<uint64_t> bytes = (*file)->size();
    QUORATE_TRY(bytes.status());
    if (!spare_path.empty() && *bytes == segment_bytes) spare = Spare{spare_path, *bytes};
    QUORATE_TRY(spare ? files.rename(path, spare_path) : files.remove(path));
  }
  QUORATE_TRY(files.sync_dir(dir));
  // Not before: a crash would leave a segment without its header.
  if (spare) QUORATE_TRY(clear_head(files, spare_path, 1, true));
  return spare;
}

Status name_segment(FileSystem& files, const std::string& dir, const NextSegment& next, bool sync) {
  const std::string path = dir + "/" + segment_name(next.number);
  const Status renamed = files.rename(next.spare_path, path);
  if (!renamed.ok() && renamed.code() != Code::kNotFound) return renamed;
  if (sync) QUORATE_TRY(files.sync_dir(dir));
  if (next.drop_cache) drop_cache(files, path);
  return Status();
}

void drop_cache(FileSystem& files, const std::string& path) {
  if (const auto file = files.open(path, OpenMode::kRead)) (*file)->drop_cache();
}

std::optional<FoundBatch> whole_batch(Slice segment, const ChainSeed& seed, uint64_t offset) {
  if (segment.size() < offset + kBatchHeaderBytes) return std::nullopt;
  const auto batch = decode_batch_header(segment.data() + offset, seed);
  const uint64_t body_at = offset + kBatchHeaderBytes;
  if (!batch || batch->body_bytes > segment.size() - body_at) return std::nullopt;
  const Slice body = segment.substr(body_at, batch->body_bytes);
  if (crc32c(body) != batch->body_crc) return std::nullopt;
  return FoundBatch{*batch, body};
}

bool voucher_stands(Slice segment, const ChainSeed& seed, uint64_t offset, uint64_t number) {
  for (uint64_t at = offset; at + kBatchHeaderBytes <= segment.size(); at += kBlockBytes) {
    const auto header = decode_batch_header(segment.data() + at, seed);
    if (header && header->vouches > number) return true;
  }
  return false;
}

BatchScanner::BatchScanner(Slice segment, const SegmentHeader& header)
    : segment_(segment),
      header_(header),
      last_number_(header.first_batch - 1),
      chain_(header.checksum) {}

bool BatchScanner::is_next(const BatchHeader& header) const {
  const bool mark = header.kind == BatchKind::kMark;
  return header.previous == chain_ && header.number == last_number_ + (mark ? 0 : 1);
}

std::optional<FoundBatch> BatchScanner::next() {
  if (ended_) return std::nullopt;
  ended_ = true;
  const auto found = whole_batch(segment_, header_.seed(), offset_);
  if (!found || !is_next(found->header)) return std::nullopt;
  if (found->header.kind == BatchKind::kMark) return found;
  ended_ = false;
  offset_ += to_blocks(kBatchHeaderBytes + found->header.body_bytes);
  last_number_ = found->header.number;
  chain_ = found->header.checksum;
  return found;
}

bool BatchScanner::header_stands() const {
  if (segment_.size() < offset_ + kBatchHeaderBytes) return false;
  const auto header = decode_batch_header(segment_.data() + offset_, header_.seed());
  return header && is_next(*header);
}

}  // namespace quorate::wal
