// SPDX-License-Identifier: Apache-2.0
#include "mvcc/pins.h"

#include <utility>

#include "base/check.h"

namespace quorate::mvcc {

void Pin::unpin() {
  if (pins_ == nullptr) return;
  pins_->remove(*this);
  pins_ = nullptr;
}

void Pins::pin(Pin& pin, int64_t revision, uint64_t deadline_ns) {
  QUORATE_CHECK(!pin.pinned(), "a pin holds one revision");
  const MutexLock lock(mutex_);
  pin.pins_ = this;
  pin.revision_ = revision;
  pin.deadline_ns_ = deadline_ns;
  pin.lost_.store(false, std::memory_order_relaxed);
  heap_.push_back(nullptr);
  place(heap_.size() - 1, &pin);
  sift_up(heap_.size() - 1);
}

int64_t Pins::lowest(uint64_t now_ns) {
  const MutexLock lock(mutex_);
  while (!heap_.empty() && heap_[0]->deadline_ns_ < now_ns) {
    heap_[0]->lost_.store(true, std::memory_order_release);
    take_out(0);
  }
  return heap_.empty() ? kNone : heap_[0]->revision_;
}

size_t Pins::count() const {
  const MutexLock lock(mutex_);
  return heap_.size();
}

void Pins::remove(Pin& pin) {
  const MutexLock lock(mutex_);
  if (!pin.lost_.load(std::memory_order_relaxed)) take_out(pin.place_);
}

void Pins::place(size_t at, Pin* pin) {
  heap_[at] = pin;
  pin->place_ = at;
}

void Pins::sift_up(size_t at) {
  Pin* const pin = heap_[at];
  for (; at > 0; at = (at - 1) / 2) {
    Pin* const parent = heap_[(at - 1) / 2];
    if (parent->revision_ <= pin->revision_) break;
    place(at, parent);
  }
  place(at, pin);
}

void Pins::sift_down(size_t at) {
  Pin* const pin = heap_[at];
  for (size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1]->revision_ < heap_[child]->revision_) ++child;
    if (pin->revision_ <= heap_[child]->revision_) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, pin);
}

void Pins::take_out(size_t at) {
  Pin* const last = heap_.back();
  heap_.pop_back();
  if (at == heap_.size()) return;
  place(at, last);
  sift_up(at);
  sift_down(last->place_);
}

}  // namespace quorate::mvcc
