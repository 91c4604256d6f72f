// SPDX-License-Identifier: Apache-2.0
// Time, votes and roles (paper 5.2; thesis 9.6 pre-vote, 6.2 check-quorum).
#include <algorithm>

#include "base/check.h"
#include "raft/raft.h"
#include "raft/text.h"

namespace quorate::raft {

void Raft::tick(uint64_t passed) {
  ++ticks_;
  time_ += passed;
  if (role_ == Role::kLeader) {
    tick_leader();
  } else {
    tick_reads();
    tick_election();
  }
}

void Raft::tick_election() {
  if (++election_elapsed_ < election_timeout_ || !may_campaign()) return;
  start_campaign(config_.pre_vote ? Campaign::kPreElection : Campaign::kElection);
}

void Raft::tick_leader() {
  tick_transfer();
  tick_stalled_append();
  if (role_ != Role::kLeader) return;
  if (++election_elapsed_ >= config_.election_ticks) {
    election_elapsed_ = 0;
    if (config_.check_quorum && !quorum_active()) {
      config_.logger.warn("stepped down in term {}: no quorum has answered", term_);
      become_follower(term_, 0);
      return;
    }
    for (Progress& peer : progress_) peer.recent_active = false;
  }
  if (++heartbeat_elapsed_ >= config_.heartbeat_ticks) {
    heartbeat_elapsed_ = 0;
    // A lost heartbeat of the round in flight is made good by the next.
    send_heartbeats(renewed_lease_round());
  }
}

bool Raft::quorum_active() const {
  return vote_result(conf_, [this](NodeId id) -> std::optional<bool> {
           const Progress* peer = find(id);
           return id == config_.id || (peer != nullptr && peer->recent_active);
         }) == VoteResult::kWon;
}

bool Raft::in_lease() const {
  return vote_promised() || (config_.check_quorum && leader_ != 0 && !leader_reset_ &&
                             election_elapsed_ < config_.election_ticks);
}

// The promise that lease reads stand on outlives what this member knows of its leader: it may hear
// of a newer term, or be started anew, and has to keep what it said to the old one.
bool Raft::vote_promised() const {
  return config_.lease_reads &&
         ticks_ < heard_leader_ + static_cast<uint64_t>(config_.election_ticks);
}

bool Raft::may_campaign() const {
  // A committed configuration that is not in force yet could leave this node without a vote, or
  // with a quorum that is not the right one.
  const auto& changes = log_.unapplied_conf_changes();
  const bool conf_pending = !changes.empty() && changes.front() <= log_.commit();
  const bool installing = log_.previous().index > log_.applied();
  return role_ != Role::kLeader && is_voter(conf_, config_.id) && !conf_pending && !installing &&
         !append_stalled();
}

void Raft::campaign() {
  const bool leader_may_live =
      leader_ != 0 && !leader_reset_ && election_elapsed_ < config_.election_ticks;
  if (leader_may_live || vote_promised() || campaign_may_win() || !may_campaign()) return;
  start_campaign(config_.pre_vote ? Campaign::kPreElection : Campaign::kElection);
}

// One that is under way goes on, for starting over throws its votes away. But a candidate that was
// refused has met another: with a voter that is gone neither may win, nor ever hear that it lost.
// To ask for pre-votes anew costs no term, and late answers still count.
bool Raft::campaign_may_win() const {
  if (role_ == Role::kPreCandidate) return votes_.empty();
  return role_ == Role::kCandidate &&
         std::all_of(votes_.begin(), votes_.end(), [](const auto& vote) { return vote.second; });
}

void Raft::start_campaign(Campaign kind) {
  become_candidate(kind);
  const bool pre = kind == Campaign::kPreElection;
  const EntryId last = log_.last();
  for (NodeId id : members_of(conf_)) {
    if (!is_voter(conf_, id)) continue;
    Message message = message_to(id, pre ? MessageType::kMsgPreVote : MessageType::kMsgVote);
    message.term = pre ? term_ + 1 : term_;
    if (id == config_.id) {
      message.type = pre ? MessageType::kMsgPreVoteResp : MessageType::kMsgVoteResp;
      reply_when_durable(std::move(message));
      continue;
    }
    message.log_term = last.term;
    message.index = last.index;
    message.force = kind == Campaign::kTransfer;
    if (pre) {
      send(std::move(message));
    } else {
      // Term and log must be safe before they are named: after a crash this member could else ask
      // in the same term again, with a shorter log, and be elected by a late vote for the longer.
      reply_when_durable(std::move(message));
    }
  }
}

void Raft::reset(Term term) {
  QUORATE_CHECK(term >= term_, "the term would fall");
  if (term != term_) {
    term_ = term;
    vote_ = 0;
  }
  fail_reads();
  leader_ = 0;
  leader_reset_ = false;
  lease_until_ = 0;
  lease_void_ = false;
  election_elapsed_ = 0;
  heartbeat_elapsed_ = 0;
  const auto ticks = static_cast<uint64_t>(config_.election_ticks);
  election_timeout_ = config_.election_ticks + static_cast<int>(random_.below(ticks));
  votes_.clear();
  progress_.clear();
  term_start_ = 0;
  abort_transfer();
}

void Raft::become_follower(Term term, NodeId leader) {
  reset(term);
  role_ = Role::kFollower;
  leader_ = leader;
  config_.logger.info("{} became follower at term {}, leader {}", config_.id, term_, leader_);
}

void Raft::become_candidate(Campaign kind) {
  QUORATE_CHECK(role_ != Role::kLeader, "a leader campaigns");
  if (kind == Campaign::kPreElection) {
    reset(term_);
    role_ = Role::kPreCandidate;
  } else {
    reset(term_ + 1);
    role_ = Role::kCandidate;
    vote_ = config_.id;
  }
  config_.logger.info("{} became {} at term {}", config_.id, to_text(role_), term_);
}

void Raft::become_leader() {
  QUORATE_CHECK(role_ == Role::kCandidate, "only a candidate becomes leader");
  reset(term_);
  role_ = Role::kLeader;
  leader_ = config_.id;
  make_progress();
  for (Progress& peer : progress_) peer.recent_active = false;
  // Raft thesis 3.6.2: entries of older terms are committed by one of this term, so begin with one.
  log_.append(term_, EntryType::kNormal, {});
  term_start_ = log_.last_index();
  replicate_due_ = true;
  config_.logger.info("{} became leader at term {}", config_.id, term_);
  maybe_leave_joint();
}

void Raft::handle_vote_request(const Message& message) {
  const bool pre = message.type == MessageType::kMsgPreVote;
  const bool free =
      vote_ == message.from || (vote_ == 0 && leader_ == 0) || (pre && message.term > term_);
  // A learner votes too: it may have been promoted without knowing it yet, and the group could need
  // its vote to get so far as to tell it.
  const bool granted = free && log_.is_up_to_date({message.log_term, message.index});
  Message reply =
      message_to(message.from, pre ? MessageType::kMsgPreVoteResp : MessageType::kMsgVoteResp);
  if (granted) {
    reply.term = message.term;
    if (!pre) {
      election_elapsed_ = 0;
      vote_ = message.from;
    }
  }
  reply.reject = !granted;
  reply_when_durable(std::move(reply));
}

void Raft::handle_vote_reply(const Message& message) {
  const bool pre = message.type == MessageType::kMsgPreVoteResp;
  if (role_ != (pre ? Role::kPreCandidate : Role::kCandidate)) return;
  if (pre && !message.reject && message.term != term_ + 1) return;
  const auto known = std::find_if(votes_.begin(), votes_.end(),
                                  [&](const auto& vote) { return vote.first == message.from; });
  if (known == votes_.end()) votes_.emplace_back(message.from, !message.reject);
  const VoteResult result = vote_result(conf_, [this](NodeId id) -> std::optional<bool> {
    for (const auto& [voter, granted] : votes_)
      if (voter == id) return granted;
    return std::nullopt;
  });
  if (result == VoteResult::kLost) become_follower(term_, 0);
  if (result != VoteResult::kWon) return;
  if (pre) {
    start_campaign(Campaign::kElection);
  } else {
    become_leader();
  }
}

}  // namespace quorate::raft
