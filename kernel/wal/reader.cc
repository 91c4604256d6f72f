// SPDX-License-Identifier: Apache-2.0
#include "wal/reader.h"

#include <algorithm>
#include <utility>

#include "wal/segment.h"

namespace quorate::wal {
namespace {

struct Sealed {
  uint64_t number = 0;
  IndexRange written;
};

// Collects a run of entries that starts at `first`.
class Window final : public RecordSink {
 public:
  explicit Window(raft::Index first) : first_(first) {}

  Status on_entry(raft::Entry entry) override {
    if (entry.index < first_) {
      cut();
    } else if (entry.index <= first_ + entries_.size()) {
      entries_.resize(entry.index - first_);
      entries_.push_back(std::move(entry));
    }
    return Status();
  }
  Status on_hard_state(const raft::HardState&) override { return Status(); }
  Status on_snapshot(raft::SnapshotMeta snapshot) override {
    if (snapshot.index < first_) return Status();
    cut_ = true;
    entries_.clear();
    return Status();
  }

  // What was written took the first entry off the log: a snapshot, or another entry before it.
  bool was_cut() const { return cut_ && entries_.empty(); }
  bool empty() const { return entries_.empty(); }
  uint64_t bytes() const {
    uint64_t bytes = 0;
    for (const raft::Entry& entry : entries_) bytes += entry.payload.size();
    return bytes;
  }
  // What is certain: no segment that follows wrote below `end`.
  std::vector<raft::Entry> take(raft::Index end, uint64_t bytes_max) {
    size_t count = 0;
    for (uint64_t bytes = 0; count < entries_.size() && entries_[count].index < end; ++count) {
      bytes += entries_[count].payload.size();
      if (count > 0 && bytes > bytes_max) break;
    }
    entries_.resize(count);
    return std::move(entries_);
  }

 private:
  void cut() {
    cut_ |= !entries_.empty();
    entries_.clear();
  }

  const raft::Index first_;
  bool cut_ = false;
  std::vector<raft::Entry> entries_;
};

// A sealed segment's header names what the one before it holds, so headers alone tell where to
// look.
Result<std::vector<Sealed>> list_sealed(FileSystem& files, const std::string& dir, uint64_t head) {
  const Result<std::vector<uint64_t>> numbers = list_segments(files, dir);
  QUORATE_TRY(numbers.status());
  std::vector<Sealed> sealed;
  for (size_t i = 1; i < numbers->size() && (*numbers)[i] <= head; ++i) {
    const std::string path = dir + "/" + segment_name((*numbers)[i]);
    Result<std::unique_ptr<File>> file = files.open(path, OpenMode::kRead);
    QUORATE_TRY(file.status());
    const Result<SegmentHeader> header = read_segment_header(**file, path);
    QUORATE_TRY(header.status());
    sealed.push_back({(*numbers)[i] - 1, header->before});
  }
  return sealed;
}

Status read_sealed(FileSystem& files, const std::string& path, Window& window) {
  const Result<std::string> content = read_file(files, path);
  QUORATE_TRY(content.status());
  const Result<SegmentHeader> header = decode_segment_header(*content, path);
  QUORATE_TRY(header.status());
  BatchScanner scanner(*content, *header);
  while (const auto batch = scanner.next()) QUORATE_TRY(read_records(batch->body, window));
  return Status();
}

Result<std::vector<raft::Entry>> read(FileSystem& files, const std::string& dir,
                                      const LogHead& head, raft::Index first, uint64_t bytes_max) {
  const Result<std::vector<Sealed>> listed = list_sealed(files, dir, head.segment);
  QUORATE_TRY(listed.status());
  const std::vector<Sealed>& sealed = *listed;
  // The valid version of a committed entry is the last one written, and those of the entries that
  // follow it come after it.
  size_t at = sealed.size();
  while (at > 0 && !(sealed[at - 1].written.first <= first && first <= sealed[at - 1].written.last))
    --at;
  const Status absent(Code::kCompacted,
                      "entry " + std::to_string(first) + " is in no sealed segment of " + dir);
  if (at == 0) return absent;
  Window window(first);
  size_t next = at - 1;
  for (; next < sealed.size() && window.bytes() < bytes_max; ++next)
    QUORATE_TRY(read_sealed(files, dir + "/" + segment_name(sealed[next].number), window));
  if (window.was_cut()) return absent;
  if (window.empty())
    return Status(Code::kCorrupt, "entry " + std::to_string(first) + " is not in " + dir + "/" +
                                      segment_name(sealed[at - 1].number) + ", which wrote it");
  raft::Index end = head.first;
  for (; next < sealed.size(); ++next) end = std::min(end, sealed[next].written.first);
  std::vector<raft::Entry> entries = window.take(end, bytes_max);
  if (entries.empty()) return absent;
  return entries;
}

bool still_there(FileSystem& files, const std::string& dir, uint64_t oldest) {
  return files.exists(dir + "/" + segment_name(oldest));
}

}  // namespace

Result<std::vector<raft::Entry>> read_window(FileSystem& files, const std::string& dir,
                                             const LogHead& head, raft::Index first,
                                             uint64_t bytes_max) {
  const Result<std::vector<uint64_t>> before = list_segments(files, dir);
  QUORATE_TRY(before.status());
  if (before->empty()) return Status(Code::kCompacted, dir + " holds no segment");
  Result<std::vector<raft::Entry>> entries = read(files, dir, head, first, bytes_max);
  // A file that was released meanwhile may have been overwritten while it was read.
  if (!entries && !still_there(files, dir, before->front()))
    return Status(Code::kCompacted, "segments of " + dir + " were released while they were read");
  return entries;
}

}  // namespace quorate::wal
