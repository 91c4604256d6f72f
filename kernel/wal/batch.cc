// SPDX-License-Identifier: Apache-2.0
#include "wal/batch.h"

#include "base/check.h"
#include "base/coding.h"
#include "base/crc32c.h"
#include "base/slab.h"

namespace quorate::wal {
namespace {

constexpr uint32_t kBatchMagic = 0x54425751;  // "QWBT"

// Offsets in a header.
constexpr size_t kMagicAt = 0;
constexpr size_t kKindAt = 4;
constexpr size_t kBodyBytesAt = 8;
constexpr size_t kBodyCrcAt = 12;
constexpr size_t kSegmentAt = 16;
constexpr size_t kNumberAt = 24;
constexpr size_t kVouchesAt = 32;
constexpr size_t kPreviousAt = 40;
constexpr size_t kChecksumAt = 60;
static_assert(kChecksumAt + 4 == kBatchHeaderBytes);

enum Tag : uint8_t {
  kHardStateTag = 1,
  kSnapshotTag = 2,
  kEntryTag = 16,  // + EntryType
};
constexpr uint8_t kEntryTypeMax = static_cast<uint8_t>(raft::EntryType::kConfChange);

uint32_t header_checksum(const char* header, const ChainSeed& seed) {
  return crc32c(Slice(header, kChecksumAt), seed.value());
}

void put_nodes(std::string& to, const std::vector<raft::NodeId>& nodes) {
  put_varint(to, nodes.size());
  for (raft::NodeId node : nodes) put_le(to, node);
}

bool take_nodes(Slice& from, std::vector<raft::NodeId>& nodes) {
  uint64_t count = 0;
  if (!take_varint(from, count) || count > from.size() / sizeof(raft::NodeId)) return false;
  nodes.resize(count);
  for (raft::NodeId& node : nodes) take_le(from, node);
  return true;
}

Status malformed(const char* what) {
  return Status(Code::kCorrupt, std::string("it holds a malformed ") + what);
}

// An entry whose payload still lies in the body.
struct FoundEntry {
  raft::Entry entry;
  Slice payload;
};

bool take_entry(Slice& from, FoundEntry& found) {
  uint64_t size = 0;
  return take_varint(from, found.entry.term) && take_varint(from, found.entry.index) &&
         take_varint(from, size) && take_bytes(from, size, found.payload);
}

// Walks a body and hands entries to `on_entry` by reference.
template <typename OnEntry, typename OnOther>
Status walk(Slice body, OnEntry on_entry, OnOther on_other) {
  while (!body.empty()) {
    const auto tag = static_cast<uint8_t>(body.front());
    if (tag >= kEntryTag && tag <= kEntryTag + kEntryTypeMax) {
      body.remove_prefix(1);
      FoundEntry found;
      found.entry.type = static_cast<raft::EntryType>(tag - kEntryTag);
      if (!take_entry(body, found)) return malformed("entry");
      QUORATE_TRY(on_entry(found));
    } else {
      QUORATE_TRY(on_other(tag, body));
    }
  }
  return Status();
}

}  // namespace

uint32_t ChainSeed::value() const {
  char bytes[16];
  set_le(bytes, segment);
  set_le(bytes + 8, salt);
  return crc32c(Slice(bytes, sizeof bytes));
}

void encode_batch_header(BatchHeader& header, const ChainSeed& seed, char* to) {
  std::memset(to, 0, kBatchHeaderBytes);
  set_le(to + kMagicAt, kBatchMagic);
  set_le(to + kKindAt, static_cast<uint8_t>(header.kind));
  set_le(to + kBodyBytesAt, header.body_bytes);
  set_le(to + kBodyCrcAt, header.body_crc);
  set_le(to + kSegmentAt, header.segment);
  set_le(to + kNumberAt, header.number);
  set_le(to + kVouchesAt, header.vouches);
  set_le(to + kPreviousAt, header.previous);
  header.checksum = header_checksum(to, seed);
  set_le(to + kChecksumAt, header.checksum);
}

std::optional<BatchHeader> decode_batch_header(const char* from, const ChainSeed& seed) {
  if (get_le<uint32_t>(from + kMagicAt) != kBatchMagic) return std::nullopt;
  BatchHeader header;
  header.checksum = get_le<uint32_t>(from + kChecksumAt);
  if (header.checksum != header_checksum(from, seed)) return std::nullopt;
  header.kind = static_cast<BatchKind>(get_le<uint8_t>(from + kKindAt));
  header.body_bytes = get_le<uint32_t>(from + kBodyBytesAt);
  header.body_crc = get_le<uint32_t>(from + kBodyCrcAt);
  header.segment = get_le<uint64_t>(from + kSegmentAt);
  header.number = get_le<uint64_t>(from + kNumberAt);
  header.vouches = get_le<uint64_t>(from + kVouchesAt);
  header.previous = get_le<uint32_t>(from + kPreviousAt);
  if (header.segment != seed.segment) return std::nullopt;
  if (header.kind != BatchKind::kBatch && header.kind != BatchKind::kMark) return std::nullopt;
  return header;
}

void put_hard_state(std::string& to, const raft::HardState& state) {
  put_varint(to, state.term);
  put_le(to, state.vote);
  put_varint(to, state.commit);
}

bool take_hard_state(Slice& from, raft::HardState& state) {
  return take_varint(from, state.term) && take_le(from, state.vote) &&
         take_varint(from, state.commit);
}

void put_snapshot(std::string& to, const raft::SnapshotMeta& snapshot) {
  put_varint(to, snapshot.term);
  put_varint(to, snapshot.index);
  const raft::ConfState& conf = snapshot.conf_state;
  for (const auto* nodes :
       {&conf.voters, &conf.learners, &conf.voters_outgoing, &conf.learners_next})
    put_nodes(to, *nodes);
  to.push_back(conf.auto_leave ? 1 : 0);
}

bool take_snapshot(Slice& from, raft::SnapshotMeta& snapshot) {
  raft::ConfState& conf = snapshot.conf_state;
  if (!take_varint(from, snapshot.term) || !take_varint(from, snapshot.index)) return false;
  for (auto* nodes : {&conf.voters, &conf.learners, &conf.voters_outgoing, &conf.learners_next})
    if (!take_nodes(from, *nodes)) return false;
  uint8_t auto_leave = 0;
  if (!take_le(from, auto_leave) || auto_leave > 1) return false;
  conf.auto_leave = auto_leave == 1;
  return true;
}

void Batch::add(const raft::HardState& state) {
  const size_t before = text_.size();
  text_.push_back(kHardStateTag);
  put_hard_state(text_, state);
  body_bytes_ += text_.size() - before;
}

void Batch::add(const raft::SnapshotMeta& snapshot) {
  const size_t before = text_.size();
  text_.push_back(kSnapshotTag);
  put_snapshot(text_, snapshot);
  body_bytes_ += text_.size() - before;
}

void Batch::add(const raft::Entry& entry) {
  body_bytes_ += bytes_of(entry);
  text_.push_back(static_cast<char>(kEntryTag + static_cast<uint8_t>(entry.type)));
  put_varint(text_, entry.term);
  put_varint(text_, entry.index);
  put_varint(text_, entry.payload.size());
  if (entry.payload.size() <= kCopyBytesMax)
    text_.append(entry.payload.slice());
  else
    parts_.push_back({text_.size(), entry.payload});
}

uint64_t Batch::bytes_of(const raft::Entry& entry) {
  return 1 + varint_size(entry.term) + varint_size(entry.index) +
         varint_size(entry.payload.size()) + entry.payload.size();
}

uint64_t Batch::bytes_of(const raft::SnapshotMeta& snapshot) {
  std::string bytes;
  put_snapshot(bytes, snapshot);
  return 1 + bytes.size();
}

std::vector<Slice> Batch::parts() const {
  std::vector<Slice> parts;
  parts.reserve(2 * parts_.size() + 1);
  uint64_t text_begin = 0;
  for (const Part& part : parts_) {
    parts.push_back(Slice(text_).substr(text_begin, part.text_end - text_begin));
    parts.push_back(part.payload.slice());
    text_begin = part.text_end;
  }
  if (text_begin < text_.size()) parts.push_back(Slice(text_).substr(text_begin));
  return parts;
}

void Batch::clear() {
  text_.clear();
  parts_.clear();
  body_bytes_ = 0;
}

Status read_records(Slice body, RecordSink& sink) {
  size_t payload_bytes = 0;
  const auto measure = [&](const FoundEntry& found) {
    payload_bytes += Slab::rounded(found.payload.size());
    return Status();
  };
  const auto check = [](uint8_t tag, Slice& from) {
    raft::HardState state;
    raft::SnapshotMeta snapshot;
    from.remove_prefix(1);
    if (tag == kHardStateTag)
      return take_hard_state(from, state) ? Status() : malformed("hard state");
    if (tag == kSnapshotTag)
      return take_snapshot(from, snapshot) ? Status() : malformed("snapshot record");
    return Status(Code::kCorrupt, "it holds a record of the unknown type " + std::to_string(tag));
  };
  QUORATE_TRY(walk(body, measure, check));

  Slab slab(payload_bytes, nullptr);
  const auto hand_entry = [&](FoundEntry& found) {
    if (!found.payload.empty()) found.entry.payload = slab.copy(found.payload);
    return sink.on_entry(std::move(found.entry));
  };
  const auto hand_other = [&](uint8_t tag, Slice& from) {
    from.remove_prefix(1);
    if (tag == kHardStateTag) {
      raft::HardState state;
      take_hard_state(from, state);
      return sink.on_hard_state(state);
    }
    raft::SnapshotMeta snapshot;
    take_snapshot(from, snapshot);
    return sink.on_snapshot(std::move(snapshot));
  };
  return walk(body, hand_entry, hand_other);
}

}  // namespace quorate::wal
