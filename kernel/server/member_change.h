// SPDX-License-Identifier: Apache-2.0
// A client's change of members on its way to the log: is it safe to ask for now, and what does it
// say. The strict rules (--strict-reconfig-check) keep an operator from a change that would take
// the quorum away; whether a change is legal at all is decided where it is applied.
#pragma once

#include <cstdint>
#include <functional>

#include "apply/request.h"
#include "base/result.h"
#include "cluster/membership.h"
#include "server/raft_loop.h"

namespace quorate::server {

// A member must have been connected this long to count as one that is there.
inline constexpr uint64_t kHealthyAfterNs = 5'000'000'000;

// Since when this member is connected to another, monotonic; 0: it is not.
using ConnectedSince = std::function<uint64_t(uint64_t member)>;

// What the strict rules look at. All of it outlives the look.
struct ClusterHealth {
  const cluster::Membership* members = nullptr;
  uint64_t self = 0;
  uint64_t now_ns = 0;
  const ConnectedSince* connected_since = nullptr;  // empty: to nobody
};

// kNotEnoughStarted: the members that ever started would be no majority afterwards.
// kUnhealthyCluster: this member sees too few of them. A cluster of one may always grow.
Status check_strictly(const ClusterHealth& health, const apply::MemberAddOp& change);
// The same; a learner, and who is not connected, may always go.
Status check_strictly(const ClusterHealth& health, const apply::MemberRemoveOp& change);
Status check_strictly(const ClusterHealth& health, const apply::MemberPromoteOp& change);

// kBadMemberUrls: none, or one that is not http, https or unix with an address and nothing more.
Status check_peer_urls(const std::vector<Slice>& urls);

// What to propose, by `call`. unix_seconds enters the id of a new member.
ConfProposal propose_change(uint64_t call, const apply::MemberAddOp& change, int64_t unix_seconds);
ConfProposal propose_change(uint64_t call, const apply::MemberRemoveOp& change);
ConfProposal propose_change(uint64_t call, const apply::MemberUpdateOp& change);
// REQUIRES: learner is the member that is meant.
ConfProposal propose_promotion(uint64_t call, const cluster::Member& learner);

}  // namespace quorate::server
