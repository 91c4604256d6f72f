// SPDX-License-Identifier: Apache-2.0
// When to campaign because the leader's process was seen to end: its connections are reset, so
// nobody need sit out an election timeout. Its followers hear of it in one moment and must not ask
// for votes in one moment (Raft paper 5.2, split votes). So each waits a short random time, and
// longer when another asks first; who got no leader elected tries again, each time out of a wider
// span. A connection may break though its other end lives: when it stands again, the leader gets
// the time to be heard. [raft loop]
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/random.h"
#include "raft/types.h"

namespace quorate::server {

class HastyCampaign {
 public:
  static constexpr uint64_t kWaitNsMin = 10'000'000;  // before the first try
  static constexpr uint64_t kWaitNsMax = 60'000'000;
  static constexpr int kTriesMax = 5;  // after that the election timeout does as well

  HastyCampaign(uint64_t seed, uint64_t heartbeat_ns)
      : heartbeat_ns_(heartbeat_ns), random_(seed) {}

  // When to campaign; 0: no haste.
  uint64_t due_ns() const { return due_ns_; }
  // Whose process is taken to be gone, while there is haste.
  raft::NodeId leader() const { return leader_; }

  // The connections of the leader that this member follows were reset.
  void reset(raft::NodeId leader, uint64_t now_ns) {
    reset_ns_ = now_ns;
    if (due_ns_ != 0 && leader_ == leader && !reconnected_) return;
    leader_ = leader;
    tries_ = 0;
    gave_way_ = reconnected_ = false;
    due_ns_ = now_ns + wait();
  }
  // Another asks whether it would get votes. It goes first, once: its log may be too short to win.
  // Not so with one that asks for the votes themselves, since a quorum has granted it that: a try
  // in that moment would depose it.
  void another_campaigns(bool pre_vote, uint64_t now_ns) {
    if (due_ns_ == 0 || (pre_vote && gave_way_)) return;
    gave_way_ |= pre_vote;
    put_off(now_ns + kWaitNsMax + wait());
  }
  // The connection to `peer` stands. True: it is the leader's. The process at its other end has two
  // heartbeats to show that it leads; it may be a new one.
  bool connected(raft::NodeId peer, uint64_t now_ns) {
    if (due_ns_ == 0 || peer != leader_) return false;
    reconnected_ = true;
    put_off(now_ns + 2 * heartbeat_ns_);
    return true;
  }
  // Another leads, or `from` still does. What was on its way when a connection broke is no proof of
  // life; another connection may be whole, so there is time to see whether this one comes back.
  // Nothing is on its way for two heartbeats: who is heard then lives, though nobody told of a
  // connection, and a silence later on is another matter, to be sat out.
  void heard(raft::NodeId from, uint64_t now_ns) {
    if (due_ns_ == 0) return;
    if (from != leader_ || reconnected_ || now_ns >= reset_ns_ + 2 * heartbeat_ns_)
      due_ns_ = 0;
    else if (tries_ == 0)
      put_off(now_ns + kWaitNsMax);
  }
  // This member campaigns now; it looks again later.
  void tried(uint64_t now_ns) {
    reconnected_ = false;
    due_ns_ = ++tries_ < kTriesMax ? now_ns + wait() : 0;
  }
  void give_up() { due_ns_ = 0; }

 private:
  uint64_t wait() { return kWaitNsMin + random_.below((kWaitNsMax - kWaitNsMin) << tries_); }
  void put_off(uint64_t until_ns) { due_ns_ = std::max(due_ns_, until_ns); }

  const uint64_t heartbeat_ns_;
  Random random_;
  raft::NodeId leader_ = 0;
  uint64_t due_ns_ = 0;
  uint64_t reset_ns_ = 0;
  int tries_ = 0;
  bool gave_way_ = false;     // to another, since the reset
  bool reconnected_ = false;  // and nothing heard since
};

}  // namespace quorate::server
