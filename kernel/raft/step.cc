// SPDX-License-Identifier: Apache-2.0
// Where what comes in is sorted by term, then by type and role.
#include <algorithm>

#include "base/check.h"
#include "raft/raft.h"
#include "raft/text.h"

namespace quorate::raft {
namespace {

// Events of the server; from the network they mean nothing.
bool is_local(const Message& message) {
  switch (message.type) {
    case MessageType::kMsgHup:
    case MessageType::kMsgBeat:
    case MessageType::kMsgUnreachable:
    case MessageType::kMsgSnapStatus:
    case MessageType::kMsgCheckQuorum: return true;
    default: return false;
  }
}
// These are handed on from member to member, so they belong to no term.
bool is_termless(const Message& message) {
  return message.type == MessageType::kMsgProp || message.type == MessageType::kMsgReadIndex;
}
bool is_reply(const Message& message) {
  return message.type == MessageType::kMsgAppResp || message.type == MessageType::kMsgVoteResp ||
         message.type == MessageType::kMsgPreVoteResp;
}

// The entries follow the previous one without a gap, and no term falls or is ahead of the sender.
bool is_a_run(const Message& message) {
  Term term = message.log_term;
  Index index = message.index;
  for (const Entry& entry : message.entries) {
    if (entry.index != ++index || entry.term < term || entry.term > message.term) return false;
    term = entry.term;
  }
  return true;
}

}  // namespace

Raft::Raft(const Config& config, InitialState given)
    : config_(config),
      random_(config.seed ^ (config.id * 0x9e3779b97f4a7c15)),
      term_(given.hard_state.term),
      vote_(given.hard_state.vote),
      log_(std::move(given.log), std::max(given.hard_state.commit, given.applied), given.applied,
           config.log_memory_bytes_max),  // the commit index is not synced on its own
      conf_(std::move(given.conf_state)),
      conf_index_(given.applied),
      handed_hard_state_(given.hard_state) {
  QUORATE_CHECK(config_.id != 0, "0 is no member's id");
  QUORATE_CHECK(config_.election_ticks > config_.heartbeat_ticks && config_.heartbeat_ticks > 0,
                "an election timeout must be longer than a heartbeat interval");
  QUORATE_CHECK(!config_.lease_reads || config_.check_quorum, "lease reads need check_quorum");
  QUORATE_CHECK(term_ >= log_.last().term, "the hard state is older than the log");
  become_follower(term_, 0);
}

Message Raft::message_to(NodeId to, MessageType type) const {
  Message message;
  message.type = type;
  message.to = to;
  message.from = config_.id;
  message.term = term_;
  return message;
}

void Raft::reply_when_durable(Message message) {
  // A later acknowledgement says all that an earlier one says.
  if (!replies_.empty() && message.type == MessageType::kMsgAppResp && !message.reject) {
    Message& last = replies_.back().message;
    if (last.type == message.type && !last.reject && last.to == message.to &&
        last.term == message.term && last.index <= message.index) {
      last.index = message.index;
      replies_.back().after = log_.last_index();
      return;
    }
  }
  replies_.push_back({std::move(message), log_.last_index()});
}

Status Raft::step(Message message) {
  if (message.to != config_.id || is_local(message)) return {};
  if (message.type == MessageType::kMsgLogLoaded) {
    handle_log_loaded(message);
    return {};
  }
  if (message.from == config_.id && !is_reply(message)) return {};
  if (message.type == MessageType::kMsgApp && !is_a_run(message)) {
    config_.logger.warn("dropped {} from {}: its entries do not follow one another",
                        message_type_name(message.type), message.from);
    return {};
  }
  if (!concerns_this_term(message)) return {};
  switch (message.type) {
    case MessageType::kMsgVote:
    case MessageType::kMsgPreVote: handle_vote_request(message); break;
    case MessageType::kMsgVoteResp:
    case MessageType::kMsgPreVoteResp: handle_vote_reply(message); break;
    case MessageType::kMsgApp:
    case MessageType::kMsgHeartbeat:
    case MessageType::kMsgSnap: note_leader_alive(message.from); [[fallthrough]];
    default:
      if (role_ == Role::kLeader) {
        step_leader(message);
      } else {
        step_follower(message);
      }
  }
  return {};
}

bool Raft::concerns_this_term(const Message& message) {
  if (is_termless(message)) return true;
  if (message.term == term_) return true;
  if (message.term < term_) {
    answer_older_term(message);
    return false;
  }
  if (is_vote_request(message)) {
    if (in_lease() && !message.force) return false;
    if (message.type == MessageType::kMsgPreVote) return true;
  }
  // A granted pre-vote carries the term that was asked for, which nobody has reached.
  if (message.type == MessageType::kMsgPreVoteResp && !message.reject) return true;
  become_follower(message.term, is_from_leader(message) ? message.from : 0);
  return true;
}

void Raft::answer_older_term(const Message& message) {
  if (message.type == MessageType::kMsgSnap) {
    // What was applied once stays true, whoever leads by now.
    handle_snapshot(message);
  } else if (is_from_leader(message) || message.type == MessageType::kMsgPreVote) {
    // A leader left behind must learn the term, or a member with a higher one could never rejoin:
    // with the lease in force it cannot make itself heard by a vote.
    Message reply = message_to(message.from, message.type == MessageType::kMsgPreVote
                                                 ? MessageType::kMsgPreVoteResp
                                                 : MessageType::kMsgAppResp);
    reply.reject = message.type == MessageType::kMsgPreVote;
    reply_when_durable(std::move(reply));
  }
}

void Raft::note_leader_alive(NodeId leader) {
  QUORATE_CHECK(role_ != Role::kLeader,
                "another member leads in this term; a vote was given twice");
  if (role_ != Role::kFollower || leader_ != leader) become_follower(term_, leader);
  election_elapsed_ = 0;
  heard_leader_ = ticks_;
  leader_reset_ = false;
}

void Raft::step_leader(Message& message) {
  switch (message.type) {
    case MessageType::kMsgProp:
      static_cast<void>(append_proposal(std::move(message.entries)));
      break;
    case MessageType::kMsgAppResp: handle_append_reply(message); break;
    case MessageType::kMsgHeartbeatResp: handle_heartbeat_reply(message); break;
    case MessageType::kMsgReadIndex: handle_read_index(message); break;
    case MessageType::kMsgTransferLeader: handle_transfer(message.from); break;
    default: break;
  }
}

void Raft::step_follower(Message& message) {
  switch (message.type) {
    case MessageType::kMsgApp: handle_append(message); break;
    case MessageType::kMsgHeartbeat: handle_heartbeat(message); break;
    case MessageType::kMsgSnap: handle_snapshot(message); break;
    case MessageType::kMsgTimeoutNow: handle_timeout_now(message); break;
    case MessageType::kMsgReadIndex: handle_read_index(message); break;
    case MessageType::kMsgReadIndexResp: handle_read_index_reply(message); break;
    case MessageType::kMsgProp:
      if (leader_ != 0 && leader_ != message.from) {
        message.to = leader_;
        send(std::move(message));
      }
      break;
    default: break;
  }
}

}  // namespace quorate::raft
