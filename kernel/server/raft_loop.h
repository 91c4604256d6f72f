// SPDX-License-Identifier: Apache-2.0
// The loop that decides. It owns the RawNode, the read-index rounds and what waits for a leader,
// and turns events into Ready after Ready; everything it hands out goes through RaftOutput, so a
// test drives it without the other loops.
#pragma once

#include <cstdint>
#include <deque>
#include <variant>
#include <vector>

#include "base/log.h"
#include "env/loop.h"
#include "raft/raw_node.h"
#include "server/reads.h"

namespace quorate::server {

struct Proposal {
  uint64_t request = 0;  // the id of the call that waits for it; 0: nobody does
  Bytes payload;         // entry header and request, see apply/request.h
};

struct ConfProposal {
  uint64_t request = 0;
  raft::ConfChange change;
  Bytes context;
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
  virtual void proposals_refused(const std::vector<Proposal>& proposals, Code code) = 0;
  // This member leads since `term`; entries before `first` were there before it led.
  virtual void leadership_started(raft::Term term, raft::Index first) = 0;
  virtual void leadership_ended() = 0;
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
struct WalSynced {
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
    std::variant<Proposals, ConfProposal, ReadRequest, WalSynced, Applied, ConfApplied>;

class RaftLoop final : public Loop<RaftEvent> {
 public:
  // clock, output: outlive the loop. conf_state: as of the applied index. first_read_id: of the
  // read-index rounds, unique per start.
  RaftLoop(Executor* executor, Clock* clock, RaftOutput* output, raft::RawNode node,
           raft::NodeId self, const raft::ConfState& conf_state, uint64_t tick_ms,
           uint64_t first_read_id, Logger logger);

  // The first tick is one tick from now. Once, before anything is posted. [host thread]
  void start();

 private:
  void on_turn(std::vector<RaftEvent>& events) override;
  void take(RaftEvent& event);
  void tick_if_due();
  void note_configuration(const raft::ConfState& state);
  void propose_waiting();
  void start_read_round();
  void finish_read_round(const raft::ReadState& state);
  void hand_over(raft::Ready ready);
  void note_role(const raft::SoftState& state);

  Clock* const clock_;
  RaftOutput* const output_;
  raft::RawNode node_;
  const raft::NodeId self_;
  const uint64_t tick_ns_;
  Logger logger_;
  uint64_t next_tick_ns_ = 0;
  bool alone_ = false;  // the only voter: nobody else can lead, so it need not wait to be sure

  std::vector<Proposal> waiting_proposals_;  // for a leader
  std::deque<ConfProposal> waiting_conf_;
  std::vector<ReadWaiter> waiting_reads_;  // for the next round
  std::vector<ReadWaiter> round_;          // in flight
  uint64_t next_read_id_;
  uint64_t round_id_ = 0;  // 0: no round in flight
  raft::SoftState soft_state_;
};

}  // namespace quorate::server
