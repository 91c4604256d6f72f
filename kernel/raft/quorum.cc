// SPDX-License-Identifier: Apache-2.0
#include "raft/quorum.h"

#include <functional>

namespace quorate::raft {
namespace {

bool contains(const std::vector<NodeId>& sorted, NodeId id) {
  return std::binary_search(sorted.begin(), sorted.end(), id);
}

}  // namespace

Index majority_index(std::span<Index> acknowledged) {
  if (acknowledged.empty()) return std::numeric_limits<Index>::max();
  std::sort(acknowledged.begin(), acknowledged.end(), std::greater<>());
  return acknowledged[acknowledged.size() / 2];
}

VoteResult majority_vote(size_t voters, size_t yes, size_t no) {
  if (voters == 0) return VoteResult::kWon;
  const size_t needed = voters / 2 + 1;
  if (yes >= needed) return VoteResult::kWon;
  return voters - no >= needed ? VoteResult::kPending : VoteResult::kLost;
}

bool is_voter(const ConfState& state, NodeId id) {
  return contains(state.voters, id) || contains(state.voters_outgoing, id);
}

bool is_learner(const ConfState& state, NodeId id) {
  return contains(state.learners, id) && !is_voter(state, id);
}

std::vector<NodeId> members_of(const ConfState& state) {
  std::vector<NodeId> ids = state.voters;
  for (const auto* list : {&state.voters_outgoing, &state.learners, &state.learners_next})
    ids.insert(ids.end(), list->begin(), list->end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace quorate::raft
