// SPDX-License-Identifier: Apache-2.0
// A member's snapshots: those that it sends to peers that lag too far for the log, and the one that
// it receives. Members may run different engines, since what travels is a logical stream.
//
// Sent: raft asks with a MsgSnap; the stream holds what the engine holds then, and says so in its
// head. The log behind that index is kept while the stream lasts, and a while longer, so that the
// follower can go on from the log.
//
// Received: one at a time, into the next generation of the engine (storage/generation_import.h).
// Once it is durable there raft steps a MsgSnap with what the stream really held. Raft may refuse
// it; else its record goes to the log, and then apply installs it (apply_loop.h).
//
// A loop owns the outgoing ones; what comes in passes through the inbox.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "base/log.h"
#include "env/loop.h"
#include "server/incoming_snapshot.h"
#include "server/outgoing_snapshot.h"
#include "server/snapshot_receiver.h"

namespace quorate::server {

inline constexpr uint64_t kLogKeptAfterSnapshotNs = 60'000'000'000;

struct SendSnapshot {
  raft::Message request;
};
struct OutgoingEnded {
  OutgoingSnapshot* snapshot = nullptr;
  Code verdict = Code::kOk;
};
struct StreamRefused {  // of an incoming stream that nobody takes in; its end has come
  uint64_t stream = 0;
  Code code = Code::kOk;
};
using SnapshotEvent = std::variant<SendSnapshot, OutgoingEnded, StreamRefused>;

class Snapshots final : public SnapshotReceiver,
                        private Loop<SnapshotEvent>,
                        private OutgoingOwner {
 public:
  // All of it outlives this; the executor and the pool are stopped before it ends.
  struct Parts {
    Env* env = nullptr;
    Pool* pool = nullptr;
    const MemberState* state = nullptr;
    SnapshotOutput* output = nullptr;
    mvcc::ReadSource source;
    storage::OpenOptions store;  // how a generation is opened
    Logger logger;
  };
  Snapshots(Executor* executor, const Parts& parts);
  ~Snapshots() override;

  // Before anything else; the transport ends before this does. [host thread]
  void set_transport(plugin::Transport* transport);

  // Streams this member's store to message.to; the output hears how it ended. [raft loop]
  void send(const raft::Message& request);
  // The log behind this index is still needed by outgoing snapshots; UINT64_MAX: none. [any thread]
  raft::Index needed() const;

  // SnapshotReceiver.
  quorate_status begin(uint64_t stream, uint64_t from, Slice meta) override;
  quorate_status block(uint64_t stream, Slice block) override;
  void end(uint64_t stream, quorate_status sender) override;
  void on_stream(void* user, uint32_t event, quorate_status code) override;

  // Raft has stepped what snapshot_received() gave it. taken: its record goes to the log, and
  // installed() will come; else it is deleted. [raft loop]
  void stepped(bool taken);
  // Apply has installed what was received. [apply loop]
  void installed();

  // All streams end. When executor and pool have stopped, before the transport is destroyed. [host
  // thread]
  void stop();

 private:
  struct Kept {
    raft::Index index;
    uint64_t until_ns;
  };
  void on_turn(std::vector<SnapshotEvent>& events) override;
  void take(SendSnapshot& event);
  void take(OutgoingEnded& event);
  void take(StreamRefused& event);
  void look_after(uint64_t now_ns);
  void outgoing_ended(OutgoingSnapshot* snapshot, Code verdict) override;
  Status check(uint64_t from, const SnapshotHead& head) const;

  const Parts parts_;
  plugin::Transport* transport_ = nullptr;
  SnapshotInbox inbox_;
  const std::shared_ptr<IncomingSnapshot> incoming_;

  // The loop's own.
  std::map<OutgoingSnapshot*, std::shared_ptr<OutgoingSnapshot>> outgoing_;
  std::vector<Kept> kept_;
  uint64_t look_ns_ = 0;  // when it wakes to look; 0: not

  std::atomic<uint32_t> asked_{0};  // posted and not yet taken
  std::atomic<raft::Index> needed_{UINT64_MAX};
};

}  // namespace quorate::server
