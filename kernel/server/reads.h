// SPDX-License-Identifier: Apache-2.0
// What waits for a read index: work that may start once this member has applied up to the index
// that a quorum confirmed after the work arrived (Raft thesis 6.4).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "apply/request.h"
#include "env/env.h"

namespace quorate::server {

// A request that is answered from what the apply loop owns (leases, members, alarms, status).
struct Question {
  uint64_t call = 0;
  apply::Request request;
  uint64_t arrived_ns = 0;
  uint64_t deadline_ns = 0;
  bool forwarded = false;  // by another member, which took this one for the leader
};

struct ReadWaiter {
  std::unique_ptr<Job> job;         // for the reader pool, or null
  std::vector<Question> questions;  // for the apply loop
  uint64_t pull = 0;                // one that may start; 0: none
  uint64_t deadline_ns = 0;         // after it nobody waits for any of it; 0: none
};

// Whether nobody waits any more for what has this deadline.
template <typename Waiting>
bool is_late(const Waiting& waiting, uint64_t now_ns) {
  return waiting.deadline_ns != 0 && waiting.deadline_ns <= now_ns;
}
// Drops those for whom nobody waits any more: without a leader they would gather for as long as
// clients try again.
template <typename Queue>
void drop_late(Queue& waiting, uint64_t now_ns) {
  std::erase_if(waiting, [now_ns](const auto& each) { return is_late(each, now_ns); });
}

}  // namespace quorate::server
