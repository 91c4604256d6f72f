// SPDX-License-Identifier: Apache-2.0
// One member's consensus state (Raft paper, figure 2; thesis). RawNode is its public face; the
// functions are cut by subject: step.cc sorts what comes in, election.cc, replicate.cc,
// snapshot.cc, membership.cc, leader_transfer.cc and read_index.cc act, ready.cc hands out.
//
// Events only change the state and note what is due; messages to peers that depend on a whole turn
// (appends, read rounds) are made once, in ready().
#pragma once

#include <utility>
#include <vector>

#include "base/random.h"
#include "raft/log.h"
#include "raft/progress.h"
#include "raft/quorum.h"
#include "raft/raw_node.h"
#include "raft/read_only.h"

namespace quorate::raft {

// Invariants: term and commit never fall; vote changes only with the term, or from nobody; leader()
// is this node exactly while role() is kLeader; progress() holds the members of conf_state(), and
// is empty but for a leader. NodeInvariants (invariants.h) checks these and more.
class Raft {
 public:
  Raft(const Config& config, InitialState state);

  // RawNode's events.
  void tick(uint64_t passed);
  Status step(Message message);
  Status propose(std::span<const Bytes> payloads);
  Status propose_conf_change(const ConfChange& change, Bytes context);
  bool may_change_conf() const;
  void read_index(RequestId id);
  void transfer_leader(NodeId to);
  void campaign();
  void append_done(const AppendDone& done);
  void apply_done(Index index, uint64_t bytes);
  void conf_state_applied(Index index, const ConfState& state);
  void report_unreachable(NodeId peer);
  void report_peer_reset(NodeId peer);
  void report_peer_connected(NodeId peer);
  void report_snapshot(NodeId peer, SnapshotStatus status);
  bool has_ready() const;
  Ready ready();

  const Config& config() const { return config_; }
  NodeId id() const { return config_.id; }
  Term term() const { return term_; }
  NodeId vote() const { return vote_; }
  NodeId leader() const { return leader_; }
  Role role() const { return role_; }
  const Log& log() const { return log_; }
  const ConfState& conf_state() const { return conf_; }
  Index conf_index() const { return conf_index_; }
  const std::vector<Progress>& progress() const { return progress_; }
  HardState hard_state() const { return {term_, vote_, log_.commit()}; }
  SoftState soft_state() const { return {leader_, role_}; }
  NodeStatus status() const;

 private:
  enum class Campaign : uint8_t { kPreElection, kElection, kTransfer };
  // May leave when the log is handed over up to `after`, in the append that does so. A candidate's
  // MsgVotes are among them.
  struct Reply {
    Message message;
    Index after;
  };

  // step.cc
  bool concerns_this_term(const Message& message);
  void answer_older_term(const Message& message);
  void step_leader(Message& message);
  void step_follower(Message& message);
  void note_leader_alive(NodeId leader);
  Message message_to(NodeId to, MessageType type) const;
  void send(Message message) { messages_.push_back(std::move(message)); }
  void reply_when_durable(Message message);

  // election.cc
  void tick_election();
  void tick_leader();
  bool in_lease() const;
  bool vote_promised() const;
  bool may_campaign() const;
  bool campaign_may_win() const;
  void start_campaign(Campaign kind);
  void become_follower(Term term, NodeId leader);
  void become_candidate(Campaign kind);
  void become_leader();
  void reset(Term term);
  void handle_vote_request(const Message& message);
  void handle_vote_reply(const Message& message);
  bool quorum_active() const;

  // replicate.cc
  Status admit(uint64_t bytes) const;
  Status append_proposal(std::vector<Entry>&& entries);
  Status forward_proposal(std::vector<Entry>&& entries);
  void handle_append(Message& message);
  void handle_append_reply(const Message& message);
  void handle_heartbeat(const Message& message);
  void handle_heartbeat_reply(const Message& message);
  void send_heartbeats(RequestId context);
  void replicate_all();
  bool replicate_once(Progress& peer);
  bool wants_append(const Progress& peer) const;
  std::optional<EntryId> place_of(const Progress& peer) const;
  uint64_t copy_for(const Progress& peer, std::vector<Entry>& to) const;
  void ask_for_window(Progress& peer);
  void handle_log_loaded(Message& message);
  bool maybe_commit();
  bool committed_in_term() const { return log_.commit() >= term_start_; }

  // snapshot.cc
  void send_snapshot(Progress& peer);
  void handle_snapshot(const Message& message);
  bool restore(const SnapshotMeta& snapshot);

  // membership.cc
  Progress* find(NodeId id);
  const Progress* find(NodeId id) const;
  void make_progress();
  bool conf_change_pending() const;
  bool may_take_conf_change(const Bytes& payload) const;
  void switch_to(const ConfState& state);
  void maybe_leave_joint();

  // leader_transfer.cc
  bool may_lead_next(NodeId id) const;
  void handle_transfer(NodeId to);
  void tick_transfer();
  void handle_timeout_now(const Message& message);
  void maybe_finish_transfer(const Progress& peer);
  void abort_transfer() { transferee_ = 0; }
  void tick_stalled_append();
  bool append_stalled() const;
  uint64_t append_age() const;

  // read_index.cc
  bool read_round_due() const;
  bool has_read_lease() const;
  void start_read_round();
  void start_leader_round();
  uint64_t lease_ticks() const;
  void handle_read_index(const Message& message);
  void handle_read_index_reply(const Message& message);
  void ask_leader_for_index();
  void acknowledge_read(NodeId from, RequestId context);
  void finish_read_round_if_won();
  RequestId renewed_lease_round();
  void answer_reads(const std::vector<ReadRequest>& requests, Index index, bool ok);
  void fail_reads();
  void tick_reads();

  // ready.cc
  HardState durable_hard_state() const;
  size_t replies_ready(Index handed) const;
  bool append_due() const;
  void release_replies();
  void make_append(Append& append);

  Config config_;
  Random random_;
  Term term_;
  NodeId vote_;
  NodeId leader_ = 0;
  Role role_ = Role::kFollower;
  Log log_;
  ConfState conf_;
  Index conf_index_;  // conf_ is what all changes up to here have made

  uint64_t ticks_ = 0;
  uint64_t time_ = 0;          // in ticks, those missed in a pause included; for the lease alone
  uint64_t heard_leader_ = 0;  // in ticks_; the start stands for what was forgotten at it
  int election_elapsed_ = 0;   // ticks since the leader was heard; a leader: since the quorum check
  int heartbeat_elapsed_ = 0;
  int election_timeout_ = 0;   // of this round, by chance
  bool leader_reset_ = false;  // the leader's process is seen to be gone
  std::vector<std::pair<NodeId, bool>> votes_;

  std::vector<Progress> progress_;  // sorted by id
  Index term_start_ = 0;            // a leader's first entry of its term
  NodeId transferee_ = 0;
  uint64_t transfer_until_ = 0;  // in ticks_
  bool replicate_due_ = false;

  ReadOnly reads_;
  RequestId read_context_ = 0;
  uint64_t round_time_ = 0;   // when the round in flight began
  uint64_t lease_until_ = 0;  // in time_; lease_reads only
  bool lease_void_ = false;   // for the rest of the term

  std::vector<Message> messages_;
  std::vector<Reply> replies_;
  std::vector<ReadState> read_states_;
  std::vector<LogWindow> load_;
  std::optional<SnapshotMeta> unstable_snapshot_;
  uint64_t append_sequence_ = 0;
  HardState handed_hard_state_;
  SoftState handed_soft_state_;
};

}  // namespace quorate::raft
