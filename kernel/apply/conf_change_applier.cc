// SPDX-License-Identifier: Apache-2.0
#include "apply/conf_change_applier.h"

#include <string>

#include "apply/results.h"
#include "auth/auth_store.h"
#include "cluster/membership.h"
#include "mvcc/store.h"

namespace quorate::apply {

using cluster::Member;
using raft::ConfChangeType;
using storage::Bucket;

namespace {

// An add says so by the id that was made for it; one that meets a learner's id is no promotion.
bool promotes(const cluster::Membership& members, const EntryHeader& header,
              const raft::ConfChangeStep& step) {
  const Member* known = members.find(step.node);
  return header.prepared_id == 0 && step.type == ConfChangeType::kAddNode && known != nullptr &&
         known->learner;
}

Status check(const cluster::Membership& members, const raft::ConfChangeStep& step,
             const Member& member, bool promotion) {
  switch (step.type) {
    case ConfChangeType::kAddNode:
    case ConfChangeType::kAddLearner:
      return promotion ? members.check_promote(step.node) : members.check_add(member);
    case ConfChangeType::kRemoveNode: return members.check_remove(step.node);
    case ConfChangeType::kUpdateNode: return members.check_update(step.node, member.peer_urls);
  }
  return Status(Code::kInternal, "a change of configuration of an unknown kind");
}

}  // namespace

void ConfChangeApplier::set_conf_state(const raft::ConfState& next) {
  *parts_.conf_state = next;
  parts_.store->set_conf_state(next);
}

void ConfChangeApplier::store_member(uint64_t id) {
  parts_.store->put_small(Bucket::kMembers, cluster::id_text(id),
                          cluster::encode_member(*parts_.members->find(id)));
}

Status ConfChangeApplier::change_member(const EntryHeader& header, const raft::ConfChange& change,
                                        Slice member_json) {
  const raft::ConfChangeStep& step = change.steps.front();
  Result<Member> decoded = cluster::decode_member(member_json);
  if (!decoded || decoded->id != step.node) {
    return Status(Code::kInternal, "a change of configuration does not name its member");
  }
  Member member = *std::move(decoded);
  member.learner = step.type == ConfChangeType::kAddLearner;
  const bool promotion = promotes(*parts_.members, header, step);
  QUORATE_TRY(check(*parts_.members, step, member, promotion));
  const Result<raft::ConfState> next = raft::apply_conf_change(*parts_.conf_state, change);
  QUORATE_TRY(next.status());
  set_conf_state(*next);
  parts_.effects->members_changed = true;
  switch (step.type) {
    case ConfChangeType::kAddNode:
    case ConfChangeType::kAddLearner:
      if (promotion) {
        parts_.members->promote(step.node);
      } else {
        parts_.members->add(std::move(member));
      }
      store_member(step.node);
      break;
    case ConfChangeType::kUpdateNode:
      parts_.members->update(step.node, std::move(member.peer_urls));
      store_member(step.node);
      break;
    case ConfChangeType::kRemoveNode:
      parts_.members->remove(step.node);
      parts_.store->delete_small(Bucket::kMembers, cluster::id_text(step.node));
      parts_.store->put_small(Bucket::kMembersRemoved, cluster::id_text(step.node), "removed");
      break;
  }
  return Status();
}

Result<Reply> ConfChangeApplier::apply(const EntryContext& entry, const raft::ConfChange& change,
                                       Slice member_json) {
  if (change.steps.size() > 1) {
    return Status(Code::kInternal, "a change of configuration of several members at once");
  }
  const bool by_client = entry.header.request_id != 0 || !entry.header.user.empty();
  if (by_client) {
    QUORATE_TRY(parts_.auth->check_admin({entry.header.user, entry.header.auth_revision}));
  }
  if (change.steps.empty()) {
    const Result<raft::ConfState> next = raft::apply_conf_change(*parts_.conf_state, change);
    QUORATE_TRY(next.status());
    set_conf_state(*next);
  } else {
    QUORATE_TRY(change_member(entry.header, change, member_json));
  }
  if (!entry.wants_reply()) return Reply();
  // The header's revision is 0 in all answers about members.
  auto result = response_.start(*entry.reply_header, 0).initCluster();
  const bool adds = !change.steps.empty() && (change.steps[0].type == ConfChangeType::kAddNode ||
                                              change.steps[0].type == ConfChangeType::kAddLearner);
  if (adds) write_member(*parts_.members->find(change.steps[0].node), result.initMember());
  write_members(parts_.members->members(), result);
  return Reply{response_.finish()};
}

}  // namespace quorate::apply
