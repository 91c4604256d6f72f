// SPDX-License-Identifier: Apache-2.0
// Changes of the configuration as pure functions, called by raft when it proposes and by apply when
// an entry takes effect, so both compute the same (thesis, chapter 4).
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "raft/types.h"

namespace quorate::raft {

enum class ConfChangeType : uint8_t {
  kAddNode = 0,
  kRemoveNode = 1,
  kUpdateNode = 2,
  kAddLearner = 3
};

struct ConfChangeStep {
  ConfChangeType type = ConfChangeType::kAddNode;
  NodeId node = 0;
  friend bool operator==(const ConfChangeStep&, const ConfChangeStep&) = default;
};

// kAuto: simple when one voter changes at most, else joint with automatic leave.
enum class ConfTransition : uint8_t { kAuto = 0, kJointImplicit = 1, kJointExplicit = 2 };

// No steps and kAuto: leave the joint configuration.
struct ConfChange {
  ConfTransition transition = ConfTransition::kAuto;
  std::vector<ConfChangeStep> steps;
  bool leaves_joint() const { return transition == ConfTransition::kAuto && steps.empty(); }
  friend bool operator==(const ConfChange&, const ConfChange&) = default;
};

// The payload of a kConfChange entry: the change, then `context`, which raft never looks into.
Bytes encode_conf_change(const ConfChange& change, Slice context);
struct DecodedConfChange {
  ConfChange change;
  Bytes context;  // a part of the payload
};
// kCorrupt when the bytes are none that encode_conf_change wrote.
Result<DecodedConfChange> decode_conf_change(const Bytes& payload);

// The configuration after `change`. kInvalidArgument, with the reason, when it is not legal on
// `state`: then nothing changes.
Result<ConfState> apply_conf_change(const ConfState& state, const ConfChange& change);

}  // namespace quorate::raft
