// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "raft/raft.h"

namespace quorate::raft {

// A commit index beyond what the WAL was handed would name entries that a crash takes away.
HardState Raft::durable_hard_state() const {
  return {term_, vote_, std::min(log_.commit(), log_.handed())};
}

// Replies leave in order, each no earlier than the entries it promises. Entries that were cut
// since need no longer be waited for.
size_t Raft::replies_ready(Index handed) const {
  size_t ready = 0;
  while (ready < replies_.size() && std::min(replies_[ready].after, log_.last_index()) <= handed)
    ++ready;
  return ready;
}

bool Raft::append_due() const {
  const bool room = log_.in_progress_bytes() < config_.append_in_progress_bytes_max;
  return (log_.has_unstable() && room) || unstable_snapshot_ ||
         durable_hard_state() != handed_hard_state_ || replies_ready(log_.handed()) != 0;
}

bool Raft::has_ready() const {
  const bool appends =
      replicate_due_ && std::any_of(progress_.begin(), progress_.end(),
                                    [this](const Progress& peer) { return wants_append(peer); });
  return !messages_.empty() || !read_states_.empty() || !load_.empty() || appends ||
         read_round_due() || soft_state() != handed_soft_state_ || append_due() ||
         log_.has_committed(config_.committed_bytes_max);
}

Ready Raft::ready() {
  if (read_round_due()) start_read_round();
  if (std::exchange(replicate_due_, false)) replicate_all();
  Ready ready;
  if (soft_state() != handed_soft_state_) ready.soft_state = handed_soft_state_ = soft_state();
  ready.read_states = std::exchange(read_states_, {});
  ready.load = std::exchange(load_, {});
  release_replies();
  ready.messages = std::exchange(messages_, {});
  if (append_due()) make_append(ready.append);
  log_.take_committed(config_.committed_bytes_max, ready.committed);
  return ready;
}

// A reply that promises only what is durable already need not pass by the disk. Those to this node
// itself do all the same: it is the append's end that brings them back.
void Raft::release_replies() {
  const bool promised = term_ != handed_hard_state_.term || vote_ != handed_hard_state_.vote ||
                        log_.has_unstable() || unstable_snapshot_ || log_.oldest_append();
  if (promised) return;
  const auto own = [this](const Reply& reply) { return reply.message.to == config_.id; };
  if (std::any_of(replies_.begin(), replies_.end(), own)) return;
  for (Reply& reply : replies_) send(std::move(reply.message));
  replies_.clear();
}

void Raft::make_append(Append& append) {
  append.sequence = ++append_sequence_;
  append.term = term_;
  append.snapshot = std::exchange(unstable_snapshot_, std::nullopt);
  const uint64_t in_progress = log_.in_progress_bytes();
  uint64_t bytes = 0;
  if (log_.has_unstable() && in_progress < config_.append_in_progress_bytes_max)
    bytes = log_.hand_over(config_.append_in_progress_bytes_max - in_progress, append.entries);

  const HardState hard_state = durable_hard_state();
  const bool promise =
      hard_state.term != handed_hard_state_.term || hard_state.vote != handed_hard_state_.vote;
  if (hard_state != handed_hard_state_) append.hard_state = handed_hard_state_ = hard_state;
  append.must_sync = promise || !append.entries.empty() || append.snapshot;

  const size_t replies = replies_ready(log_.handed());
  append.replies.reserve(replies + 1);
  for (size_t i = 0; i < replies; ++i)
    append.replies.hold(std::move(replies_[i].message), append.sequence);
  replies_.erase(replies_.begin(), replies_.begin() + static_cast<std::ptrdiff_t>(replies));
  if (role_ == Role::kLeader && !append.entries.empty()) {
    // The leader counts itself when its own disk has the entries, like any other member.
    Message own = message_to(config_.id, MessageType::kMsgAppResp);
    own.index = log_.handed();
    append.replies.hold(std::move(own), append.sequence);
  }
  log_.append_started(append.sequence, term_, ticks_, bytes);
}

void Raft::append_done(const AppendDone& done) {
  QUORATE_CHECK(done.sequence <= append_sequence_, "the WAL answers an append it was not handed");
  log_.append_finished(done.sequence, done.term);
}

void Raft::apply_done(Index index, uint64_t bytes) {
  log_.apply_finished(index, bytes);
  maybe_leave_joint();
}

NodeStatus Raft::status() const {
  NodeStatus status;
  status.id = config_.id;
  status.hard_state = hard_state();
  status.soft_state = soft_state();
  status.applied = log_.applied();
  status.last_index = log_.last_index();
  status.transferee = transferee_;
  for (const Progress& peer : progress_)
    status.progress.push_back(
        {peer.id, peer.match(), peer.next(), peer.learner, peer.recent_active});
  return status;
}

}  // namespace quorate::raft
