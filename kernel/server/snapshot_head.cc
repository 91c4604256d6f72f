// SPDX-License-Identifier: Apache-2.0
#include "server/snapshot_head.h"

#include <utility>

#include "base/coding.h"
#include "base/crc32c.h"

namespace quorate::server {
namespace {

constexpr uint8_t kVersion = 1;

Status damaged() {
  return Status(Code::kCorrupt, "the head of a snapshot is damaged");
}

}  // namespace

std::string encode_snapshot_head(const SnapshotHead& head) {
  std::string to;
  put_le(to, kVersion);
  put_le(to, head.cluster_id);
  put_le(to, head.from);
  put_le(to, head.to);
  put_le(to, head.term);
  put_le(to, head.store_bytes);
  to += storage::encode_applied(head.applied);
  put_le(to, crc32c(to));
  return to;
}

Result<SnapshotHead> decode_snapshot_head(Slice bytes) {
  uint32_t checksum = 0;
  if (bytes.size() < sizeof checksum) return damaged();
  Slice body = bytes.substr(0, bytes.size() - sizeof checksum);
  checksum = get_le<uint32_t>(body.data() + body.size());
  if (crc32c(body) != checksum) return damaged();
  uint8_t version = 0;
  if (!take_le(body, version)) return damaged();
  if (version != kVersion) {
    return Status(Code::kUnsupported, "the head of a snapshot has version " +
                                          std::to_string(version) + ", this member reads " +
                                          std::to_string(kVersion));
  }
  SnapshotHead head;
  if (!take_le(body, head.cluster_id) || !take_le(body, head.from) || !take_le(body, head.to) ||
      !take_le(body, head.term) || !take_le(body, head.store_bytes)) {
    return damaged();
  }
  Result<storage::Applied> applied = storage::decode_applied(body);
  if (!applied) return std::move(applied).error();
  head.applied = *std::move(applied);
  return head;
}

}  // namespace quorate::server
