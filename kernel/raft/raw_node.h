// SPDX-License-Identifier: Apache-2.0
// The Raft state machine behind one value-in, value-out interface. Storage is always asynchronous:
// a Ready hands an Append to the WAL, and the replies that promise it travel with it, so nothing
// can be said before it is durable (Raft thesis 10.2.1; etcd raft, doc.go, asynchronous storage
// writes).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "raft/conf_change.h"
#include "raft/durable.h"
#include "raft/message.h"
#include "raft/types.h"

namespace quorate::raft {

struct Config {
  NodeId id = 0;             // not 0
  int election_ticks = 10;   // without a leader before a campaign, times 1 to 2 by chance
  int heartbeat_ticks = 1;   //
  bool pre_vote = true;      // thesis 9.6
  bool check_quorum = true;  // thesis 6.2: a leader that hears no quorum steps down
  // A leader answers reads without a round while a quorum has promised it its votes (thesis 6.4.1).
  // Needs check_quorum. ASSUMES that over an election timeout no member's ticks run ahead of
  // another's by more than one in eight, and that tick() is told of all time that is over: a clock
  // that stands still while others' go on (a suspended host, a migrated virtual machine) makes
  // stale reads. Nothing but reads leans on it. A member that starts sits out one election timeout
  // first, alone or not, for it does not know whom it had promised.
  bool lease_reads = false;
  uint64_t append_bytes_max = 1 << 20;        // payload bytes of one MsgApp
  uint64_t inflight_messages_max = 256;       // to one peer
  uint64_t inflight_bytes_max = 16 << 20;     // to one peer
  uint64_t uncommitted_bytes_max = 64 << 20;  // of the log's tail; above: kProposalDropped
  uint64_t append_in_progress_bytes_max = 16 << 20;
  uint64_t committed_bytes_max = 16 << 20;   // handed to apply and not applied yet
  uint64_t log_memory_bytes_max = 64 << 20;  // stable, applied entries beyond leave memory
  uint64_t seed = 1;                         // of the election timeouts
  Logger logger;
};

// What the WAL and the engine said at start.
struct InitialState {
  HardState hard_state;
  ConfState conf_state;  // as of `applied`
  Index applied = 0;     // the engine's applied index
  LogSlice log;  // what the WAL holds: base (release point, its term) and the entries after it
};

// What the WAL writes and syncs as one batch, in the order of hand-over.
struct Append {
  uint64_t sequence = 0;                 // of the hand-over: 1, 2, 3, ...; 0: nothing to append
  Term term = 0;                         // the node's term at the hand-over
  std::vector<Entry> entries;            // cut the log after entries.front().index - 1, then append
  std::optional<HardState> hard_state;   // when changed
  std::optional<SnapshotMeta> snapshot;  // the log now begins after it
  bool must_sync = false;                // false: a commit index alone
  HeldReplies replies;  // and requests for votes: may leave only when this is durable
  bool empty() const { return sequence == 0; }
};

// The WAL's answer to an Append.
struct AppendDone {
  uint64_t sequence = 0;
  Term term = 0;  // of the Append. Entries cut since the hand-over do not become stable (ABA)
  EntryId last;   // the last entry it held, {} for none
  std::optional<EntryId> snapshot;
};

// Entries wanted back from the WAL for a peer that lags further than memory reaches.
struct LogWindow {
  NodeId peer = 0;
  Index first = 0;
  uint64_t bytes_max = 0;
};

struct Ready {
  std::optional<SoftState> soft_state;  // when changed
  std::vector<Message> messages;        // may be sent at once
  Append append;
  std::vector<Entry> committed;  // durable here; to apply, in order
  std::vector<ReadState> read_states;
  std::vector<LogWindow> load;
};

enum class SnapshotStatus { kFinished, kFailed };

struct PeerProgress {
  NodeId id = 0;
  Index match = 0;
  Index next = 0;
  bool learner = false;
  bool recent_active = false;
};

struct NodeStatus {
  NodeId id = 0;
  HardState hard_state;
  SoftState soft_state;
  Index applied = 0;
  Index last_index = 0;
  NodeId transferee = 0;
  std::vector<PeerProgress> progress;  // on a leader, sorted by id
};

// One participant in a Raft group. Not thread-safe; does no I/O and reads no clock.
// Feed it events, then take ready() until has_ready() is false.
class RawNode {
 public:
  RawNode(const Config& config, InitialState state);
  ~RawNode();
  RawNode(RawNode&&) noexcept;

  // `passed` ticks of time are over; above 1 after a pause of the process. Timeouts count one: what
  // was not looked at is no silence of others. The lease of lease_reads counts all.
  void tick(uint64_t passed = 1);
  // From a peer, a local reply (of an Append, addressed to this node), or MsgLogLoaded. A message
  // that means nothing here (an older term, an unknown sender's answer) is dropped, and that is OK.
  Status step(Message message);
  // kProposalDropped: no leader, leadership being transferred, or over uncommitted_bytes_max;
  // nothing of it was taken. On a follower the proposal is forwarded.
  Status propose(std::span<const Bytes> payloads);
  // One at a time: while one is not applied, the entry becomes a no-op (thesis 4.1).
  Status propose_conf_change(const ConfChange& change, Bytes context);
  // On a leader: one proposed now would not meet another, nor come before this term's first entry
  // is committed.
  bool may_change_conf() const;
  // A ReadState with this id follows, once, ok or not.
  void read_index(RequestId id);
  void transfer_leader(NodeId to);
  // Pre-vote now, if no leader is known to live. A campaign that is under way goes on as long as
  // nobody has refused it.
  void campaign();
  // REQUIRES: durable reaches the append.
  void append_done(const AppendDone& done, const Durable& durable);
  // Entries up to `index` are applied; `bytes` of payload leave the apply budget. After a snapshot
  // (a stepped MsgSnap that came back as Append.snapshot) its index says that apply has swapped it
  // in; until then `committed` rests.
  void apply_done(Index index, uint64_t bytes);
  // The configuration as apply computed it for the entry at `index`; before apply_done of that
  // index.
  void conf_state_applied(Index index, const ConfState& state);
  void report_unreachable(NodeId peer);
  // Its process closed the connection: if it leads, it is taken to be gone.
  void report_peer_reset(NodeId peer);
  // There is a connection to it again: if it leads, its word holds as if none had been reset.
  void report_peer_connected(NodeId peer);
  void report_snapshot(NodeId peer, SnapshotStatus status);

  bool has_ready() const;
  // Hands the work over; from here it is in progress.
  Ready ready();

  NodeStatus status() const;
  HardState hard_state() const;
  SoftState soft_state() const;
  Index applied() const;
  Index last_index() const;
  // For invariants.h and tests: all of the state, to look at.
  const class Raft& inner() const;

 private:
  std::unique_ptr<class Raft> raft_;
};

}  // namespace quorate::raft
