// SPDX-License-Identifier: Apache-2.0
// One snapshot on its way to a peer: a view of the engine, streamed a block a turn, in jobs of the
// reader pool, never two at once. The view stays open as long as that takes, since all of it must
// be of one index.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/log.h"
#include "env/env.h"
#include "mvcc/read_txn.h"
#include "plugin/transport.h"
#include "raft/message.h"
#include "server/member_state.h"
#include "storage/snapshot_stream.h"

namespace quorate::server {

inline constexpr uint64_t kSnapshotStallNs = 60'000'000'000;  // nothing taken: given up
inline constexpr uint64_t kSnapshotMemberWaitNs =
    10'000'000'000;  // until the engine knows the peer

class OutgoingSnapshot;

// Who hears of the end. Must only post.
class OutgoingOwner {
 public:
  virtual ~OutgoingOwner() = default;
  // Nothing names the snapshot any more but its jobs. Once. [pool or plugin thread]
  virtual void outgoing_ended(OutgoingSnapshot* snapshot, Code verdict) = 0;
};

class OutgoingSnapshot : public std::enable_shared_from_this<OutgoingSnapshot> {
 public:
  // All of it outlives this.
  struct Parts {
    Clock* clock = nullptr;
    Pool* pool = nullptr;
    plugin::Transport* transport = nullptr;
    const MemberState* state = nullptr;
    mvcc::ReadSource source;
    OutgoingOwner* owner = nullptr;
    Logger logger;
  };
  // request: a MsgSnap that raft wants sent.
  OutgoingSnapshot(const Parts& parts, const raft::Message& request);

  raft::NodeId to() const { return to_; }
  // The log behind this index is still needed by the receiver. 0: not known yet.
  raft::Index index() const { return index_.load(std::memory_order_acquire); }

  // Starts, or goes on. [any thread]
  void kick();
  // The transport's on_stream(). [plugin-thread]
  void on_stream(uint32_t event, Code code);
  // From time to time: goes on waiting, or gives up what stands still. [a loop]
  void look(uint64_t now_ns);
  void give_up(Code code);
  // Finishes the stream when the pool has stopped. [host thread]
  void end_now();

 private:
  friend class OutgoingJob;
  // One slice of work. True: there is more that can be done now.
  bool work();
  Result<bool> open();
  Result<bool> send_block();
  bool finish(Code code);
  void progressed() { progress_ns_.store(parts_.clock->now_ns(), std::memory_order_relaxed); }

  const Parts parts_;
  const raft::NodeId to_;
  const raft::Term term_;
  std::atomic<uint32_t> signals_{0};  // not 0: a job is on its way or running
  std::atomic<int32_t> given_up_{0};  // a Code; 0: wanted
  std::atomic<raft::Index> index_{0};
  std::atomic<uint64_t> progress_ns_;
  std::atomic<bool> waits_for_member_{false};

  // The running job's own.
  uint64_t started_ns_;
  std::optional<storage::SnapshotWriter> writer_;
  quorate_stream* stream_ = nullptr;
  Bytes block_;  // not yet taken
  bool more_ = true;
  bool finished_ = false;
  uint64_t bytes_ = 0;
};

}  // namespace quorate::server
