// SPDX-License-Identifier: Apache-2.0
// Revisions that someone is reading at. Compaction takes effect for new reads at once, but what it
// drops stays until min(compact revision, lowest pin - 1), so a read that began before is not cut
// short. A pin ends with its call's deadline; after that its reader gives up.
//
// Part of the key index: a reader pins while it holds the index's lock shared, and compaction looks
// at the lowest pin while it holds it exclusively, so none can slip in between.
#pragma once

#include <cstdint>
#include <vector>

#include "env/mutex.h"
#include "env/yield.h"

namespace quorate::mvcc {

class Pins;

// Protects every record that is visible at `revision`, and every record with a revision >= it.
// Stays where it is while it is pinned. One thread at a time; unpins when it ends.
class Pin {
 public:
  Pin() = default;
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  ~Pin() { unpin(); }

  bool pinned() const { return pins_ != nullptr; }
  int64_t revision() const { return revision_; }
  // False once the deadline has passed and compaction went on without this pin: what was read
  // before holds, nothing more may be read.
  bool holds() const { return pinned() && !lost_.load(std::memory_order_acquire); }
  void unpin();

 private:
  friend class Pins;
  Pins* pins_ = nullptr;
  int64_t revision_ = 0;
  uint64_t deadline_ns_ = 0;
  size_t place_ = 0;  // in Pins::heap_
  Atomic<bool> lost_{false, "pin.lost"};
};

// The pins of one store: a heap with the lowest revision on top. [any thread]
class Pins {
 public:
  static constexpr int64_t kNone = INT64_MAX;

  // pin: not pinned; this outlives it.
  void pin(Pin& pin, int64_t revision, uint64_t deadline_ns);
  // The lowest pinned revision, or kNone. Pins whose deadline is before `now_ns` are lost first.
  int64_t lowest(uint64_t now_ns);
  size_t count() const;

 private:
  friend class Pin;
  void remove(Pin& pin);
  void place(size_t at, Pin* pin) QUORATE_REQUIRES(mutex_);
  void sift_up(size_t at) QUORATE_REQUIRES(mutex_);
  void sift_down(size_t at) QUORATE_REQUIRES(mutex_);
  void take_out(size_t at) QUORATE_REQUIRES(mutex_);

  mutable Mutex mutex_{"pins"};
  std::vector<Pin*> heap_ QUORATE_GUARDED_BY(mutex_);
};

}  // namespace quorate::mvcc
