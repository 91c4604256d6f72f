// SPDX-License-Identifier: Apache-2.0
// The rolling state hash after each of the entries that were applied last, so that members can be
// compared at an applied index that all of them have passed. A ring in memory: what was applied
// before the process started, or before a snapshot, is not there. Owned by the apply loop.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "raft/types.h"

namespace quorate::server {

class AppliedHashes {
 public:
  static constexpr raft::Index kKept = 8192;

  // Starts anew: `hash` is the state at `index`.
  void restart(raft::Index index, uint64_t hash) {
    first_ = last_ = index;
    at(index) = hash;
  }
  // index: the one after the last.
  void add(raft::Index index, uint64_t hash) {
    QUORATE_CHECK(index == last_ + 1, "entries are applied one after the other");
    last_ = index;
    if (last_ - first_ == kKept) ++first_;
    at(index) = hash;
  }
  raft::Index last() const { return last_; }
  // Nothing: not applied yet, or not kept any more.
  std::optional<uint64_t> find(raft::Index index) const {
    if (index < first_ || index > last_) return std::nullopt;
    return ring_[index % kKept];
  }

 private:
  uint64_t& at(raft::Index index) { return ring_[index % kKept]; }

  std::vector<uint64_t> ring_ = std::vector<uint64_t>(kKept);
  raft::Index first_ = 0, last_ = 0;  // last_ - first_ < kKept
};

}  // namespace quorate::server
