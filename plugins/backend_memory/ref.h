// SPDX-License-Identifier: Apache-2.0
// A counted pointer whose owner may ask whether it is the only one. std::shared_ptr cannot answer
// that safely: its use_count() orders nothing, so a reader's last look at an object need not have
// happened before its count is seen to be one.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace quorate::backend_memory {

class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) {}  // a copy has no owner yet
  Counted& operator=(const Counted&) = delete;

 private:
  template <class>
  friend class Ref;
  std::atomic<uint32_t> owners_ = 0;
};

// T derives from Counted. Different Refs may be used by different threads, also to one object.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) { retain(); }
  Ref(const Ref& other) : object_(other.object_) { retain(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr && object_->owners_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete object_;
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

  // True: nobody else can reach the object through another Ref, now or later.
  bool sole_owner() const { return object_->owners_.load(std::memory_order_acquire) == 1; }

 private:
  void retain() {
    if (object_ != nullptr) object_->owners_.fetch_add(1, std::memory_order_relaxed);
  }

  T* object_ = nullptr;
};

}  // namespace quorate::backend_memory
