// SPDX-License-Identifier: Apache-2.0
#include "base/slab.h"

#include <cstring>
#include <utility>

#include "base/check.h"

namespace quorate {

class SlabOwner final : public BytesOwner {
 public:
  SlabOwner(size_t capacity, std::shared_ptr<SlabCounter> counter)
      : memory_(std::make_unique_for_overwrite<char[]>(capacity)),
        capacity_(capacity),
        counter_(std::move(counter)) {
    if (counter_) counter_->held_bytes_.fetch_add(capacity_, std::memory_order_relaxed);
  }
  ~SlabOwner() override {
    if (counter_) counter_->held_bytes_.fetch_sub(capacity_, std::memory_order_relaxed);
  }
  char* memory() { return memory_.get(); }
  size_t capacity() const { return capacity_; }

 private:
  std::unique_ptr<char[]> memory_;
  size_t capacity_;
  std::shared_ptr<SlabCounter> counter_;
};

Slab::Slab(size_t capacity, std::shared_ptr<SlabCounter> counter)
    : owner_(new SlabOwner(rounded(capacity), std::move(counter))) {}

Slab::Slab(Slab&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), used_(other.used_) {}

Slab::~Slab() {
  if (owner_) owner_->release();
}

char* Slab::reserve(size_t size) {
  QUORATE_CHECK(rounded(size) <= owner_->capacity() - used_, "a slab was sized too small");
  char* result = owner_->memory() + used_;
  used_ += rounded(size);
  return result;
}

Bytes Slab::share(const char* data, size_t size) {
  owner_->retain();
  return Bytes(Slice(data, size), owner_);
}

Bytes Slab::copy(Slice bytes) {
  char* memory = reserve(bytes.size());
  if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
  return share(memory, bytes.size());
}

}  // namespace quorate
