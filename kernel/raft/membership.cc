// SPDX-License-Identifier: Apache-2.0
// The configuration: proposed here, computed by apply, installed here when apply says so (thesis,
// chapter 4).
#include <algorithm>

#include "base/check.h"
#include "raft/raft.h"
#include "raft/text.h"

namespace quorate::raft {

Progress* Raft::find(NodeId id) {
  return const_cast<Progress*>(std::as_const(*this).find(id));
}

const Progress* Raft::find(NodeId id) const {
  for (const Progress& peer : progress_)
    if (peer.id == id) return &peer;
  return nullptr;
}

void Raft::make_progress() {
  std::vector<Progress> old = std::exchange(progress_, {});
  for (NodeId id : members_of(conf_)) {
    const auto kept =
        std::find_if(old.begin(), old.end(), [&](const Progress& peer) { return peer.id == id; });
    if (kept != old.end()) {
      progress_.push_back(std::move(*kept));
    } else {
      progress_.emplace_back(id, log_.last_index() + 1,
                             Inflights(config_.inflight_messages_max, config_.inflight_bytes_max));
    }
    progress_.back().learner = is_learner(conf_, id);
  }
}

bool Raft::conf_change_pending() const {
  return !log_.unapplied_conf_changes().empty() || log_.applied() < conf_index_;
}

bool Raft::may_change_conf() const {
  return role_ == Role::kLeader && committed_in_term() && !conf_change_pending() &&
         conf_.voters_outgoing.empty();
}

bool Raft::may_take_conf_change(const Bytes& payload) const {
  if (conf_change_pending()) return false;
  const Result<DecodedConfChange> decoded = decode_conf_change(payload);
  return decoded && decoded->change.leaves_joint() == !conf_.voters_outgoing.empty();
}

Status Raft::propose_conf_change(const ConfChange& change, Bytes context) {
  std::vector<Entry> entries;
  entries.push_back({0, 0, EntryType::kConfChange, encode_conf_change(change, context.slice())});
  if (role_ == Role::kLeader) return append_proposal(std::move(entries));
  return forward_proposal(std::move(entries));
}

void Raft::conf_state_applied(Index index, const ConfState& state) {
  if (index <= conf_index_) return;  // a snapshot has gone past it
  const auto& changes = log_.unapplied_conf_changes();
  QUORATE_CHECK(!changes.empty() && changes.front() == index && index <= log_.applying(),
                "a configuration comes from an entry that changes none, or out of order");
  const Result<DecodedConfChange> decoded = decode_conf_change(log_.entry(index).payload);
  const Result<ConfState> expected =
      decoded ? apply_conf_change(conf_, decoded->change) : Result<ConfState>(decoded.error());
  QUORATE_CHECK(state == conf_ || (expected && state == *expected),
                "apply and raft compute different configurations");
  log_.conf_change_applied();
  conf_index_ = index;
  if (state == conf_) return;
  config_.logger.info("switched to configuration {}", to_text(state));
  switch_to(state);
}

void Raft::switch_to(const ConfState& state) {
  conf_ = state;
  if (role_ != Role::kLeader) return;
  make_progress();
  if (!is_voter(conf_, config_.id)) {
    // The others shall hear that the entry is committed before nobody leads them.
    replicate_all();
    become_follower(term_, 0);
    return;
  }
  if (!may_lead_next(transferee_)) abort_transfer();
  // Quorums overlap from one configuration to the next, no further.
  lease_until_ = 0;
  // The quorum may have shrunk.
  maybe_commit();
  finish_read_round_if_won();
  replicate_due_ = true;
}

void Raft::maybe_leave_joint() {
  if (role_ != Role::kLeader || !conf_.auto_leave || conf_.voters_outgoing.empty()) return;
  if (conf_change_pending()) return;
  log_.append(term_, EntryType::kConfChange, encode_conf_change({}, {}));
  replicate_due_ = true;
}

}  // namespace quorate::raft
