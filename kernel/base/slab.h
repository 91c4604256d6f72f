// SPDX-License-Identifier: Apache-2.0
// Counted copies of what comes in over a border. One Slab holds all the requests or messages of one
// call; the Bytes cut from it share it, and it goes when the last of them goes. A SlabCounter adds
// up the memory really held, which is what the limits of the server compare.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/bytes.h"

namespace quorate {

// Shared by all slabs of one server; outlives them through shared ownership. Any thread.
class SlabCounter {
 public:
  uint64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }

 private:
  friend class SlabOwner;
  std::atomic<uint64_t> held_bytes_{0};
};

// A block of `capacity` bytes, filled by one thread, then only read.
class Slab {
 public:
  Slab(size_t capacity, std::shared_ptr<SlabCounter> counter);
  Slab(Slab&& other) noexcept;
  Slab& operator=(Slab&&) = delete;
  ~Slab();

  // Room for `size` bytes, eight-byte aligned; the rounding counts towards the capacity.
  // REQUIRES: it fits.
  char* reserve(size_t size);
  // The bytes [data, data + size) of this slab as shared Bytes.
  Bytes share(const char* data, size_t size);
  // reserve, copy and share in one.
  Bytes copy(Slice bytes);

  static size_t rounded(size_t size) { return (size + 7) & ~size_t{7}; }

 private:
  class SlabOwner* owner_;
  size_t used_ = 0;
};

}  // namespace quorate
