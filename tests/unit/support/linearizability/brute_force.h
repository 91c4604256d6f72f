// SPDX-License-Identifier: Apache-2.0
// Whether any order of at most a handful of operations explains all answers: tries them all.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "support/linearizability/key_state.h"

namespace quorate::linearizability {

class BruteForce {
 public:
  // with_revisions: header and modification revisions count, and others may write to other keys.
  BruteForce(const History& history, bool with_revisions)
      : operations_(history.operations), with_revisions_(with_revisions) {
    revisions_.resize(operations_.size(), kNoRevision);
    skipped_.resize(operations_.size(), false);
    placed_.resize(operations_.size(), false);
    revision_ = highest_ = history.start_revision;
    for (size_t i = 0; i < operations_.size(); ++i) {
      revisions_[i] = operations_[i].revision;
      highest_ = std::max(highest_, revisions_[i]);
      skipped_[i] = !operations_[i].done() && !operations_[i].may_have_effect();
    }
  }

  bool explained() { return choose_outcomes(0); }

 private:
  bool choose_outcomes(size_t index) {
    if (index == operations_.size()) return place_rest();
    if (operations_[index].done() || skipped_[index]) return choose_outcomes(index + 1);
    skipped_[index] = true;
    if (choose_outcomes(index + 1)) return true;
    skipped_[index] = false;
    if (!with_revisions_) return choose_outcomes(index + 1);
    for (revisions_[index] = 2; revisions_[index] <= highest_; ++revisions_[index])
      if (choose_outcomes(index + 1)) return true;
    return false;
  }

  bool place_rest() {
    bool all = true;
    for (size_t i = 0; i < operations_.size(); ++i) {
      if (placed_[i] || skipped_[i]) continue;
      all = false;
      if (may_be_next(i) && place(i)) return true;
    }
    return all;
  }

  bool may_be_next(size_t index) const {
    for (size_t i = 0; i < operations_.size(); ++i)
      if (!placed_[i] && !skipped_[i] && operations_[i].returned < operations_[index].invoked)
        return false;
    return true;
  }

  bool place(size_t index) {
    const Operation& operation = operations_[index];
    const KeyState before = keys_[operation.key];
    const int64_t revision_before = revision_;
    const bool writes = operation.has_effect() || !operation.done();
    if (!is_right(operation, before)) return false;
    if (with_revisions_) {
      if (writes ? revisions_[index] <= revision_ : revisions_[index] < revision_) return false;
      revision_ = revisions_[index];
    }
    if (writes) keys_[operation.key] = after(operation, 0, revisions_[index]);
    placed_[index] = true;
    if (place_rest()) return true;
    placed_[index] = false;
    keys_[operation.key] = before;
    revision_ = revision_before;
    return false;
  }

  bool is_right(const Operation& operation, const KeyState& state) const {
    if (operation.done()) return allows(operation, state) == Answer::kYes;
    if (operation.kind == Kind::kCas) return compare(operation, state) == Answer::kYes;
    return operation.kind == Kind::kPut || state.present();
  }

  const std::vector<Operation>& operations_;
  const bool with_revisions_;
  std::vector<int64_t> revisions_;
  std::vector<bool> skipped_, placed_;
  std::map<Name, KeyState> keys_;
  int64_t revision_, highest_;
};

}  // namespace quorate::linearizability
