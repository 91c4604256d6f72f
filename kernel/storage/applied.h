// SPDX-License-Identifier: Apache-2.0
// The record `meta/applied`: how far this store has come. It is the last operation of every batch,
// so data and index move together (docs/formats-store.md has the bytes).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "raft/types.h"
#include "storage/bucket.h"

namespace quorate::storage {

inline constexpr char kAppliedKey[] = "applied";

struct Applied {
  raft::EntryId entry;             // the last entry whose effects are in the store
  int64_t revision = 1;            // of the store after that entry
  int64_t compact_scheduled = -1;  // reads below it are refused; -1: never compacted
  int64_t compact_finished = -1;   // every revision that it drops is gone; <= compact_scheduled
  uint64_t state_hash = 0;         // over the logical content; equal on all members at equal index
  raft::ConfState conf_state;      // the configuration after that entry
  friend bool operator==(const Applied&, const Applied&) = default;
};

std::string encode_applied(const Applied& applied);
// kCorrupt when the bytes are none that encode_applied wrote.
Result<Applied> decode_applied(Slice bytes);

}  // namespace quorate::storage
