// SPDX-License-Identifier: Apache-2.0
// How much waits in the queues of a member, and how much may: for those who look for a queue that
// grows without a bound, or that is never empty again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"

namespace quorate::server {

struct QueueDepth {
  const char* name = nullptr;  // what waits, as a sentence would name it
  uint64_t size = 0;
  uint64_t max = 0;
};

class QueueDepths {
 public:
  void add(const char* name, uint64_t size, uint64_t max) {
    QUORATE_CHECK(count_ < depths_.size(), "more queues than were thought of");
    depths_[count_++] = {name, size, max};
  }
  std::span<const QueueDepth> all() const& { return {depths_.data(), count_}; }
  // One that is beyond its limit, or null.
  const QueueDepth* too_long() const& {
    return find([](const QueueDepth& queue) { return queue.size > queue.max; });
  }
  // One in which something waits, or null.
  const QueueDepth* busy() const& {
    return find([](const QueueDepth& queue) { return queue.size != 0; });
  }
  // What they return is this object's.
  void all() const&& = delete;
  void too_long() const&& = delete;
  void busy() const&& = delete;

 private:
  template <typename Condition>
  const QueueDepth* find(Condition condition) const {
    const auto found = std::find_if(all().begin(), all().end(), condition);
    return found == all().end() ? nullptr : &*found;
  }
  std::array<QueueDepth, 24> depths_;
  size_t count_ = 0;
};

}  // namespace quorate::server
