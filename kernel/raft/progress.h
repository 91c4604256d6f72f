// SPDX-License-Identifier: Apache-2.0
// What a leader knows about one member's log, and how it feeds it.
#pragma once

#include <optional>

#include "raft/inflights.h"
#include "raft/types.h"

namespace quorate::raft {

// Probe: one MsgApp at a time, until the place is found where the logs agree. Replicate: a pipeline
// of MsgApps, `next` runs ahead of `match`. Snapshot: nothing is sent until the snapshot's end is
// reported or acknowledged.
enum class ProgressState : uint8_t { kProbe, kReplicate, kSnapshot };

// Invariants: 0 <= match < next; inflights is empty outside Replicate; pending_snapshot is 0
// outside Snapshot. Owned by the leader's Raft; made anew in each term.
class Progress {
 public:
  Progress(NodeId peer, Index first_probe, Inflights limits)
      : id(peer), next_(first_probe), inflights_(std::move(limits)) {}

  NodeId id;
  bool learner = false;
  bool recent_active = true;       // heard from since the last quorum check
  bool append_due = false;         // send a MsgApp even when it is empty
  bool load_asked = false;         // a LogWindow is on its way
  std::optional<LogSlice> window;  // loaded from the WAL; committed entries below the log's memory

  Index match() const { return match_; }
  Index next() const { return next_; }
  ProgressState state() const { return state_; }
  Index pending_snapshot() const { return pending_snapshot_; }
  Index told_commit() const { return told_commit_; }
  const Inflights& inflights() const { return inflights_; }

  // No entry may be sent now.
  bool paused() const;
  // An empty MsgApp may pass a full pipeline: its answer shows whether all of it was lost.
  bool may_ask() const { return state_ == ProgressState::kReplicate; }

  // A MsgApp went out that ends at next - 1 + `entries` and told `commit`.
  void sent(uint64_t entries, uint64_t bytes, Index commit);
  void told(Index commit);
  // The member has durably all up to `index`. False when that was known.
  bool acknowledged(Index index);
  // The member refused a MsgApp whose previous index was `previous`; the logs may agree at `hint`.
  // False when the answer is late and says nothing new.
  bool refused(Index previous, Index hint);
  // A probe was answered or surely lost: another may go.
  void unpause_probe() { probe_sent_ = false; }
  void pause_probe() { probe_sent_ = true; }

  void become_probe();
  void become_replicate();
  void become_snapshot(Index index);
  // Probes behind the snapshot that was under way.
  void snapshot_finished();

 private:
  void reset(ProgressState state);
  Index match_ = 0;
  Index next_;
  Index told_commit_ = 0;
  ProgressState state_ = ProgressState::kProbe;
  bool probe_sent_ = false;
  Index pending_snapshot_ = 0;
  Inflights inflights_;
};

const char* to_text(ProgressState state);  // StateProbe

}  // namespace quorate::raft
