// SPDX-License-Identifier: Apache-2.0
// The words of consensus. Plain values; the notation follows the Raft paper (Ongaro and Ousterhout,
// 2014) and etcd raft, so that dialogues written for one read on the other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace quorate::raft {

using Term = uint64_t;
using Index = uint64_t;
using NodeId = uint64_t;     // 0: nobody
using RequestId = uint64_t;  // of a read-index request; unique per member and start

struct EntryId {
  Term term = 0;
  Index index = 0;
  friend bool operator==(const EntryId&, const EntryId&) = default;
};

enum class EntryType : uint8_t { kNormal = 0, kConfChange = 1 };

// One entry of the log. The payload is shared: the WAL, the transport and apply use the same bytes.
struct Entry {
  Term term = 0;
  Index index = 0;
  EntryType type = EntryType::kNormal;
  Bytes payload;  // empty: the entry a new leader begins its term with
  EntryId id() const { return {term, index}; }
  friend bool operator==(const Entry&, const Entry&) = default;
};

// What must not be forgotten across a crash (paper, figure 2, persistent state) and, beside it, the
// commit index, which is a hint: it is not synced on its own.
struct HardState {
  Term term = 0;
  NodeId vote = 0;
  Index commit = 0;
  bool empty() const { return term == 0 && vote == 0 && commit == 0; }
  friend bool operator==(const HardState&, const HardState&) = default;
};

// A configuration; joint while voters_outgoing is not empty (thesis, 4.3). All lists are sorted.
struct ConfState {
  std::vector<NodeId> voters;
  std::vector<NodeId> learners;
  std::vector<NodeId> voters_outgoing;
  std::vector<NodeId> learners_next;  // voters that become learners when the joint state is left
  bool auto_leave = false;
  friend bool operator==(const ConfState&, const ConfState&) = default;
};

struct SnapshotMeta {
  Index index = 0;
  Term term = 0;
  ConfState conf_state;
  EntryId id() const { return {term, index}; }
  friend bool operator==(const SnapshotMeta&, const SnapshotMeta&) = default;
};

// A run of entries that follows `previous` without a gap: entries[i].index == previous.index + 1 +
// i, terms never fall. Made only by code that has checked this.
struct LogSlice {
  EntryId previous;
  std::vector<Entry> entries;
  EntryId last() const { return entries.empty() ? previous : entries.back().id(); }
};

enum class Role : uint8_t { kFollower, kPreCandidate, kCandidate, kLeader };

// May be forgotten in a crash.
struct SoftState {
  NodeId leader = 0;
  Role role = Role::kFollower;
  friend bool operator==(const SoftState&, const SoftState&) = default;
};

// The answer to a read_index(): reads of this request may be served once `index` is applied.
// A refused one (no leader, leadership lost before a quorum answered) carries ok = false.
struct ReadState {
  RequestId request = 0;
  Index index = 0;
  bool ok = true;
};

}  // namespace quorate::raft
