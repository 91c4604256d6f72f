// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/check.h"

namespace quorate {
namespace {

// Bytes that follow their owner in one allocation.
class InlineOwner final : public BytesOwner {
 public:
  static InlineOwner* make(Slice bytes) {
    void* memory = ::operator new(sizeof(InlineOwner) + bytes.size());
    auto* owner = new (memory) InlineOwner;
    if (!bytes.empty()) std::memcpy(owner->data(), bytes.data(), bytes.size());
    return owner;
  }
  char* data() { return reinterpret_cast<char*>(this + 1); }
  static void operator delete(void* memory) { ::operator delete(memory); }

 private:
  InlineOwner() = default;
};
static_assert(sizeof(InlineOwner) % 8 == 0);

class StringOwner final : public BytesOwner {
 public:
  explicit StringOwner(std::string bytes) : bytes_(std::move(bytes)) {}
  Slice view() const { return bytes_; }

 private:
  std::string bytes_;
};

void retain_owner(void* owner) {
  static_cast<BytesOwner*>(owner)->retain();
}
void release_owner(void* owner) {
  static_cast<BytesOwner*>(owner)->release();
}
void no_owner(void*) {}

}  // namespace

Bytes Bytes::copy(Slice bytes) {
  InlineOwner* owner = InlineOwner::make(bytes);
  return Bytes(Slice(owner->data(), bytes.size()), owner);
}

Bytes Bytes::take(std::string bytes) {
  auto* owner = new StringOwner(std::move(bytes));
  return Bytes(owner->view(), owner);
}

Bytes Bytes::sub(size_t offset, size_t size) const {
  QUORATE_CHECK(offset <= view_.size() && size <= view_.size() - offset, "a part lies outside");
  if (owner_) owner_->retain();
  return Bytes(view_.substr(offset, size), owner_);
}

quorate_buf Bytes::lend() const {
  if (!owner_) return {to_c(view_), nullptr, no_owner, no_owner};
  return {to_c(view_), owner_, retain_owner, release_owner};
}

char* Arena::allocate(size_t size) {
  size = (size + 7) & ~size_t{7};
  if (blocks_.empty() || blocks_.back().size - used_ < size) {
    const size_t block = std::max(block_bytes_, size);
    blocks_.push_back({std::make_unique_for_overwrite<char[]>(block), block});
    allocated_bytes_ += block;
    used_ = 0;
  }
  char* result = blocks_.back().memory.get() + used_;
  used_ += size;
  return result;
}

Slice Arena::copy(Slice bytes) {
  char* memory = allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
  return {memory, bytes.size()};
}

void Arena::reset() {
  used_ = 0;
  if (blocks_.size() <= 1) return;
  blocks_.resize(1);
  allocated_bytes_ = blocks_.front().size;
}

}  // namespace quorate
