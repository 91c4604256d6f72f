// SPDX-License-Identifier: Apache-2.0
// The model of one key: what it holds, and what an operation makes of it.
#pragma once

#include "support/linearizability/history.h"
#include "support/linearizability/report.h"

namespace quorate::linearizability {

// The revision of a write that took effect, nobody was told where.
constexpr int64_t kFloating = -2;

struct KeyState {
  Name value = kAbsent;
  int64_t mod_revision = 0;   // 0 when absent
  uint32_t writer = kNobody;  // the operation that made it so

  bool present() const { return value != kAbsent; }
};

enum class Answer : uint8_t { kNo, kMaybe, kYes };

// Whether `state` is as a cas compares. kMaybe: that depends on where a floating write stands.
inline Answer compare(const Operation& cas, const KeyState& state) {
  const auto answer = [](bool yes) { return yes ? Answer::kYes : Answer::kNo; };
  if (cas.compare_mod == kNoRevision) return answer(cas.compare_value == state.value);
  if (cas.compare_mod == 0 || !state.present())
    return answer(!state.present() && cas.compare_mod == 0);
  if (state.mod_revision == kFloating) return Answer::kMaybe;
  return answer(cas.compare_mod == state.mod_revision);
}

// Whether an operation that was answered could have met `state`.
inline Answer allows(const Operation& operation, const KeyState& state) {
  switch (operation.kind) {
    case Kind::kPut: return Answer::kYes;
    case Kind::kDelete: return operation.effective == state.present() ? Answer::kYes : Answer::kNo;
    case Kind::kGet:
      if (operation.value != state.value) return Answer::kNo;
      if (operation.mod_revision == kNoRevision || operation.mod_revision == state.mod_revision)
        return Answer::kYes;
      return state.mod_revision == kFloating ? Answer::kMaybe : Answer::kNo;
    case Kind::kCas: break;
  }
  const Answer met = compare(operation, state);
  if (met == Answer::kMaybe) return met;
  return (met == Answer::kYes) == operation.effective ? Answer::kYes : Answer::kNo;
}

// What a write leaves behind, once it has taken effect.
inline KeyState after(const Operation& write, uint32_t index, int64_t revision) {
  if (write.kind == Kind::kDelete) return {kAbsent, 0, index};
  return {write.value, revision, index};
}

}  // namespace quorate::linearizability
