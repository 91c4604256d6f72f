// SPDX-License-Identifier: Apache-2.0
#include "raft/conf_change.h"

#include <algorithm>

#include "base/coding.h"

namespace quorate::raft {
namespace {

// format 1: u8 format, u8 transition, varint steps, each {u8 type, u64 node}; the rest is context.
constexpr uint8_t kFormat = 1;
constexpr size_t kStepBytes = 9;

void insert(std::vector<NodeId>& sorted, NodeId id) {
  const auto place = std::lower_bound(sorted.begin(), sorted.end(), id);
  if (place == sorted.end() || *place != id) sorted.insert(place, id);
}
void erase(std::vector<NodeId>& sorted, NodeId id) {
  const auto place = std::lower_bound(sorted.begin(), sorted.end(), id);
  if (place != sorted.end() && *place == id) sorted.erase(place);
}
bool contains(const std::vector<NodeId>& sorted, NodeId id) {
  return std::binary_search(sorted.begin(), sorted.end(), id);
}

size_t difference(const std::vector<NodeId>& a, const std::vector<NodeId>& b) {
  std::vector<NodeId> only_one;
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(),
                                std::back_inserter(only_one));
  return only_one.size();
}

Status invalid(const char* why) {
  return Status(Code::kInvalidArgument, std::string("cannot change the configuration: ") + why);
}

Result<ConfState> leave_joint(ConfState state) {
  if (state.voters_outgoing.empty()) return invalid("it is not joint, there is nothing to leave");
  for (NodeId id : state.learners_next) insert(state.learners, id);
  state.learners_next.clear();
  state.voters_outgoing.clear();
  state.auto_leave = false;
  return state;
}

void take_step(ConfState& state, const ConfChangeStep& step) {
  if (step.type == ConfChangeType::kUpdateNode) return;
  if (step.type != ConfChangeType::kAddNode) erase(state.voters, step.node);
  if (step.type != ConfChangeType::kAddLearner) erase(state.learners, step.node);
  if (step.type == ConfChangeType::kAddNode) insert(state.voters, step.node);
  if (step.type == ConfChangeType::kAddLearner) insert(state.learners, step.node);
}

// An outgoing voter counts until the joint state is left; only then may it be a learner.
void defer_demotions(ConfState& joint) {
  std::vector<NodeId> learners;
  for (NodeId id : joint.learners)
    insert(contains(joint.voters_outgoing, id) ? joint.learners_next : learners, id);
  joint.learners = std::move(learners);
}

bool known_type(uint8_t type) {
  return type <= static_cast<uint8_t>(ConfChangeType::kAddLearner);
}

}  // namespace

Bytes encode_conf_change(const ConfChange& change, Slice context) {
  std::string bytes;
  bytes.reserve(12 + change.steps.size() * kStepBytes + context.size());
  put_le(bytes, kFormat);
  put_le(bytes, static_cast<uint8_t>(change.transition));
  put_varint(bytes, change.steps.size());
  for (const ConfChangeStep& step : change.steps) {
    put_le(bytes, static_cast<uint8_t>(step.type));
    put_le(bytes, step.node);
  }
  bytes.append(context);
  return Bytes::take(std::move(bytes));
}

Result<DecodedConfChange> decode_conf_change(const Bytes& payload) {
  const Status corrupt(Code::kCorrupt, "an entry that changes the configuration is malformed");
  Slice rest = payload.slice();
  uint8_t format = 0, transition = 0;
  uint64_t steps = 0;
  if (!take_le(rest, format) || format != kFormat || !take_le(rest, transition) ||
      transition > static_cast<uint8_t>(ConfTransition::kJointExplicit) ||
      !take_varint(rest, steps) || steps > rest.size() / kStepBytes)
    return corrupt;
  DecodedConfChange decoded;
  decoded.change.transition = static_cast<ConfTransition>(transition);
  decoded.change.steps.resize(steps);
  for (ConfChangeStep& step : decoded.change.steps) {
    uint8_t type = 0;
    if (!take_le(rest, type) || !known_type(type) || !take_le(rest, step.node)) return corrupt;
    step.type = static_cast<ConfChangeType>(type);
  }
  decoded.context = payload.sub(payload.size() - rest.size(), rest.size());
  return decoded;
}

Result<ConfState> apply_conf_change(const ConfState& state, const ConfChange& change) {
  if (change.leaves_joint()) return leave_joint(state);
  if (!state.voters_outgoing.empty()) return invalid("it is joint and has to be left first");
  ConfState next = state;
  for (const ConfChangeStep& step : change.steps) {
    if (step.node == 0) return invalid("0 is no node");
    take_step(next, step);
  }
  if (next.voters.empty()) return invalid("no voter would remain");
  if (change.transition == ConfTransition::kAuto && difference(state.voters, next.voters) <= 1)
    return next;
  if (state.voters.empty()) return invalid("there is no configuration to leave from");
  next.voters_outgoing = state.voters;
  next.auto_leave = change.transition != ConfTransition::kJointExplicit;
  defer_demotions(next);
  return next;
}

}  // namespace quorate::raft
