// SPDX-License-Identifier: Apache-2.0
// Changes of members and of the leader: asked here, checked against what this member has applied,
// and handed to the raft loop.
#include <algorithm>
#include <utility>

#include "server/apply_loop.h"

namespace quorate::server {

Result<ConfProposal> ApplyLoop::plan_change(const Question& question) const {
  const cluster::Membership& members = loaded_->members;
  const bool strict = parts_.config->strict_reconfig_check;
  const ClusterHealth health{&members, parts_.state->member_id, parts_.clock->now_ns(),
                             &parts_.connected_since};
  if (const auto* add = question.request.get_if<apply::MemberAddOp>()) {
    QUORATE_TRY(check_peer_urls(add->peer_urls));
    if (strict) QUORATE_TRY(check_strictly(health, *add));
    return propose_change(question.call, *add, parts_.clock->wall_ms() / 1000);
  }
  if (const auto* remove = question.request.get_if<apply::MemberRemoveOp>()) {
    if (strict) QUORATE_TRY(check_strictly(health, *remove));
    return propose_change(question.call, *remove);
  }
  if (const auto* update = question.request.get_if<apply::MemberUpdateOp>()) {
    QUORATE_TRY(check_peer_urls(update->peer_urls));
    return propose_change(question.call, *update);
  }
  const auto& promote = *question.request.get_if<apply::MemberPromoteOp>();
  QUORATE_TRY(members.check_promote(promote.id));
  if (strict) QUORATE_TRY(check_strictly(health, promote));
  return propose_promotion(question.call, *members.find(promote.id));
}

void ApplyLoop::change_members(const Question& question) {
  Result<ConfProposal> proposal = plan_change(question);
  if (!proposal) {
    logger_.warn("a change of members is refused: {}", proposal.error().message());
    return complete(question.call, proposal.error());
  }
  proposal->deadline_ns = question.deadline_ns;
  parts_.output->raft(*std::move(proposal));
}

void ApplyLoop::move_leader(const Question& question, uint64_t target) {
  if (parts_.state->leader.load(std::memory_order_relaxed) != parts_.state->member_id)
    return complete(question.call, Status(Code::kNotLeader, "ask the member that leads"));
  const cluster::Member* member = loaded_->members.find(target);
  if (member == nullptr || member->learner)
    return complete(question.call,
                    Status(Code::kBadLeaderTransferee,
                           "member " + cluster::id_text(target) + " is no voter of this cluster"));
  leader_moves_.push_back({question.call, target, question.deadline_ns});
  if (target != parts_.state->member_id) parts_.output->raft(TransferLeader{target});
  answer_moved_leaders(parts_.clock->now_ns());
}

void ApplyLoop::answer_moved_leaders(uint64_t now_ns) {
  const uint64_t leader = parts_.state->leader.load(std::memory_order_relaxed);
  std::erase_if(leader_moves_, [&](const LeaderMove& move) {
    if (move.target == leader) {
      builder_.start(parts_.state->header(), loaded_->store->revision()).initMaintenance();
      complete(move.call, Code::kOk, builder_.finish());
    }
    return move.target == leader || move.deadline_ns <= now_ns;
  });
}

}  // namespace quorate::server
