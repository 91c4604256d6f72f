// SPDX-License-Identifier: Apache-2.0
// The part of a member's log that is in memory, and how far each of the others has come with it.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "raft/entry_ring.h"
#include "raft/types.h"

namespace quorate::raft {

//   previous | entries in memory ................................................ | last
//            | applied <= applying <= commit                                      |
//            | stable <= handed                                                   |
//            |  durable here   in progress at the WAL    unstable                 |
//
// Invariants:
//   previous <= applied <= applying <= min(commit, stable); commit <= last; stable <= handed <=
//   last, except that a snapshot sets all but `applied` to its index until apply has installed it.
//   An entry at or below commit never changes.
//   uncommitted_bytes() is the payload of (commit, last], applying_bytes() that of what was handed
//   to apply and is not applied: both are 0 when nothing is under way.
// Owned by the Raft it is a member of.
class Log {
 public:
  // stored: what the WAL holds, all of it durable. REQUIRES: stored.previous.index <= applied <=
  // commit <= the last index.
  Log(LogSlice stored, Index commit, Index applied, uint64_t memory_bytes_max);

  EntryId previous() const { return previous_; }
  Index first_index() const { return previous_.index + 1; }
  Index last_index() const { return previous_.index + entries_.size(); }
  EntryId last() const { return entries_.empty() ? previous_ : entries_.back().id(); }
  Index commit() const { return commit_; }
  Index applying() const { return applying_; }
  Index applied() const { return applied_; }
  Index stable() const { return stable_; }
  Index handed() const { return handed_; }
  uint64_t memory_bytes() const { return memory_bytes_; }
  static uint64_t memory_of(const Entry& entry) { return sizeof(Entry) + entry.payload.size(); }
  uint64_t uncommitted_bytes() const { return uncommitted_bytes_; }
  uint64_t applying_bytes() const { return applying_bytes_; }

  // Nothing outside [previous, last].
  std::optional<Term> term(Index index) const;
  bool matches(EntryId id) const { return term(id.index) == id.term; }
  // Paper 5.4.1: a log with this last entry may be voted for.
  bool is_up_to_date(EntryId last_of_candidate) const;
  // The highest index at or below `index` whose term is at or below `term`, but not below
  // previous: where two logs may still agree, when one of them has `term` at `index`.
  EntryId last_not_above(Index index, Term term) const;
  // REQUIRES: first_index() <= index <= last_index().
  const Entry& entry(Index index) const;
  // Copies entries from `first` on, as many as `bytes_max` of payload allow, but one at least.
  // Returns their payload.
  uint64_t copy(Index first, Index last, uint64_t bytes_max, std::vector<Entry>& to) const;

  // A leader's next entry.
  void append(Term term, EntryType type, Bytes payload);
  // A follower's (paper, figure 2, AppendEntries 2 to 4): false when `before` is not in the log;
  // else the log holds `entries` behind it, and what conflicts is gone.
  bool follow(EntryId before, std::vector<Entry>&& entries);
  // The log begins after `snapshot`, empty.
  void restore(EntryId snapshot);
  // REQUIRES: index <= last_index(). False when it was committed before.
  bool commit_to(Index index);

  // The configuration changes in the log that apply has not told the result of, oldest first.
  const std::deque<Index>& unapplied_conf_changes() const { return conf_changes_; }
  // REQUIRES: there is one.
  void conf_change_applied() { conf_changes_.pop_front(); }

  // Appends in progress.
  bool has_unstable() const { return handed_ < last_index(); }
  uint64_t in_progress_bytes() const { return in_progress_bytes_; }
  // Hands unstable entries over, up to bytes_max but one at least; returns their payload.
  uint64_t hand_over(uint64_t bytes_max, std::vector<Entry>& to);
  // What was handed over just now, `bytes` of payload or nothing, is on its way as this append.
  void append_started(uint64_t sequence, Term term, uint64_t tick, uint64_t bytes);
  // This append and all before it are durable. Those of its entries that were cut meanwhile are
  // not: an entry with the same term and index may have been appended anew since, so only the
  // hand-over says which one is durable, never (term, index) (etcd raft, the ABA note).
  void append_finished(uint64_t sequence, Term term);
  // When the oldest append in progress was started, and where it ends.
  struct AppendInProgress {
    uint64_t sequence;
    Term term;
    Index last;  // falls when entries are cut
    uint64_t bytes;
    uint64_t tick;
  };
  const AppendInProgress* oldest_append() const {
    return appends_.empty() ? nullptr : &appends_.front();
  }
  // Of the newest append in progress that holds payload; 0: none does.
  uint64_t newest_append_bytes() const {
    for (auto append = appends_.rbegin(); append != appends_.rend(); ++append)
      if (append->bytes != 0) return append->bytes;
    return 0;
  }

  // Committed and durable entries, for apply.
  bool has_committed(uint64_t bytes_max) const;
  void take_committed(uint64_t bytes_max, std::vector<Entry>& to);
  void apply_finished(Index index, uint64_t bytes);

 private:
  void push(Entry entry);
  void cut_after(Index index);
  void trim();

  EntryId previous_;
  EntryRing entries_;
  Index commit_;
  Index applying_;
  Index applied_;
  Index stable_;
  Index handed_;
  const uint64_t memory_bytes_max_;
  uint64_t memory_bytes_ = 0;
  uint64_t uncommitted_bytes_ = 0;
  uint64_t applying_bytes_ = 0;
  uint64_t in_progress_bytes_ = 0;
  std::deque<AppendInProgress> appends_;
  std::deque<Index> conf_changes_;
};

}  // namespace quorate::raft
