// SPDX-License-Identifier: Apache-2.0
// Giving leadership away (thesis 3.10): when asked, and when the own disk is stuck.
#include <algorithm>

#include "raft/raft.h"

namespace quorate::raft {

void Raft::transfer_leader(NodeId to) {
  if (role_ == Role::kLeader) {
    handle_transfer(to);
  } else if (leader_ != 0) {
    Message message = message_to(leader_, MessageType::kMsgTransferLeader);
    message.from = to;  // whom it concerns, not who asks
    send(std::move(message));
  }
}

// Neither a learner nor a voter on its way out.
bool Raft::may_lead_next(NodeId id) const {
  return std::binary_search(conf_.voters.begin(), conf_.voters.end(), id);
}

void Raft::handle_transfer(NodeId to) {
  Progress* peer = find(to);
  if (peer == nullptr || !may_lead_next(to) || to == config_.id || to == transferee_) return;
  transferee_ = to;
  transfer_until_ = ticks_ + static_cast<uint64_t>(config_.election_ticks);
  // TimeoutNow may be late by any time, and the votes that it brings about ignore the lease.
  lease_void_ = true;
  peer->append_due = true;
  replicate_due_ = true;
  maybe_finish_transfer(*peer);
}

// The quorum check goes on meanwhile: transfers asked for again and again must not keep a leader
// that nobody hears.
void Raft::tick_transfer() {
  if (transferee_ != 0 && ticks_ >= transfer_until_) abort_transfer();
}

void Raft::maybe_finish_transfer(const Progress& peer) {
  if (peer.id == transferee_ && peer.match() == log_.last_index())
    send(message_to(peer.id, MessageType::kMsgTimeoutNow));
}

void Raft::handle_timeout_now(const Message& message) {
  if (message.from == leader_ && may_campaign()) start_campaign(Campaign::kTransfer);
}

uint64_t Raft::append_age() const {
  const Log::AppendInProgress* oldest = log_.oldest_append();
  return oldest == nullptr ? 0 : ticks_ - oldest->tick;
}

bool Raft::append_stalled() const {
  return append_age() * 10 >= static_cast<uint64_t>(config_.election_ticks) * 7;
}

void Raft::tick_stalled_append() {
  // With nobody to take over, leaving would only add an election to the wait.
  const bool alone = std::all_of(progress_.begin(), progress_.end(), [this](const Progress& peer) {
    return peer.id == config_.id || peer.learner;
  });
  if (alone || !append_stalled()) return;
  if (append_age() >= static_cast<uint64_t>(config_.election_ticks)) {
    config_.logger.warn("stepped down in term {}: the disk has not finished an append for {} ticks",
                        term_, append_age());
    become_follower(term_, 0);
    return;
  }
  if (transferee_ != 0 || log_.commit() < log_.oldest_append()->last) return;
  const Progress* best = nullptr;
  for (const Progress& peer : progress_) {
    if (peer.id == config_.id || !may_lead_next(peer.id) || !peer.recent_active) continue;
    if (best == nullptr || peer.match() > best->match()) best = &peer;
  }
  if (best == nullptr) return;
  config_.logger.warn(
      "transfers leadership to {}: the disk has not finished an append for {} ticks", best->id,
      append_age());
  handle_transfer(best->id);
}

void Raft::report_peer_reset(NodeId peer) {
  report_unreachable(peer);
  // Lease reads trust that nobody votes within the lease, whatever happens to connections.
  if (peer == leader_ && !config_.lease_reads) leader_reset_ = true;
}

void Raft::report_peer_connected(NodeId peer) {
  if (peer == leader_) leader_reset_ = false;
}

}  // namespace quorate::raft
