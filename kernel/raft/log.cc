// SPDX-License-Identifier: Apache-2.0
#include "raft/log.h"

#include <algorithm>

#include "base/check.h"

namespace quorate::raft {

Log::Log(LogSlice stored, Index commit, Index applied, uint64_t memory_bytes_max)
    : previous_(stored.previous),
      commit_(commit),
      applying_(applied),
      applied_(applied),
      memory_bytes_max_(memory_bytes_max) {
  // Entries at or below commit are not counted as uncommitted by push().
  for (Entry& entry : stored.entries) push(std::move(entry));
  stable_ = handed_ = last_index();
  QUORATE_CHECK(previous_.index <= applied && applied <= commit && commit <= last_index(),
                "the log in the WAL does not reach what was applied and committed");
  while (!conf_changes_.empty() && conf_changes_.front() <= applied) conf_changes_.pop_front();
  trim();
}

std::optional<Term> Log::term(Index index) const {
  if (index == previous_.index) return previous_.term;
  if (index < previous_.index || index > last_index()) return std::nullopt;
  return entry(index).term;
}

bool Log::is_up_to_date(EntryId candidate) const {
  const EntryId own = last();
  return candidate.term > own.term || (candidate.term == own.term && candidate.index >= own.index);
}

EntryId Log::last_not_above(Index index, Term term) const {
  // Terms never fall along a log, so the place is found by halving.
  Index low = previous_.index, high = std::min(index, last_index());
  while (low < high) {
    const Index middle = low + (high - low + 1) / 2;
    if (entry(middle).term <= term) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return {*this->term(low), low};
}

const Entry& Log::entry(Index index) const {
  QUORATE_CHECK(index > previous_.index && index <= last_index(), "the entry is not in memory");
  return entries_[index - first_index()];
}

uint64_t Log::copy(Index first, Index last, uint64_t bytes_max, std::vector<Entry>& to) const {
  uint64_t bytes = 0;
  Index end = first;
  while (end <= last && (end == first || bytes + entry(end).payload.size() <= bytes_max))
    bytes += entry(end++).payload.size();
  to.reserve(to.size() + (end - first));
  for (Index i = first; i < end; ++i) to.push_back(entries_[i - first_index()]);
  return bytes;
}

void Log::append(Term term, EntryType type, Bytes payload) {
  QUORATE_CHECK(term >= last().term, "a leader appends an entry of an older term");
  push({term, last_index() + 1, type, std::move(payload)});
}

bool Log::follow(EntryId before, std::vector<Entry>&& entries) {
  if (!matches(before)) return false;
  size_t known = 0;
  while (known < entries.size() && matches(entries[known].id())) ++known;
  if (known == entries.size()) return true;
  if (entries[known].index <= last_index()) {
    QUORATE_CHECK(entries[known].index > commit_,
                  "a leader overwrites a committed entry; two histories exist in this cluster");
    cut_after(entries[known].index - 1);
  }
  for (; known < entries.size(); ++known) push(std::move(entries[known]));
  return true;
}

void Log::restore(EntryId snapshot) {
  QUORATE_CHECK(snapshot.index > commit_, "a snapshot would take back committed entries");
  while (!entries_.empty()) entries_.pop_back();
  memory_bytes_ = uncommitted_bytes_ = 0;
  conf_changes_.clear();
  for (AppendInProgress& append : appends_) append.last = 0;
  previous_ = snapshot;
  commit_ = applying_ = stable_ = handed_ = snapshot.index;
}

bool Log::commit_to(Index index) {
  QUORATE_CHECK(index <= last_index(),
                "a leader counts on entries that this member no longer has: its log was lost, so "
                "remove the member and add it anew");
  if (index <= commit_) return false;
  for (Index i = commit_ + 1; i <= index; ++i) uncommitted_bytes_ -= entry(i).payload.size();
  commit_ = index;
  return true;
}

uint64_t Log::hand_over(uint64_t bytes_max, std::vector<Entry>& to) {
  const size_t before = to.size();
  const uint64_t bytes = copy(handed_ + 1, last_index(), bytes_max, to);
  handed_ += to.size() - before;
  return bytes;
}

void Log::append_started(uint64_t sequence, Term term, uint64_t tick, uint64_t bytes) {
  appends_.push_back({sequence, term, handed_, bytes, tick});
  in_progress_bytes_ += bytes;
}

void Log::append_finished(uint64_t sequence, Term term) {
  while (!appends_.empty() && appends_.front().sequence <= sequence) {
    const AppendInProgress& done = appends_.front();
    QUORATE_CHECK(done.sequence != sequence || done.term == term,
                  "the WAL answers an append with another term than it was handed");
    stable_ = std::max(stable_, done.last);
    in_progress_bytes_ -= done.bytes;
    appends_.pop_front();
  }
}

bool Log::has_committed(uint64_t bytes_max) const {
  const bool installing = previous_.index > applied_;
  return !installing && applying_ < std::min(commit_, stable_) &&
         (applying_bytes_ == 0 ||
          applying_bytes_ + entry(applying_ + 1).payload.size() <= bytes_max);
}

void Log::take_committed(uint64_t bytes_max, std::vector<Entry>& to) {
  if (!has_committed(bytes_max)) return;
  const size_t before = to.size();
  applying_bytes_ += copy(applying_ + 1, std::min(commit_, stable_),
                          bytes_max - std::min(bytes_max, applying_bytes_), to);
  applying_ += to.size() - before;
}

void Log::apply_finished(Index index, uint64_t bytes) {
  QUORATE_CHECK(index <= applying_, "apply finished what it was not handed");
  if (index <= applied_) return;
  QUORATE_CHECK(conf_changes_.empty() || conf_changes_.front() > index,
                "apply passes a configuration change without telling its result");
  // What was handed out before a snapshot is given up by its installation.
  const bool installed = applied_ < previous_.index && index >= previous_.index;
  applied_ = index;
  applying_bytes_ =
      installed || applied_ == applying_ ? 0 : applying_bytes_ - std::min(bytes, applying_bytes_);
  trim();
}

void Log::push(Entry entry) {
  QUORATE_CHECK(entry.index == last_index() + 1, "an entry leaves a gap in the log");
  memory_bytes_ += memory_of(entry);
  if (entry.index > commit_) uncommitted_bytes_ += entry.payload.size();
  if (entry.type == EntryType::kConfChange) conf_changes_.push_back(entry.index);
  entries_.push_back(std::move(entry));
}

void Log::cut_after(Index index) {
  while (last_index() > index) {
    memory_bytes_ -= memory_of(entries_.back());
    uncommitted_bytes_ -= entries_.back().payload.size();
    entries_.pop_back();
  }
  while (!conf_changes_.empty() && conf_changes_.back() > index) conf_changes_.pop_back();
  for (AppendInProgress& append : appends_) append.last = std::min(append.last, index);
  handed_ = std::min(handed_, index);
  stable_ = std::min(stable_, index);
}

void Log::trim() {
  const Index keep_after = std::min(applied_, stable_);
  while (memory_bytes_ > memory_bytes_max_ && !entries_.empty() &&
         entries_.front().index <= keep_after) {
    memory_bytes_ -= memory_of(entries_.front());
    previous_ = entries_.front().id();
    entries_.pop_front();
  }
}

}  // namespace quorate::raft
