// SPDX-License-Identifier: Apache-2.0
// When the next raft tick is due, and how much time is over when it comes.
#pragma once

#include <cstdint>

namespace quorate::server {

class TickClock {
 public:
  explicit TickClock(uint64_t tick_ns) : tick_ns_(tick_ns) {}

  // 0 until the first call to passed().
  uint64_t next_ns() const { return next_ns_; }

  // The ticks that are over, for raft::RawNode::tick(): 0 while none is due, 1 when one is, even if
  // it comes late by a part of one. After a pause of the process the ticks it missed are not made
  // up for one by one, since they would all fall into one moment and look like silence of the
  // others: it is one call, told of all the time that is over, rounded up, and the next tick is due
  // a whole one later.
  uint64_t passed(uint64_t now_ns) {
    if (next_ns_ == 0) next_ns_ = now_ns + tick_ns_;
    if (now_ns < next_ns_) return 0;
    const uint64_t missed = (now_ns - next_ns_) / tick_ns_;
    next_ns_ = missed == 0 ? next_ns_ + tick_ns_ : now_ns + tick_ns_;
    return missed == 0 ? 1 : missed + 2;
  }

 private:
  const uint64_t tick_ns_;
  uint64_t next_ns_ = 0;
};

}  // namespace quorate::server
