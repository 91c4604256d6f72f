// SPDX-License-Identifier: Apache-2.0
// The loop that decides. It owns the RawNode, the read-index rounds and what waits for a leader,
// and turns events into Ready after Ready; everything it hands out goes through RaftOutput, so a
// test drives it without the other loops. What only the leader can answer goes to wherever the
// leader is, here or at a peer.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <variant>
#include <vector>

#include "base/log.h"
#include "base/replay_window.h"
#include "cluster/member.h"
#include "env/loop.h"
#include "raft/raw_node.h"
#include "server/hasty_campaign.h"
#include "server/queue_depths.h"
#include "server/reads.h"
#include "server/tick_clock.h"

namespace quorate::server {

struct Proposal {
  uint64_t request = 0;      // the id of the call that waits for it; 0: nobody does
  Bytes payload;             // entry header and request, see apply/request.h
  uint64_t deadline_ns = 0;  // after it nobody waits, and it is not proposed any more; 0: none
};

struct ConfProposal {
  uint64_t request = 0;
  raft::ConfChange change;
  Bytes context;
  uint64_t deadline_ns = 0;  // after it nobody waits, and it is not proposed any more; 0: none
  bool promotes = false;     // only while the learner is close behind the leader, and by it alone
};

// Where members live: as the log says (Peers::set_members), or as others say (add_members).
struct PeerAddresses {
  std::vector<cluster::Member> members;
  std::vector<raft::NodeId> removed;
  bool logged = true;
};

// All [raft loop].
class RaftOutput {
 public:
  virtual ~RaftOutput() = default;
  virtual void append(raft::Append append) = 0;                  // to the WAL loop
  virtual void send(std::vector<raft::Message> messages) = 0;    // to the transport
  virtual void committed(std::vector<raft::Entry> entries) = 0;  // to the apply loop
  // The waiters may be served once `index` is applied.
  virtual void reads_ready(raft::Index index, std::vector<ReadWaiter> waiters) = 0;
  // These proposals were not taken, and nothing of them will take effect.
  virtual void proposals_refused(std::span<const Proposal> proposals, Code code) = 0;
  // This member leads since `term`; entries before `first` were there before it led.
  virtual void leadership_started(raft::Term term, raft::Index first) = 0;
  virtual void leadership_ended() = 0;
  // To the member that leads, which is not this one. What comes back without an answer is posted
  // again as LeaderRequest.
  virtual void ask_leader(raft::NodeId leader, std::vector<Question> questions) = 0;
  virtual void set_peers(const PeerAddresses& addresses) = 0;
  // Nobody can answer these here.
  virtual void questions_refused(std::vector<Question> questions, Code code) = 0;
  // Entries are wanted from the sealed segments; a MsgLogLoaded answers.
  virtual void load(const raft::LogWindow& window) = 0;
  // The MsgSnap that was posted is stepped. taken: its record goes to the log, and
  // snapshot_durable() follows; else raft has no use for it.
  virtual void snapshot_stepped(raft::EntryId snapshot, bool taken) = 0;
  // The record of a snapshot that a peer sent is durable: the store may be installed.
  virtual void snapshot_durable(const raft::SnapshotMeta& snapshot) = 0;
  // Once a tick: the first index that a known follower may still ask for; UINT64_MAX: nobody lags.
  virtual void log_needed(raft::Index index) = 0;
  // After each turn in which it changed.
  virtual void status_changed(const raft::HardState& hard, const raft::SoftState& soft) = 0;
  // Once a tick.
  virtual void ticked(uint64_t now_ns) = 0;
};

struct Proposals {
  std::vector<Proposal> items;
};
struct ReadRequest {
  std::vector<ReadWaiter> waiters;
};
struct LeaderRequest {
  std::vector<Question> questions;
  bool again = false;  // asked before in vain: wait for the next tick
};
// From peers, or made here in their name (MsgLogLoaded, MsgSnap). A MsgSnap names what this member
// has received whole; one that comes from a peer is only its word.
struct PeerMessages {
  std::vector<raft::Message> messages;
  uint64_t bytes = 0;  // as they were counted by offer()
};
struct PeerEvent {
  raft::NodeId peer = 0;
  uint32_t state = 0;  // QUORATE_PEER_*
};
struct SnapshotSent {
  raft::NodeId peer = 0;
  raft::SnapshotStatus status = raft::SnapshotStatus::kFailed;
};
struct TransferLeader {
  raft::NodeId to = 0;  // 0: the voter that has most of the log
};
struct WalSynced {
  raft::Durable durable;
  std::vector<raft::AppendDone> done;
  std::vector<raft::Message> replies;  // those addressed to this member
};
struct Applied {
  raft::Index index = 0;
  uint64_t bytes = 0;  // of payload, to be given back to the committed budget
};
struct ConfApplied {
  raft::Index index = 0;
  raft::ConfState state;
};

using RaftEvent =
    std::variant<Proposals, ConfProposal, ReadRequest, LeaderRequest, PeerMessages, PeerEvent,
                 SnapshotSent, PeerAddresses, TransferLeader, WalSynced, Applied, ConfApplied>;

// Ids of one start of a process: this many low bits count, the others are drawn, so that neither
// another start nor another member gives out the same.
inline constexpr int kStartIdCountBits = 40;

class RaftLoop final : public Loop<RaftEvent> {
 public:
  struct Parts {
    Clock* clock = nullptr;
    RaftOutput* output = nullptr;
    raft::NodeId self = 0;
    uint64_t tick_ms = 0;
    uint64_t first_read_id = 0;    // of read-index rounds and forwarded proposals, unique per start
    uint64_t seed = 0;             // of the haste after a leader's death
    uint64_t group_bytes_max = 0;  // of proposals, in one message to the leader
    uint64_t proposal_bytes_max = 0;  // posted and not yet taken by the node
    uint64_t peer_bytes_max = 0;      // posted and not yet stepped
    uint64_t request_bytes_max = 0;   // of one client
    Logger logger;
  };
  // clock, output: outlive the loop. conf_state: as of the applied index.
  RaftLoop(Executor* executor, const Parts& parts, raft::RawNode node,
           const raft::ConfState& conf_state);

  // The first tick comes one tick after the first turn, which this asks for. [host thread]
  void start();
  // Posts proposals, and counts them until the node has them or their deadline has passed. [any
  // thread]
  void propose(Proposals proposals);
  // Posts peer messages unless too many bytes of them wait already. False: not taken. [any thread]
  bool offer(PeerMessages messages);
  const raft::Raft& raft() const { return node_.inner(); }  // for tests, between turns
  // Whether so much waits, with `more` bytes, that no client should propose any. [any thread]
  bool proposals_full(uint64_t more) const {
    return proposal_bytes_.load(std::memory_order_relaxed) + more > parts_.proposal_bytes_max;
  }
  // What waits here. For tests. [between turns]
  void measure(QueueDepths& to) const;

 private:
  void on_turn(std::vector<RaftEvent>& events) override;
  void take(Proposals& event);
  void take(ConfProposal& event);
  void take(ReadRequest& event);
  void take(LeaderRequest& event);
  void take(PeerMessages& event);
  void take(PeerEvent& event);
  void take(SnapshotSent& event);
  void take(PeerAddresses& event);
  void take(TransferLeader& event);
  void take(WalSynced& event);
  void take(Applied& event);
  void take(ConfApplied& event);
  void step(raft::Message message);
  void number_proposals(std::vector<raft::Message>& messages);
  bool is_repeated(const raft::Message& message);
  void tick_if_due();
  void campaign_if_due();
  void note_haste(const raft::Message& message);
  void note_log_needed();
  raft::NodeId best_follower() const;
  void feed_node();
  void note_configuration(const raft::ConfState& state);
  void propose_waiting();
  std::span<const Proposal> propose_group(std::span<const Proposal> proposals);
  void refuse(uint64_t request, Code code);
  void drop_late_proposals(uint64_t now_ns);
  void propose_conf_changes();
  void queue_forwarded_changes(raft::Message& message);
  bool follows_closely(raft::NodeId learner) const;
  void ask_leader();
  void start_read_round();
  void finish_read_round(const raft::ReadState& state);
  void hand_over(raft::Ready ready);
  void note_role(const raft::SoftState& state);

  const Parts parts_;
  RaftOutput* const output_;
  raft::RawNode node_;
  TickClock ticks_;
  uint64_t ticked_ns_ = 0;  // the last one
  Logger logger_;
  HastyCampaign haste_;
  bool alone_ = false;  // the only voter: nobody else can lead, so it need not wait to be sure

  std::vector<Proposal> waiting_proposals_;  // for a leader
  std::deque<ConfProposal> waiting_conf_;
  std::vector<Question> waiting_questions_;  // for a leader
  std::vector<Question> questions_again_;    // for the next tick
  std::vector<ReadWaiter> waiting_reads_;    // for the next round
  std::vector<ReadWaiter> round_;            // in flight
  // A forwarded proposal that comes twice must not take effect twice.
  struct ForwardedFrom {
    uint64_t start = 0;  // of the member's process
    ReplayWindow numbers;
  };
  std::map<raft::NodeId, ForwardedFrom> forwarded_from_;
  uint64_t next_forwarded_;
  uint64_t next_read_id_;
  uint64_t round_id_ = 0;  // 0: no round in flight
  raft::SoftState soft_state_;
  std::deque<raft::SnapshotMeta> snapshots_;  // handed to the log, not durable yet
  std::vector<raft::EntryId> stepped_;        // snapshots of this turn

  std::atomic<uint64_t> proposal_bytes_{0};
  std::atomic<uint64_t> peer_bytes_{0};
};

}  // namespace quorate::server
