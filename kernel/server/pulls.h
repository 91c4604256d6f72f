// SPDX-License-Identifier: Apache-2.0
// A pull: a range of any size at one pinned revision, given in pieces and only against credit.
// After its head a pull's memory is the credit that the front-end granted, be the list 1 MiB or 1
// GiB.
//
// A pull does its work in jobs of the reader pool, never two at once; whoever has news for it (the
// apply loop, in the order of the front-end's calls) notes them in atomics and kicks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "apply/applier.h"
#include "apply/request.h"
#include "env/env.h"
#include "mvcc/read_txn.h"
#include "quorate/frontend.h"
#include "server/member_state.h"

namespace quorate::server {

inline constexpr uint64_t kPullPieceBytes = 256 * 1024;
inline constexpr uint64_t kPullLifeNs = 600'000'000'000;  // of its pin

class Pull : public std::enable_shared_from_this<Pull> {
 public:
  // request: holds a range. All pointers outlive the pull; pool jobs keep it alive.
  // start_deadline_ns: after it nobody waits for start() any more. on_end: called once, on a pool
  // thread, after END was sent; must only post.
  Pull(apply::Request request, quorate_on_piece on_piece, void* user, mvcc::ReadSource source,
       const MemberState* state, Clock* clock, Pool* pool, uint64_t start_deadline_ns,
       std::function<void()> on_end);

  // Starts, or goes on, once the read may begin. [apply loop]
  void start() {
    started_.store(true, std::memory_order_release);
    kick();
  }
  // It has not been started in time, and is not closed yet. [apply loop]
  bool is_late(uint64_t now_ns) const {
    return start_deadline_ns_ <= now_ns && !started_.load(std::memory_order_relaxed) &&
           closed_.load(std::memory_order_relaxed) == 0;
  }
  void add_credit(uint64_t bytes);
  // From the head again, at the same revision.
  void rewind();
  // END follows, with `code`, if it has not been sent.
  void close(Code code);
  // The same at once; for when the pool has stopped. [host thread]
  void end_now(Code code);
  // END has been sent: the last call that names the front-end's user.
  bool ended() const { return ended_.load(std::memory_order_acquire); }

 private:
  friend class PullJob;
  void kick();
  // One slice of work. True: there is more that can be done now.
  bool work();
  bool send_head();
  bool send_data();
  void send_end(Code code);
  void send(uint32_t kind, Code code, const Bytes& bytes);

  const apply::Request request_;
  const mvcc::RangeQuery query_;
  const quorate_on_piece on_piece_;
  void* const user_;
  const MemberState* const state_;
  Clock* const clock_;
  Pool* const pool_;
  const uint64_t start_deadline_ns_;
  const std::function<void()> on_end_;

  std::atomic<uint32_t> signals_{0};  // not 0: a job is on its way or running
  std::atomic<uint64_t> granted_{0};  // credit not yet taken over
  std::atomic<bool> rewound_{false};
  std::atomic<bool> started_{false};  // the read may begin
  std::atomic<int32_t> closed_{0};    // a Code; 0: open
  std::atomic<bool> ended_{false};

  // The running job's own.
  mvcc::ReadTxn txn_;
  std::optional<mvcc::RangeScan> scan_;
  enum class Stage { kBegin, kMeasure, kData, kDone };
  Stage stage_ = Stage::kBegin;
  uint64_t credit_ = 0;
  uint64_t rested_ns_ = 0;
  std::string piece_;
  apply::ResponseBuilder builder_;
};

}  // namespace quorate::server
