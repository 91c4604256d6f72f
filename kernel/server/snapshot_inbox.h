// SPDX-License-Identifier: Apache-2.0
// What comes in of a snapshot on the transport's threads, until the importing job takes it: one
// stream at a time, and a bounded queue of its blocks. A shared class: any thread.
//
//   kFree -> kOpen -> kHeld -> kFree       received whole; held until raft and apply are done with
//   it
//               |  -> kFree                failed, or given up by the sender
//               `-> kGivenUp -> kFree      another stream wants its place
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "server/snapshot_head.h"

namespace quorate::server {

inline constexpr size_t kSnapshotInboxBytesMax = 2 << 20;  // one block may exceed it

class SnapshotInbox {
 public:
  // kOk: the stream is open. kBusy: it has the place next; release() will name it. kUnavailable:
  // not now (a snapshot is being installed, one of a newer term is coming). kStopped.
  Code begin(uint64_t stream, const SnapshotHead& head);
  // kBusy: nothing was taken, take() will say so. Another error: the stream is not open (any more),
  // or fail() was called.
  Code push(uint64_t stream, Slice block);
  // True: the stream is open, and its importer will see the end and judge it. False: nobody will.
  bool end(uint64_t stream, Code sender);

  // The importer's.
  struct Taken {
    bool open = false;      // there is a stream, and its importer's work is not over
    bool given_up = false;  // nothing more of it is wanted
    bool ended = false;     // behind the blocks
    Code sender = Code::kOk;
    bool was_full = false;  // a block was refused with kBusy: the transport is to be told
    std::vector<Bytes> blocks;
  };
  Taken take();
  // Of the stream that is open.
  uint64_t stream() const;
  SnapshotHead head() const;
  // Blocks that come from now on are refused with `code`, until the end comes.
  void fail(Code code);
  // The open stream is received whole; nothing else may come until release(). False: it was given
  // up meanwhile.
  bool hold();
  // Free again. Returns the stream that waits for it, or 0.
  uint64_t release();
  // Nothing is taken any more.
  void close();

 private:
  enum class Phase { kFree, kOpen, kGivenUp, kHeld };
  mutable std::mutex mutex_;
  // All guarded by mutex_.
  Phase phase_ = Phase::kFree;
  bool closed_ = false;
  uint64_t stream_ = 0;
  SnapshotHead head_;
  uint64_t waiting_ = 0;  // 0: none
  std::vector<Bytes> blocks_;
  size_t bytes_ = 0;
  bool full_ = false;
  bool ended_ = false;
  Code sender_ = Code::kOk;
  Code failure_ = Code::kOk;
};

}  // namespace quorate::server
