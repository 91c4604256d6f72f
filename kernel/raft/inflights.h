// SPDX-License-Identifier: Apache-2.0
// The MsgApps sent to one peer and not acknowledged yet: a ring of (last index, payload bytes).
#pragma once

#include <vector>

#include "base/check.h"
#include "raft/types.h"

namespace quorate::raft {

// Invariants: size() <= messages_max; indexes rise from the oldest to the newest; bytes() is the
// sum over what is held, so it is 0 when nothing is.
class Inflights {
 public:
  Inflights() = default;
  Inflights(uint64_t messages_max, uint64_t bytes_max)
      : messages_max_(messages_max), bytes_max_(bytes_max) {}

  // One message may go beyond bytes_max, so that a large entry can pass at all.
  bool full() const { return size_ >= messages_max_ || bytes_ >= bytes_max_; }
  uint64_t size() const { return size_; }
  uint64_t bytes() const { return bytes_; }
  // The invariants above, and that none was sent when the limit was reached, counted anew.
  bool adds_up() const {
    uint64_t bytes = 0;
    Index newest = 0;
    if (size_ > 1 && bytes_ - ring_[(head_ + size_ - 1) % ring_.size()].bytes >= bytes_max_)
      return false;
    for (uint64_t i = 0; i < size_; ++i) {
      const Sent& sent = ring_[(head_ + i) % ring_.size()];
      if (sent.last <= newest) return false;
      newest = sent.last;
      bytes += sent.bytes;
    }
    return bytes == bytes_ && size_ <= messages_max_;
  }

  // REQUIRES: !full(), last above all that is held.
  void add(Index last, uint64_t bytes) {
    QUORATE_CHECK(!full(), "a message is sent beyond the limit of messages in flight");
    if (size_ == ring_.size()) grow();
    ring_[(head_ + size_++) % ring_.size()] = {last, bytes};
    bytes_ += bytes;
  }
  // All messages whose last index is at or below `index` have arrived.
  void free_to(Index index) {
    while (size_ != 0 && ring_[head_].last <= index) {
      bytes_ -= ring_[head_].bytes;
      head_ = (head_ + 1) % ring_.size();
      --size_;
    }
  }
  void clear() { head_ = size_ = bytes_ = 0; }

 private:
  struct Sent {
    Index last = 0;
    uint64_t bytes = 0;
  };
  void grow() {
    std::vector<Sent> larger(ring_.empty() ? 8 : ring_.size() * 2);
    for (uint64_t i = 0; i < size_; ++i) larger[i] = ring_[(head_ + i) % ring_.size()];
    ring_ = std::move(larger);
    head_ = 0;
  }
  uint64_t messages_max_ = 0;
  uint64_t bytes_max_ = 0;
  std::vector<Sent> ring_;
  uint64_t head_ = 0;
  uint64_t size_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace quorate::raft
