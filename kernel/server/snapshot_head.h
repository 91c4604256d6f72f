// SPDX-License-Identifier: Apache-2.0
// What the sender of a snapshot says before the first block, as the stream's meta. The bytes are in
// docs/formats-store.md.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "storage/applied.h"

namespace quorate::server {

struct SnapshotHead {
  uint64_t cluster_id = 0;
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t term = 0;         // of the leader that asked for it
  uint64_t store_bytes = 0;  // what the sender's store holds, about
  storage::Applied applied;  // what the stream will hold
  friend bool operator==(const SnapshotHead&, const SnapshotHead&) = default;
};

std::string encode_snapshot_head(const SnapshotHead& head);
// kCorrupt when the bytes are none that encode_snapshot_head wrote, kUnsupported for a newer form.
Result<SnapshotHead> decode_snapshot_head(Slice bytes);

}  // namespace quorate::server
