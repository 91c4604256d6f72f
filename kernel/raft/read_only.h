// SPDX-License-Identifier: Apache-2.0
// Read requests and the round that answers them (thesis 6.4). One round is in flight, all requests
// that wait share the next one: a round proves leadership only for requests made before it began.
#pragma once

#include <utility>
#include <vector>

#include "raft/types.h"

namespace quorate::raft {

struct ReadRequest {
  NodeId from = 0;
  RequestId id = 0;
};

// Used by a leader for its heartbeat rounds, and by a follower for what it has asked its leader.
// Invariants: context() != 0 exactly while a round is in flight; acknowledgements are only of that.
class ReadOnly {
 public:
  void add(ReadRequest request) { waiting_.push_back(request); }
  bool any_waiting() const { return !waiting_.empty(); }
  bool can_start() const { return context_ == 0 && !waiting_.empty(); }
  // They need no round.
  std::vector<ReadRequest> take_waiting() { return std::exchange(waiting_, {}); }
  RequestId first_waiting() const { return waiting_.front().id; }

  // Begins a round for all that wait. `index`: the commit index now. context: not 0, never used
  // before by this node in this term. REQUIRES: context() == 0.
  void start(RequestId context, Index index, uint64_t tick);
  RequestId context() const { return context_; }
  Index index() const { return index_; }
  uint64_t started_at() const { return tick_; }

  // False when it is not of the round in flight.
  bool acknowledge(NodeId from, RequestId context);
  bool acknowledged_by(NodeId id) const;
  // Ends the round; its requests.
  std::vector<ReadRequest> finish();
  // Gives all up, in the order of arrival.
  std::vector<ReadRequest> clear();

 private:
  std::vector<ReadRequest> waiting_;
  std::vector<ReadRequest> in_flight_;
  RequestId context_ = 0;
  Index index_ = 0;
  uint64_t tick_ = 0;
  std::vector<NodeId> acknowledgements_;
};

}  // namespace quorate::raft
