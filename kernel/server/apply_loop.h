// SPDX-License-Identifier: Apache-2.0
// The loop that executes. It owns everything that committed entries change (store, leases, members,
// alarms, the chain over them) and what follows from a change at once (watchers, calls that wait,
// reads that wait for an index).
//
// A turn: news first (keep-alives before the clock that expires them), then committed entries in
// batches of at most 256 or 1 ms. After each batch the order is: publish the revision, then answer
// the callers and tell the watchers, so a client that has its answer can read its write.
//
// A snapshot from a peer takes the place of everything that the loop owns: it stops taking entries,
// the pool loads what the snapshot's generation holds, the commit loop makes that generation the
// live one, and then the loop swaps in one turn. Reads that have begun end on the old store.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "apply/chain.h"
#include "base/log.h"
#include "env/loop.h"
#include "server/applied_hashes.h"
#include "server/config.h"
#include "server/corruption_check.h"
#include "server/member_change.h"
#include "server/member_state.h"
#include "server/pending.h"
#include "server/pulls.h"
#include "server/raft_loop.h"
#include "server/reads.h"
#include "server/state.h"
#include "storage/commit_loop.h"
#include "watch/store_history.h"
#include "watch/watch_hub.h"

namespace quorate::server {

struct Committed {
  std::vector<raft::Entry> entries;
};
struct ReadsReady {
  raft::Index index = 0;
  std::vector<ReadWaiter> waiters;
};
struct Ask {  // answered now, from this member's own state
  std::vector<Question> questions;
};
// What the leader said to a question that was handed to it.
struct AnsweredByLeader {
  uint64_t call = 0;
  Code code = Code::kOk;
  Bytes response;
};
struct LeadershipStarted {
  raft::Term term = 0;
  raft::Index first = 0;
};
struct LeadershipEnded {};
struct Tick {
  uint64_t now_ns = 0;
};
// What a member said to a question of this one's.
struct StateHashAnswer {
  uint64_t round = 0;
  uint64_t member = 0;
  std::optional<uint64_t> hash;  // nothing: not heard, or it could not tell
};
struct EngineCommitted {
  storage::CommitDone done;
};
// The record of this snapshot is durable in the log, and its generation is complete.
struct InstallSnapshot {
  raft::EntryId snapshot;
};
// What the pool found in it.
struct SnapshotLoaded {
  Status status;
  std::unique_ptr<LoadedState> state;
  std::shared_ptr<storage::Engine> engine;
};
struct WatchOpen {
  watch::StreamId stream = 0;
  quorate_on_watch on_watch = nullptr;
  void* user = nullptr;
};
struct WatchAdd {
  watch::StreamId stream = 0;
  uint64_t watch = 0;
  Bytes request;
};
struct WatchCall {
  enum class Kind { kRemove, kProgress, kResume, kClose };
  Kind kind = Kind::kRemove;
  watch::StreamId stream = 0;
  uint64_t watch = 0;
};
struct CaughtUp {
  watch::CatchUpResult result;
};
struct PullOpen {
  uint64_t pull = 0;
  std::shared_ptr<Pull> object;
};
struct PullCall {
  enum class Kind { kStart, kCredit, kRewind, kClose };
  Kind kind = Kind::kCredit;
  uint64_t pull = 0;
  uint64_t bytes = 0;
};
struct CancelCall {
  uint64_t call = 0;
};
// Ends what is outstanding: streams, pulls, calls; then done() is called, on this loop, when the
// pool owes nothing any more.
struct WindDown {
  std::function<void()> done;
};

using ApplyEvent =
    std::variant<Committed, ReadsReady, Ask, AnsweredByLeader, LeadershipStarted, LeadershipEnded,
                 Tick, StateHashAnswer, EngineCommitted, InstallSnapshot, SnapshotLoaded, WatchOpen,
                 WatchAdd, WatchCall, CaughtUp, PullOpen, PullCall, CancelCall, WindDown>;

// What leaves the loop. All [apply loop]; must only post.
class ApplyOutput {
 public:
  virtual ~ApplyOutput() = default;
  virtual void raft(RaftEvent event) = 0;
  virtual void freeze(std::unique_ptr<storage::FrozenBuffer> buffer) = 0;
  // Opens the complete generation of this snapshot; SnapshotLoaded follows.
  virtual void load_snapshot(raft::EntryId snapshot, uint64_t epoch) = 0;
  // Makes it the live one, behind what is frozen; EngineCommitted of its epoch follows.
  virtual void switch_engine(std::shared_ptr<storage::Engine> engine, raft::Index applied) = 0;
  // It is installed: all that the loop has is the snapshot's.
  virtual void snapshot_installed(raft::EntryId snapshot) = 0;
  // The member cannot go on; the sentence says why. Once.
  virtual void apply_failed(const Status& status) = 0;
  // The member's own record (name and client URLs) has been applied.
  virtual void published() = 0;
  // Who belongs to the cluster as of the last batch; `removed` never come back. While old entries
  // are applied `members` is what it was then.
  virtual void members_changed(std::vector<cluster::Member> members,
                               std::vector<uint64_t> removed) = 0;
  // This member was removed from its cluster, a second ago: whoever asked for it has the answer.
  // Once.
  virtual void removed() = 0;
  // Asks each of round.ask for its state hash at round.index; a StateHashAnswer of each follows.
  virtual void ask_state_hashes(const CorruptionCheck::Round& round) = 0;
};

// Watches what is applied; for tests. [apply loop]
class ApplyObserver {
 public:
  virtual ~ApplyObserver() = default;
  // status: what a caller is told. store: with what the entry changed; the entry's own changes()
  // are the last ones.
  virtual void applied(const raft::Entry& entry, const Status& status,
                       const mvcc::Store& store) = 0;
  // A snapshot took the place of everything.
  virtual void installed(const mvcc::Store& store) = 0;
};

class ApplyLoop final : public Loop<ApplyEvent> {
 public:
  struct Parts {
    Clock* clock = nullptr;
    Pool* pool = nullptr;
    ApplyOutput* output = nullptr;
    MemberState* state = nullptr;
    PendingCalls* pending = nullptr;
    const Config* config = nullptr;
    ConnectedSince connected_since;  // any thread; empty: to nobody
    ApplyObserver* observer = nullptr;
    Logger logger;
  };
  // All of parts outlive the loop. loaded: what start found, with the store open.
  ApplyLoop(Executor* executor, const Parts& parts, std::unique_ptr<LoadedState> loaded);
  ~ApplyLoop() override;

  // What waits here. For tests. [between turns]
  void measure(QueueDepths& to) const;
  mvcc::ReadSource read_source() { return loaded_->store->read_source(); }
  // For an end without a wind-down, when every executor has stopped: each stream and pull hears
  // that it is over. [host thread]
  void close_streams();

 private:
  void on_turn(std::vector<ApplyEvent>& events) override;

  void take(Committed& event);
  void take(ReadsReady& event);
  void take(Ask& event);
  void take(AnsweredByLeader& event);
  void take(LeadershipStarted& event);
  void take(LeadershipEnded& event);
  void take(Tick& event);
  void take(StateHashAnswer& event);
  void take(EngineCommitted& event);
  void take(InstallSnapshot& event);
  void take(SnapshotLoaded& event);
  void take(WatchOpen& event);
  void take(WatchAdd& event);
  void take(WatchCall& event);
  void take(CaughtUp& event);
  void take(PullOpen& event);
  void take(PullCall& event);
  void take(CancelCall& event);
  void take(WindDown& event);

  apply::ChainParts chain_parts();
  void swap_in();
  void answer_compacted_by_snapshot();
  bool apply_backlog(uint64_t turn_start_ns);
  Status apply_batch();
  Status apply_entry(const raft::Entry& entry);
  void note_effects();
  void note_members();
  void note_learner();
  void start_pull(uint64_t pull);
  void answer_question(const Question& question);
  void keep_alive(const Question& question, int64_t lease);
  void time_to_live(const Question& question, int64_t lease, bool keys);
  Result<ConfProposal> plan_change(const Question& question) const;
  void change_members(const Question& question);
  void move_leader(const Question& question, uint64_t target);
  void answer_moved_leaders(uint64_t now_ns);
  void answer_released_keep_alives();
  void answer_physical_compactions();
  void serve_ready_reads();
  void freeze_if_due();
  void sweep_compacted();
  void expire_leases(uint64_t now_ns);
  void publish_member();
  void watch_quota(uint64_t now_ns);
  struct HashQuestion {
    uint64_t call;
    uint64_t deadline_ns;
  };
  void compare_state(uint64_t now_ns);
  void answer_state_hash(const HashQuestion& question, raft::Index index);
  void answer_waiting_hashes();
  void note_findings(const CorruptionCheck::Findings& findings);
  void raise_corrupt(uint64_t member);
  void note_fence();
  void step_aside(uint64_t now_ns);
  void hand_out_catch_ups();
  void propose(uint64_t request, Bytes payload);
  void complete(uint64_t call, Code code, Bytes response);
  void complete(uint64_t call, const Status& status);
  void fail(const Status& status);
  void finish_wind_down();

  const Parts parts_;
  Logger logger_;
  std::unique_ptr<LoadedState> loaded_;
  apply::Effects effects_;
  std::unique_ptr<apply::ApplierChain> chain_;  // over loaded_
  watch::ApplyHistory history_;
  watch::WatchHub hub_;
  apply::ResponseBuilder builder_;

  // A snapshot on its way in; while there is one no entry is applied and nothing is frozen.
  struct Installing {
    raft::EntryId snapshot;
    std::unique_ptr<LoadedState> state;  // once loaded
    uint64_t epoch = 0;                  // of its engine
  };
  std::optional<Installing> installing_;
  std::deque<raft::Entry> backlog_;
  bool failed_ = false;
  bool leads_ = false;
  raft::Index led_from_ = 0;  // first entry of the leadership
  std::multimap<raft::Index, std::vector<ReadWaiter>> waiting_reads_;
  std::vector<Completion> completions_;  // of this turn
  struct PhysicalCompaction {
    Completion completion;
    int64_t revision;
  };
  std::vector<PhysicalCompaction> physical_;
  std::map<uint64_t, std::shared_ptr<Pull>> pulls_;
  std::map<uint64_t, int64_t> waiting_keep_alives_;  // for a revoke: call to lease
  struct LeaderMove {
    uint64_t call;
    uint64_t target;
    uint64_t deadline_ns;
  };
  std::vector<LeaderMove> leader_moves_;  // that this member asked for and has not seen

  AppliedHashes hashes_;
  CorruptionCheck check_;
  std::multimap<raft::Index, HashQuestion> waiting_hashes_;  // for their index to be applied
  uint64_t stepped_aside_ns_ = 0;                            // when it was last tried
  size_t next_successor_ = 0;

  uint64_t freeze_wake_ns_ = 0;  // when the next freeze wakes the loop; 0: nothing waits for one
  uint64_t ticked_ns_ = 0;       // the last Tick
  uint64_t lease_tick_ns_ = 0;
  uint64_t progress_tick_ns_ = 0;
  uint64_t caught_up_ns_ = 0;  // when the backlog was last empty
  uint64_t publish_tried_ns_ = 0;
  uint64_t removed_ns_ = 0;  // when this member's removal was applied; 0: it belongs
  bool removal_told_ = false;
  int quota_readings_ = 0;
  uint64_t quota_reading_ns_ = 0;
  std::function<void()> wound_down_;
};

}  // namespace quorate::server
