// SPDX-License-Identifier: Apache-2.0
#include "server/raft_loop.h"

#include <utility>

#include "base/check.h"

namespace quorate::server {
namespace {

template <typename T>
void append_all(std::vector<T>& to, std::vector<T>& from) {
  if (to.empty()) {
    to.swap(from);
    return;
  }
  for (T& item : from) to.push_back(std::move(item));
  from.clear();
}

}  // namespace

RaftLoop::RaftLoop(Executor* executor, Clock* clock, RaftOutput* output, raft::RawNode node,
                   raft::NodeId self, const raft::ConfState& conf_state, uint64_t tick_ms,
                   uint64_t first_read_id, Logger logger)
    : Loop(executor),
      clock_(clock),
      output_(output),
      node_(std::move(node)),
      self_(self),
      tick_ns_(tick_ms * 1'000'000),
      logger_(logger),
      next_read_id_(first_read_id) {
  note_configuration(conf_state);
}

void RaftLoop::note_configuration(const raft::ConfState& state) {
  alone_ = state.voters_outgoing.empty() && state.voters == std::vector<raft::NodeId>{self_};
}

void RaftLoop::start() {
  next_tick_ns_ = clock_->now_ns() + tick_ns_;
  wake();
  wake_at(next_tick_ns_);
}

void RaftLoop::on_turn(std::vector<RaftEvent>& events) {
  for (RaftEvent& event : events) take(event);
  tick_if_due();
  if (alone_ && node_.soft_state().leader == 0) node_.campaign();
  propose_waiting();
  start_read_round();
  bool changed = false;
  while (node_.has_ready()) {
    hand_over(node_.ready());
    changed = true;
    // A round that ended, or a leader that appeared, lets more work in.
    propose_waiting();
    start_read_round();
  }
  if (changed) output_->status_changed(node_.hard_state(), node_.soft_state());
}

void RaftLoop::take(RaftEvent& event) {
  if (auto* proposals = std::get_if<Proposals>(&event)) {
    append_all(waiting_proposals_, proposals->items);
  } else if (auto* conf = std::get_if<ConfProposal>(&event)) {
    waiting_conf_.push_back(std::move(*conf));
  } else if (auto* reads = std::get_if<ReadRequest>(&event)) {
    append_all(waiting_reads_, reads->waiters);
  } else if (auto* synced = std::get_if<WalSynced>(&event)) {
    for (raft::Message& reply : synced->replies) {
      // A local reply is never refused: it names this node and a term that was its own.
      if (Status status = node_.step(std::move(reply)); !status.ok()) {
        logger_.error("a local reply was refused: {}", status.to_string());
      }
    }
    for (const raft::AppendDone& done : synced->done) node_.append_done(done);
  } else if (auto* applied = std::get_if<Applied>(&event)) {
    node_.apply_done(applied->index, applied->bytes);
  } else {
    const auto& state = std::get<ConfApplied>(event);
    note_configuration(state.state);
    node_.conf_state_applied(state.index, state.state);
  }
}

void RaftLoop::tick_if_due() {
  const uint64_t now = clock_->now_ns();
  if (now < next_tick_ns_) return;
  node_.tick();
  // After a pause of the process the ticks it missed are not made up for: they would all fall into
  // one moment and look like silence of the others.
  next_tick_ns_ += tick_ns_;
  if (next_tick_ns_ <= now) next_tick_ns_ = now + tick_ns_;
  wake_at(next_tick_ns_);
  output_->ticked(now);
}

void RaftLoop::propose_waiting() {
  if (node_.soft_state().leader == 0) return;
  if (!waiting_proposals_.empty()) {
    std::vector<Proposal> proposals;
    proposals.swap(waiting_proposals_);
    std::vector<Bytes> payloads;
    payloads.reserve(proposals.size());
    for (const Proposal& proposal : proposals) payloads.push_back(proposal.payload);
    if (Status status = node_.propose(payloads); !status.ok()) {
      output_->proposals_refused(proposals, Code::kTooManyRequests);
    }
  }
  while (!waiting_conf_.empty()) {
    ConfProposal conf = std::move(waiting_conf_.front());
    waiting_conf_.pop_front();
    if (Status status = node_.propose_conf_change(conf.change, conf.context); !status.ok()) {
      output_->proposals_refused({Proposal{conf.request, {}}}, Code::kTooManyRequests);
    }
  }
}

void RaftLoop::start_read_round() {
  if (round_id_ != 0 || waiting_reads_.empty() || node_.soft_state().leader == 0) return;
  round_.swap(waiting_reads_);
  round_id_ = next_read_id_++;
  node_.read_index(round_id_);
}

void RaftLoop::finish_read_round(const raft::ReadState& state) {
  if (state.request != round_id_) return;
  round_id_ = 0;
  if (state.ok) {
    output_->reads_ready(state.index, std::exchange(round_, {}));
  } else {
    // The leader was lost meanwhile: the reads join the next round, or meet their deadline.
    append_all(round_, waiting_reads_);
    waiting_reads_ = std::exchange(round_, {});
  }
}

void RaftLoop::hand_over(raft::Ready ready) {
  if (!ready.messages.empty()) output_->send(std::move(ready.messages));
  if (!ready.append.empty()) output_->append(std::move(ready.append));
  if (ready.soft_state) note_role(*ready.soft_state);
  if (!ready.committed.empty()) output_->committed(std::move(ready.committed));
  for (const raft::ReadState& state : ready.read_states) finish_read_round(state);
  QUORATE_CHECK(ready.load.empty(), "a peer lags, and this member has none");
}

void RaftLoop::note_role(const raft::SoftState& state) {
  const bool led = soft_state_.role == raft::Role::kLeader;
  const bool leads = state.role == raft::Role::kLeader;
  soft_state_ = state;
  if (leads && !led) {
    const raft::Term term = node_.hard_state().term;
    logger_.info("this member leads since term {}", term);
    output_->leadership_started(term, node_.last_index());
  } else if (led && !leads) {
    logger_.warn("this member no longer leads");
    output_->leadership_ended();
  }
}

}  // namespace quorate::server
