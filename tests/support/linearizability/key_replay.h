// SPDX-License-Identifier: Apache-2.0
// Replays all that is known of one key in the order of revisions, and finds out which writes with
// unknown outcome must have taken effect in between, and where, so that every answer is right.
//
// An unknown write is placed only when an answer cannot be right without one: what nobody saw need
// not have been. Among choices it goes back (depth first, within a budget).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "support/linearizability/key_state.h"

namespace quorate::linearizability {

// What is known to have been at a revision. Events of a key are sorted by `at`; at the same
// revision writes and pins come before observations.
struct Event {
  enum Type : uint8_t {
    kWrite,    // `operation` took effect at `at`
    kPin,      // a write with unknown outcome did: `operation` saw it or compared with it
    kObserve,  // `operation` was answered from the state at `at`
  };
  int64_t at;
  uint32_t operation;
  Name key;
  Type type;
};

// A write with unknown outcome, which can stand only at a revision above `floor`.
struct Hidden {
  uint32_t operation;
  int64_t floor;
};

// That an unknown write stands at a revision in (above, at_most]; the chains of one replay are in
// order.
struct Placement {
  uint32_t operation;
  int64_t above;
  int64_t at_most;
  bool pinned;                       // at at_most, which is reserved for it
  std::vector<int64_t> not_at = {};  // what refused swaps met it compared with
};

class KeyReplay {
 public:
  enum class End : uint8_t {
    kExplained,
    kImpossible,  // no choice of unknown writes explains event failed()
    kGaveUp,      // the budget ended, or a case was left out
  };

  // hidden: sorted by floor. taken(m): whether the operation at revision m is known by sight. All
  // must outlive the object.
  KeyReplay(const History& history, std::span<const Event> events, std::span<const Hidden> hidden,
            const std::function<bool(int64_t)>& taken);

  End run();

  const std::vector<Placement>& placements() const { return placements_; }  // kExplained
  // The furthest event that was reached and not explained, and the state that it met.
  const Event& failed() const { return events_[failed_]; }
  const KeyState& met() const { return met_; }

 private:
  // Unknown writes (indexes of hidden_) to be placed one behind the other.
  using Plan = std::vector<uint32_t>;
  struct Choice {
    size_t event;
    KeyState state;
    size_t placed;
    size_t placed_at_write;
    Placement last_placed;  // where there is one; the plan may tell where it stands
    std::vector<Plan> plans;
    size_t next;
  };

  bool explained(const Event& event, const KeyState& state) const;
  std::vector<Plan> plans_for(size_t event, const KeyState& state, bool reuse);
  size_t explained_by(size_t event, const Plan& plan) const;
  void extend(size_t event, const KeyState& state, bool reuse, Plan* plan,
              std::vector<Plan>* plans);
  bool applies(const Operation& write, const KeyState& state, const Plan& plan) const;
  bool may_stand_at(int64_t revision, const Plan& plan) const;
  bool reaches(size_t event, const Operation& last, const KeyState& state) const;
  bool has_room(size_t event, const Hidden& hidden, const KeyState& made, bool last,
                size_t in_front) const;
  bool has_free(int64_t above, int64_t at_most, size_t needed) const;
  int64_t above(size_t event, const KeyState* made) const;
  int64_t at_most(const Event& event, bool last) const;
  void refuse_at(int64_t revision);
  void take(const Plan& plan);
  bool go_back();
  void release(size_t placed);

  const History& history_;
  std::span<const Event> events_;
  std::span<const Hidden> hidden_;
  const std::function<bool(int64_t)>& taken_;

  size_t event_ = 0;
  KeyState state_;
  std::vector<Placement> placements_;
  std::vector<uint32_t> placed_;  // indexes of hidden_, beside placements_
  std::vector<bool> used_;
  size_t placed_at_write_ = 0;  // placements when the state was last that of a known or seen write
  std::vector<Choice> choices_;
  bool left_out_ = false;
  size_t failed_ = 0;
  KeyState met_;
};

}  // namespace quorate::linearizability
