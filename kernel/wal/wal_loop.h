// SPDX-License-Identifier: Apache-2.0
// Group commit. Everything that gathered while one sync ran becomes the next batch and one sync;
// then the replies that were waiting for it leave. When nothing came for a while the end is marked.
// The loop blocks on its own disk, so it has a thread to itself in production.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "env/loop.h"
#include "wal/wal.h"

namespace quorate::wal {

// Who is told. Called on the WAL loop; must only post.
class WalSink {
 public:
  virtual ~WalSink() = default;
  // These appends, in order, are durable, as `durable` proves. `replies` of all of them, in order,
  // let out by it: those addressed to this member go to its raft loop, the others to the transport.
  virtual void wal_synced(const raft::Durable& durable, std::vector<raft::AppendDone> done,
                          std::vector<raft::Message> replies) = 0;
  // The log cannot be written; nothing of it will be said durable any more. Once. The member must
  // stop with this sentence.
  virtual void wal_failed(const Status& status) = 0;
};

// For metrics. Called on the WAL loop after each sync.
class WalObserver {
 public:
  virtual ~WalObserver() = default;
  // duration_ns: of the write and the sync. bytes: what was written, padding included.
  virtual void wal_sync_observed(uint64_t duration_ns, uint64_t bytes) = 0;
};

struct ReleaseRequest {
  raft::Index durable = 0;
  raft::Index needed = 0;
};
// Asks where the log is being written, as of all that was posted before.
struct HeadRequest {
  std::function<void(const LogHead&)> answer;  // on the WAL loop; must only post
};
// What a pool job came to: a file that may serve as a spare, none (it was removed), or an error.
struct SpareMade {
  Result<std::optional<Spare>> spare;
};
struct SegmentRetired {
  bool for_reuse = false;
  Result<std::optional<Spare>> spare;
};
struct SegmentNamed {
  uint64_t number = 0;
  Status status;
};
using WalEvent = std::variant<raft::Append, ReleaseRequest, HeadRequest, SpareMade, SegmentRetired,
                              SegmentNamed>;

class WalLoop final : public Loop<WalEvent> {
 public:
  // env, executor, pool, sink and observer (may be null) outlive the loop; executor and pool are
  // stopped before it is destroyed.
  WalLoop(Env& env, Executor* executor, Pool* pool, std::unique_ptr<Wal> wal, WalSink* sink,
          WalObserver* observer, const Logger& logger);
  ~WalLoop() override;

  // REQUIRES: !append.empty(), and sequences in order. [any thread]
  void append(raft::Append append) { post(std::move(append)); }
  // Entries up to `durable` are in the engine to stay; those above `needed` may still be asked for,
  // by a follower or for an outgoing snapshot (needed <= durable; equal when nobody lags).
  // [any thread]
  void release(raft::Index durable, raft::Index needed) { post(ReleaseRequest{durable, needed}); }

  // The last call, when executor and pool have stopped: what was not synced is dropped, the end is
  // marked and synced.
  Status close();

 private:
  void on_turn(std::vector<WalEvent>& events) override;
  void take(raft::Append& append);
  void take(const ReleaseRequest& request);
  void take(HeadRequest& request) { head_requests_.push_back(std::move(request)); }
  void take(SpareMade& made);
  void take(SegmentRetired& retired);
  void take(const SegmentNamed& named);
  void add_spare(Result<std::optional<Spare>>& spare);
  void sync_and_tell();
  void mark_if_idle(bool worked);
  void make_spares();
  void name_next();
  void retire_next();
  void fail(const Status& status);

  Env& env_;
  Pool* const pool_;
  const std::unique_ptr<Wal> wal_;
  WalSink* const sink_;
  WalObserver* const observer_;
  const Logger logger_;

  std::vector<raft::AppendDone> done_;      // of this turn
  std::vector<raft::HeldReplies> replies_;  // of this turn
  std::vector<HeadRequest> head_requests_;  // of this turn
  bool failed_ = false;
  Status failure_;
  uint64_t mark_ns_;            // when to mark the end if nothing comes; 0: it is marked
  uint64_t mark_timer_ns_ = 0;  // of a turn that was asked for; 0: none
  int spares_in_making_ = 0;
  uint64_t spares_rest_until_ns_ = 0;  // after a failure
  std::deque<uint64_t> to_retire_;     // oldest first
  bool retiring_ = false;              // one at a time, so that they vanish in order
};

}  // namespace quorate::wal
