// SPDX-License-Identifier: Apache-2.0
// Bytes in the three forms the kernel knows: a Slice borrows, Bytes share, an Arena holds for the
// length of one piece of work. Nothing here is ever changed once it is shared.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/abi.h"

namespace quorate {

// Borrowed bytes. Compares as unsigned bytes, a proper prefix before the longer string.
using Slice = std::string_view;

inline quorate_slice to_c(Slice bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}
inline Slice from_c(quorate_slice bytes) {
  return {reinterpret_cast<const char*>(bytes.data), bytes.size};
}

// What keeps shared bytes alive: counted, on any thread; destroy() runs at the last release, on
// whatever thread that is.
class BytesOwner {
 public:
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  virtual ~BytesOwner() = default;

 private:
  std::atomic<uint32_t> references_{1};
};

// Shared, immutable bytes: a view and the counted owner of the memory it lies in. Copying counts,
// it does not copy the bytes. Safe to copy and to drop on any thread; one object belongs to one
// thread at a time.
class Bytes {
 public:
  Bytes() = default;
  // Takes over one reference to `owner` (nullptr: the bytes live for ever, as literals do).
  Bytes(Slice view, BytesOwner* owner) : view_(view), owner_(owner) {}
  Bytes(const Bytes& other) : view_(other.view_), owner_(other.owner_) {
    if (owner_) owner_->retain();
  }
  Bytes(Bytes&& other) noexcept : view_(other.view_), owner_(other.owner_) { other.forget(); }
  Bytes& operator=(const Bytes& other) { return *this = Bytes(other); }
  Bytes& operator=(Bytes&& other) noexcept {
    if (this != &other) {
      if (owner_) owner_->release();
      view_ = other.view_;
      owner_ = other.owner_;
      other.forget();
    }
    return *this;
  }
  ~Bytes() {
    if (owner_) owner_->release();
  }

  // A copy of `bytes` in memory of its own, eight-byte aligned.
  static Bytes copy(Slice bytes);
  // The string itself, moved; no copy.
  static Bytes take(std::string bytes);
  // A part of these bytes that shares their owner. offset + size <= this->size().
  Bytes sub(size_t offset, size_t size) const;

  Slice slice() const { return view_; }
  const char* data() const { return view_.data(); }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }

  // The same bytes for the other side of the C border, *lent*: valid while this object lives,
  // longer when the receiver retains. Bytes without an owner get no-op retain and release.
  quorate_buf lend() const;

 private:
  void forget() {
    view_ = {};
    owner_ = nullptr;
  }
  Slice view_;
  BytesOwner* owner_ = nullptr;
};

inline bool operator==(const Bytes& a, const Bytes& b) {
  return a.slice() == b.slice();
}

// Bump memory for one piece of work; everything in it ends with it, or with reset(), which keeps
// the first block for the next use. Not thread-safe.
class Arena {
 public:
  explicit Arena(size_t block_bytes = 16 * 1024) : block_bytes_(block_bytes) {}
  // Eight-byte aligned, not initialised.
  char* allocate(size_t size);
  // A copy that lives as long as the arena.
  Slice copy(Slice bytes);
  void reset();
  size_t allocated_bytes() const { return allocated_bytes_; }

 private:
  struct Block {
    std::unique_ptr<char[]> memory;
    size_t size;
  };
  size_t block_bytes_;
  size_t allocated_bytes_ = 0;
  size_t used_ = 0;  // of the last block
  std::vector<Block> blocks_;
};

}  // namespace quorate
