// SPDX-License-Identifier: Apache-2.0
// What a configuration decides: the index that a quorum has, and the outcome of a vote. In a joint
// configuration a decision needs a majority of both halves (thesis 4.3). Pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "raft/types.h"

namespace quorate::raft {

enum class VoteResult : uint8_t { kPending, kLost, kWon };

// The highest index that a majority of `acknowledged` has reached; sorts its argument. The largest
// Index for an empty set, so that an absent half of a joint configuration decides nothing.
Index majority_index(std::span<Index> acknowledged);

// The outcome among `voters` when `yes` have agreed and `no` have refused. An empty set is won.
VoteResult majority_vote(size_t voters, size_t yes, size_t no);

bool is_voter(const ConfState& state, NodeId id);    // in either half
bool is_learner(const ConfState& state, NodeId id);  // and not a voter as well
// All ids of the configuration, each once, sorted.
std::vector<NodeId> members_of(const ConfState& state);

namespace detail {
template <typename MatchOf>
Index half_index(const std::vector<NodeId>& voters, MatchOf&& match_of) {
  std::array<Index, 16> few;
  std::vector<Index> many;
  if (voters.size() > few.size()) many.resize(voters.size());
  const std::span<Index> matches =
      many.empty() ? std::span<Index>(few.data(), voters.size()) : std::span<Index>(many);
  for (size_t i = 0; i < voters.size(); ++i) matches[i] = match_of(voters[i]);
  return majority_index(matches);
}
template <typename VoteOf>
VoteResult half_vote(const std::vector<NodeId>& voters, VoteOf&& vote_of) {
  size_t yes = 0, no = 0;
  for (NodeId id : voters) {
    const std::optional<bool> vote = vote_of(id);
    if (vote) ++(*vote ? yes : no);
  }
  return majority_vote(voters.size(), yes, no);
}
}  // namespace detail

// The highest index that a quorum has. match_of(NodeId) -> Index, 0 for an unknown one.
template <typename MatchOf>
Index committed_index(const ConfState& state, MatchOf&& match_of) {
  return std::min(detail::half_index(state.voters, match_of),
                  detail::half_index(state.voters_outgoing, match_of));
}

// The outcome of a vote. vote_of(NodeId) -> std::optional<bool>, empty while it has not voted.
template <typename VoteOf>
VoteResult vote_result(const ConfState& state, VoteOf&& vote_of) {
  const VoteResult incoming = detail::half_vote(state.voters, vote_of);
  const VoteResult outgoing = detail::half_vote(state.voters_outgoing, vote_of);
  if (incoming == outgoing) return incoming;
  if (incoming == VoteResult::kLost || outgoing == VoteResult::kLost) return VoteResult::kLost;
  return VoteResult::kPending;
}

}  // namespace quorate::raft
