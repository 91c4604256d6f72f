// SPDX-License-Identifier: Apache-2.0
#include "raft/progress.h"

#include <algorithm>

namespace quorate::raft {

bool Progress::paused() const {
  switch (state_) {
    case ProgressState::kProbe: return probe_sent_;
    case ProgressState::kReplicate: return inflights_.full();
    case ProgressState::kSnapshot: return true;
  }
  return true;
}

void Progress::sent(uint64_t entries, uint64_t bytes, Index commit) {
  if (state_ == ProgressState::kProbe) {
    probe_sent_ = true;
    return;
  }
  if (entries != 0) {
    next_ += entries;
    inflights_.add(next_ - 1, bytes);
  }
  told(std::min(commit, next_ - 1));
}

void Progress::told(Index commit) {
  told_commit_ = std::max(told_commit_, commit);
}

bool Progress::acknowledged(Index index) {
  probe_sent_ = false;
  next_ = std::max(next_, index + 1);
  inflights_.free_to(index);
  if (index <= match_) return false;
  match_ = index;
  if (window && match_ >= window->last().index) window.reset();
  return true;
}

bool Progress::refused(Index previous, Index hint) {
  if (state_ == ProgressState::kReplicate) {
    if (previous <= match_) return false;
    become_probe();
    return true;
  }
  // In Probe one message is out; an answer to any other is late.
  if (state_ != ProgressState::kProbe || next_ - 1 != previous) return false;
  next_ = std::max(std::min(previous, hint + 1), match_ + 1);
  probe_sent_ = false;
  return true;
}

void Progress::reset(ProgressState state) {
  state_ = state;
  probe_sent_ = false;
  pending_snapshot_ = 0;
  told_commit_ = 0;
  inflights_.clear();
}

void Progress::become_probe() {
  reset(ProgressState::kProbe);
  next_ = match_ + 1;
}

void Progress::become_replicate() {
  reset(ProgressState::kReplicate);
  next_ = match_ + 1;
}

void Progress::become_snapshot(Index index) {
  reset(ProgressState::kSnapshot);
  window.reset();
  pending_snapshot_ = index;
  next_ = std::max(match_, index) + 1;
}

void Progress::snapshot_finished() {
  const Index behind = std::max(match_, pending_snapshot_) + 1;
  reset(ProgressState::kProbe);
  next_ = behind;
}

const char* to_text(ProgressState state) {
  constexpr const char* kNames[] = {"StateProbe", "StateReplicate", "StateSnapshot"};
  return kNames[static_cast<size_t>(state)];
}

}  // namespace quorate::raft
