// SPDX-License-Identifier: Apache-2.0
// A double-ended queue of entries in one block of memory that doubles when full: pushing allocates
// nothing in the steady state.
#pragma once

#include <utility>
#include <vector>

#include "raft/types.h"

namespace quorate::raft {

class EntryRing {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // REQUIRES: i < size().
  const Entry& operator[](size_t i) const { return slots_[(head_ + i) & (slots_.size() - 1)]; }
  const Entry& front() const { return (*this)[0]; }
  const Entry& back() const { return (*this)[size_ - 1]; }

  void push_back(Entry entry) {
    if (size_ == slots_.size()) grow();
    slots_[(head_ + size_++) & (slots_.size() - 1)] = std::move(entry);
  }
  // Each drops an entry and its share of the payload. REQUIRES: !empty().
  void pop_front() {
    slots_[head_] = Entry();
    head_ = (head_ + 1) & (slots_.size() - 1);
    --size_;
  }
  void pop_back() { slots_[(head_ + --size_) & (slots_.size() - 1)] = Entry(); }

 private:
  void grow() {
    std::vector<Entry> larger(slots_.empty() ? 64 : slots_.size() * 2);
    for (size_t i = 0; i < size_; ++i)
      larger[i] = std::move(slots_[(head_ + i) & (slots_.size() - 1)]);
    slots_ = std::move(larger);
    head_ = 0;
  }
  std::vector<Entry> slots_;  // a power of two
  size_t head_ = 0;
  size_t size_ = 0;
};

}  // namespace quorate::raft
