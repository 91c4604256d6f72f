// SPDX-License-Identifier: Apache-2.0
#include "storage/applied.h"

#include "base/coding.h"
#include "base/crc32c.h"

namespace quorate::storage {
namespace {

constexpr uint8_t kVersion = 1;

void put_nodes(std::string& to, const std::vector<raft::NodeId>& nodes) {
  put_varint(to, nodes.size());
  for (raft::NodeId node : nodes) put_le(to, node);
}

bool take_nodes(Slice& from, std::vector<raft::NodeId>& nodes) {
  uint64_t count = 0;
  if (!take_varint(from, count) || count > from.size() / sizeof(raft::NodeId)) return false;
  nodes.resize(count);
  for (raft::NodeId& node : nodes)
    if (!take_le(from, node)) return false;
  return true;
}

bool take_conf_state(Slice& from, raft::ConfState& state) {
  uint8_t auto_leave = 0;
  if (!take_nodes(from, state.voters) || !take_nodes(from, state.learners) ||
      !take_nodes(from, state.voters_outgoing) || !take_nodes(from, state.learners_next) ||
      !take_le(from, auto_leave) || auto_leave > 1) {
    return false;
  }
  state.auto_leave = auto_leave == 1;
  return true;
}

Status damaged() {
  return Status(Code::kCorrupt,
                "the record meta/applied is damaged; restore this member from a snapshot");
}

}  // namespace

std::string encode_applied(const Applied& applied) {
  std::string to;
  put_le(to, kVersion);
  put_le(to, applied.entry.term);
  put_le(to, applied.entry.index);
  put_le(to, applied.revision);
  put_le(to, applied.compact_scheduled);
  put_le(to, applied.compact_finished);
  put_le(to, applied.state_hash);
  put_nodes(to, applied.conf_state.voters);
  put_nodes(to, applied.conf_state.learners);
  put_nodes(to, applied.conf_state.voters_outgoing);
  put_nodes(to, applied.conf_state.learners_next);
  put_le(to, static_cast<uint8_t>(applied.conf_state.auto_leave));
  put_le(to, crc32c(to));
  return to;
}

Result<Applied> decode_applied(Slice bytes) {
  if (bytes.size() < sizeof(uint32_t)) return damaged();
  Slice body = bytes.substr(0, bytes.size() - sizeof(uint32_t));
  if (crc32c(body) != get_le<uint32_t>(body.data() + body.size())) return damaged();
  uint8_t version = 0;
  if (!take_le(body, version)) return damaged();
  if (version != kVersion) {
    return Status(Code::kUnsupported, "the record meta/applied has version " +
                                          std::to_string(version) + ", this program reads " +
                                          std::to_string(kVersion) + "; start a newer one");
  }
  Applied applied;
  if (!take_le(body, applied.entry.term) || !take_le(body, applied.entry.index) ||
      !take_le(body, applied.revision) || !take_le(body, applied.compact_scheduled) ||
      !take_le(body, applied.compact_finished) || !take_le(body, applied.state_hash) ||
      !take_conf_state(body, applied.conf_state) || !body.empty()) {
    return damaged();
  }
  return applied;
}

}  // namespace quorate::storage
