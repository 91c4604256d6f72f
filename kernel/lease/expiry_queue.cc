// SPDX-License-Identifier: Apache-2.0
#include "lease/expiry_queue.h"

#include <algorithm>
#include <tuple>

namespace quorate::lease {
namespace {

bool later(const ExpiryQueue::Entry& a, const ExpiryQueue::Entry& b) {
  return std::tie(a.due_ns, a.lease) > std::tie(b.due_ns, b.lease);
}

}  // namespace

void ExpiryQueue::push(uint64_t due_ns, int64_t lease) {
  heap_.push_back({due_ns, lease});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void ExpiryQueue::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), later);
  heap_.pop_back();
}

}  // namespace quorate::lease
