// SPDX-License-Identifier: Apache-2.0
// Linearizable reads (thesis 6.4). Reads that come while a round is in flight share the next one.
#include <algorithm>

#include "base/check.h"
#include "raft/raft.h"

namespace quorate::raft {

void Raft::read_index(RequestId id) {
  QUORATE_CHECK(id != 0, "0 is no read request's id");
  if (leader_ == 0) {
    read_states_.push_back({id, 0, false});
  } else {
    reads_.add({config_.id, id});
  }
}

bool Raft::read_round_due() const {
  // Before its first entry is committed a leader may not know the newest commit index (thesis 6.4).
  return (reads_.can_start() || (reads_.any_waiting() && has_read_lease())) &&
         (role_ != Role::kLeader || committed_in_term());
}

bool Raft::has_read_lease() const {
  return time_ < lease_until_ && !lease_void_;
}

void Raft::start_read_round() {
  if (role_ != Role::kLeader) {
    reads_.start(reads_.first_waiting(), 0, ticks_);
    ask_leader_for_index();
    return;
  }
  if (has_read_lease()) {
    answer_reads(reads_.take_waiting(), log_.commit(), true);
    return;
  }
  start_leader_round();
  finish_read_round_if_won();
  if (reads_.context() != 0) send_heartbeats(reads_.context());
}

void Raft::start_leader_round() {
  reads_.start(++read_context_, log_.commit(), ticks_);
  round_time_ = time_;
}

void Raft::ask_leader_for_index() {
  Message message = message_to(leader_, MessageType::kMsgReadIndex);
  message.term = 0;
  message.context = reads_.context();
  send(std::move(message));
}

RequestId Raft::renewed_lease_round() {
  if (config_.lease_reads && reads_.context() == 0 && committed_in_term()) {
    start_leader_round();
    finish_read_round_if_won();  // a sole voter waits for nobody
  }
  return reads_.context();
}

void Raft::acknowledge_read(NodeId from, RequestId context) {
  if (reads_.acknowledge(from, context)) finish_read_round_if_won();
}

// Whoever answered votes for nobody for an election timeout from then: two ticks less, for one had
// begun already and the next may follow a late one closely; and an eighth less, for clocks apart.
uint64_t Raft::lease_ticks() const {
  return static_cast<uint64_t>(std::max(0, config_.election_ticks - 2)) * 7 / 8;
}

void Raft::finish_read_round_if_won() {
  if (reads_.context() == 0) return;
  const VoteResult result = vote_result(conf_, [this](NodeId id) -> std::optional<bool> {
    if (id == config_.id || reads_.acknowledged_by(id)) return true;
    return std::nullopt;
  });
  if (result != VoteResult::kWon) return;
  if (config_.lease_reads) lease_until_ = round_time_ + lease_ticks();
  const Index index = reads_.index();
  answer_reads(reads_.finish(), index, true);
}

void Raft::handle_read_index(const Message& message) {
  if (role_ == Role::kLeader) {
    reads_.add({message.from, message.context});
  } else {
    answer_reads({{message.from, message.context}}, 0, false);
  }
}

void Raft::handle_read_index_reply(const Message& message) {
  if (message.context != 0 && message.context == reads_.context())
    answer_reads(reads_.finish(), message.index, !message.reject);
}

void Raft::answer_reads(const std::vector<ReadRequest>& requests, Index index, bool ok) {
  for (const ReadRequest& request : requests) {
    if (request.from == config_.id) {
      read_states_.push_back({request.id, index, ok});
      continue;
    }
    Message message = message_to(request.from, MessageType::kMsgReadIndexResp);
    message.index = index;
    message.context = request.id;
    message.reject = !ok;
    send(std::move(message));
  }
}

void Raft::fail_reads() {
  answer_reads(reads_.clear(), 0, false);
}

void Raft::tick_reads() {
  const auto interval = static_cast<uint64_t>(config_.election_ticks);
  // The same question again: an answer to either is good for all that share it.
  if (reads_.context() != 0 && leader_ != 0 && (ticks_ - reads_.started_at()) % interval == 0)
    ask_leader_for_index();
}

}  // namespace quorate::raft
