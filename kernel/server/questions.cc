// SPDX-License-Identifier: Apache-2.0
// The answers that the apply loop gives from what it owns.
#include <string>
#include <variant>

#include "server/apply_loop.h"
#include "server/version.h"

namespace quorate::server {
namespace {

capnp::Text::Reader text(const std::string& bytes) {
  return {bytes.c_str(), bytes.size()};
}

void fill_texts(capnp::List<capnp::Text>::Builder list, const std::vector<std::string>& texts) {
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, text(texts[i]));
}

void fill_member(schema::Member::Builder to, const cluster::Member& member) {
  to.setId(member.id);
  to.setName(text(member.name));
  fill_texts(to.initPeerUrls(static_cast<unsigned>(member.peer_urls.size())), member.peer_urls);
  fill_texts(to.initClientUrls(static_cast<unsigned>(member.client_urls.size())),
             member.client_urls);
  to.setLearner(member.learner);
}

// As etcd prints an AlarmMember, trailing blank included; clients show it as it is.
std::string alarm_text(const cluster::Alarm& alarm) {
  const char* type = alarm.type == cluster::AlarmType::kNoSpace ? "NOSPACE" : "CORRUPT";
  return "memberID:" + std::to_string(alarm.member) + " alarm:" + type + " ";
}

void fill_status(schema::StatusResult::Builder status, const MemberState& state,
                 const Config& config, const LoadedState& loaded) {
  const uint64_t leader = state.leader.load(std::memory_order_relaxed);
  status.setVersion(kServerVersion);
  status.setStorageVersion(kStorageVersion);
  status.setDbSize(static_cast<int64_t>(state.store_bytes()));
  const uint64_t in_use = state.engine_bytes_in_use.load(std::memory_order_relaxed) +
                          state.buffered_bytes.load(std::memory_order_relaxed);
  status.setDbSizeInUse(static_cast<int64_t>(in_use));
  status.setDbSizeQuota(static_cast<int64_t>(quota_bytes(config)));
  status.setLeader(leader);
  status.setRaftIndex(state.commit.load(std::memory_order_relaxed));
  status.setRaftTerm(state.term.load(std::memory_order_relaxed));
  status.setRaftAppliedIndex(state.applied.load(std::memory_order_relaxed));
  const cluster::Member* self = loaded.members.find(state.member_id);
  status.setLearner(self != nullptr && self->learner);
  status.setHashVerdict(static_cast<schema::HashVerdict>(state.hashes.verdict.load()));
  status.setHashIndex(state.hashes.compared_index.load());
  std::vector<std::string> errors;
  if (leader == 0) errors.push_back("etcdserver: no leader");
  for (const cluster::Alarm& alarm : loaded.alarms.list(cluster::AlarmType::kNone))
    errors.push_back(alarm_text(alarm));
  fill_texts(status.initErrors(static_cast<unsigned>(errors.size())), errors);
}

}  // namespace

void ApplyLoop::answer_question(const Question& question) {
  const int64_t revision = loaded_->store->revision();
  const apply::ReplyHeader header = parts_.state->header();
  if (parts_.state->fenced.load() && apply::uses_data(question.request))
    return complete(question.call, fenced_refusal(question.forwarded));
  if (const auto* op = question.request.get_if<apply::StateHashOp>())
    return answer_state_hash({question.call, question.deadline_ns}, op->index);
  if (const auto* op = question.request.get_if<apply::LeaseKeepAliveOp>())
    return keep_alive(question, op->id);
  if (const auto* op = question.request.get_if<apply::LeaseTimeToLiveOp>())
    return time_to_live(question, op->id, op->keys);
  if (const auto* op = question.request.get_if<apply::MoveLeaderOp>())
    return move_leader(question, op->target);
  if (apply::route(question.request) == apply::Route::kConfChange ||
      question.request.get_if<apply::MemberPromoteOp>())
    return change_members(question);

  if (question.request.get_if<apply::LeaseListOp>()) {
    const std::vector<int64_t> ids = loaded_->lessor.list();
    auto list = builder_.start(header, revision, ids.size() * 8)
                    .initLease()
                    .initLeases(static_cast<unsigned>(ids.size()));
    for (unsigned i = 0; i < list.size(); ++i) list.set(i, ids[i]);
  } else if (question.request.get_if<apply::MemberListOp>()) {
    const std::vector<cluster::Member> members = loaded_->members.members();
    // Cluster answers carry no revision, as etcd's.
    auto list =
        builder_.start(header, 0).initCluster().initMembers(static_cast<unsigned>(members.size()));
    for (unsigned i = 0; i < list.size(); ++i) fill_member(list[i], members[i]);
  } else if (question.request.get_if<apply::StatusOp>()) {
    fill_status(builder_.start(header, revision).initMaintenance().initStatus(), *parts_.state,
                *parts_.config, *loaded_);
  } else {
    return complete(question.call,
                    Status(Code::kUnsupported, "this member does not serve that request yet"));
  }
  complete(question.call, Code::kOk, builder_.finish());
}

}  // namespace quorate::server
