// SPDX-License-Identifier: Apache-2.0
// Which lease is due next. It holds one entry for each lease and learns of renewals late: an entry
// that comes up too early is put back by its owner with the time that holds now, so a renewal costs
// nothing here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quorate::lease {

class ExpiryQueue {
 public:
  struct Entry {
    uint64_t due_ns = 0;
    int64_t lease = 0;
  };
  void push(uint64_t due_ns, int64_t lease);
  bool empty() const { return heap_.empty(); }
  // The earliest; equal times come in the order of the ids. REQUIRES: not empty.
  const Entry& top() const { return heap_.front(); }
  void pop();
  void clear() { heap_.clear(); }
  size_t size() const { return heap_.size(); }

 private:
  std::vector<Entry> heap_;
};

}  // namespace quorate::lease
