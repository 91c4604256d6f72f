// SPDX-License-Identifier: Apache-2.0
// The importer: writes what the inbox holds into the next generation, in jobs of the reader pool,
// never two at once. It begins with whatever stream the inbox has open, judges it, and begins anew.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/log.h"
#include "env/env.h"
#include "plugin/transport.h"
#include "raft/message.h"
#include "server/snapshot_inbox.h"
#include "storage/generation_import.h"

namespace quorate::server {

// Where snapshots go. All must only post.
class SnapshotOutput {
 public:
  virtual ~SnapshotOutput() = default;
  // A MsgSnap in the sender's name, with what the stream really held, which is complete and durable
  // here: for raft to step. [pool thread]
  virtual void snapshot_received(raft::Message message) = 0;
  // How the stream to `peer` ended. [a loop]
  virtual void snapshot_sent(raft::NodeId peer, bool ok) = 0;
};

class IncomingSnapshot : public std::enable_shared_from_this<IncomingSnapshot> {
 public:
  // All of it outlives this.
  struct Parts {
    FileSystem* files = nullptr;
    Pool* pool = nullptr;
    SnapshotInbox* inbox = nullptr;
    SnapshotOutput* output = nullptr;
    storage::OpenOptions store;
    Logger logger;
  };
  explicit IncomingSnapshot(Parts parts) : parts_(std::move(parts)) {}

  // Before the first kick().
  void set_transport(plugin::Transport* transport) { transport_ = transport; }
  // The inbox has news. [any thread]
  void kick();
  // An end without a verdict so far gets kStopped. When the pool has stopped. [host thread]
  void end_now();
  // Frees the inbox, and asks the stream that waits for it. [any thread]
  void release();

 private:
  friend class IncomingJob;
  // One slice of work. True: there is more that can be done now.
  bool work();
  void start();
  Status begin();
  Status take_in(const std::vector<Bytes>& blocks);
  Status check_space() const;
  void fail(Status status);
  bool finish();
  bool give_up(bool judged_here);
  void judge(Code code);

  const Parts parts_;
  plugin::Transport* transport_ = nullptr;
  std::atomic<uint32_t> signals_{0};  // not 0: a job is on its way or running

  // The running job's own.
  bool running_ = false;  // on stream_
  uint64_t stream_ = 0;
  SnapshotHead head_;
  std::unique_ptr<storage::GenerationImport> import_;
  Status failure_;
  std::string piece_;
};

}  // namespace quorate::server
