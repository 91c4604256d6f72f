// SPDX-License-Identifier: Apache-2.0
// Members of one Raft group in one thread, with nothing beneath them: what is handed to the log is
// durable at once, what is sent arrives in the next turn, what is committed is applied by being
// counted. What is left to measure is the state machine.
#pragma once

#include <deque>
#include <vector>

#include "raft/raw_node.h"

namespace quorate::bench {

class MemoryGroup : private raft::DurableSource {
 public:
  explicit MemoryGroup(size_t members);

  // REQUIRES: it is member 1 that leads, which is so after the constructor.
  void propose(std::span<const Bytes> payloads);
  // Until nothing moves.
  void settle();
  // By the member that has applied least.
  raft::Index applied() const;

 private:
  bool work(raft::RawNode& node);
  void step(raft::Message message);

  std::vector<raft::RawNode> nodes_;  // of id 1 and up
  std::vector<raft::Message> arriving_, sent_;
};

}  // namespace quorate::bench
