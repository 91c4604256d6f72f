// SPDX-License-Identifier: Apache-2.0
#include "support/sim_content.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace quorate::test {
namespace {

constexpr char kZeros[kPageBytes] = {};
constexpr size_t kChunkBytes = 2 << 20;  // a huge page

uint64_t pages_for(uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes;
}
const char* bytes_of(const SimPagePtr& page) {
  return page ? page.bytes() : kZeros;
}

// Takes bytes off the front of a list of parts.
class Source {
 public:
  explicit Source(std::span<const Slice> parts) : parts_(parts) {}
  // True: the next page is zeros and lies in one part. It is taken.
  bool take_zeros() {
    skip_empty();
    if (part_.size() < kPageBytes || std::memcmp(part_.data(), kZeros, kPageBytes) != 0)
      return false;
    part_.remove_prefix(kPageBytes);
    return true;
  }
  void take(char* to, size_t size) {
    while (size > 0) {
      skip_empty();
      const size_t step = std::min(size, part_.size());
      std::memcpy(to, part_.data(), step);
      part_.remove_prefix(step);
      to += step;
      size -= step;
    }
  }

 private:
  void skip_empty() {
    while (part_.empty() && !parts_.empty()) {
      part_ = parts_.front();
      parts_ = parts_.subspan(1);
    }
  }
  std::span<const Slice> parts_;
  Slice part_;
};

}  // namespace

SimPages::~SimPages() {
  for (void* chunk : chunks_) std::free(chunk);
}

SimPage* SimPages::take() {
  if (free_ == nullptr) {
    void* const chunk = std::aligned_alloc(kChunkBytes, kChunkBytes);
    QUORATE_CHECK(chunk != nullptr, "no memory for a simulated disk");
    // Only advice: fewer page faults.
    static_cast<void>(::madvise(chunk, kChunkBytes, MADV_HUGEPAGE));
    chunks_.push_back(chunk);
    for (size_t i = kChunkBytes / sizeof(SimPage); i > 0; --i) {
      SimPage* const page = static_cast<SimPage*>(chunk) + (i - 1);
      page->pool = this;
      give_back(page);
    }
  }
  SimPage* const page = std::exchange(free_, free_->next);
  page->owners = 1;
  return page;
}

char* SimContent::own(uint64_t number) {
  SimPagePtr& page = pages_[number];
  if (!page || page.is_shared()) {
    SimPagePtr copy(*pool_);
    std::memcpy(copy.bytes(), bytes_of(page), kPageBytes);
    page = std::move(copy);
  }
  return page.bytes();
}

void SimContent::resize(uint64_t size) {
  // What lies behind the end reads as zeros when the file grows again.
  if (size < size_ && size % kPageBytes != 0 && pages_[size / kPageBytes])
    std::memset(own(size / kPageBytes) + size % kPageBytes, 0, kPageBytes - size % kPageBytes);
  pages_.resize(pages_for(size));
  size_ = size;
}

void SimContent::assign(Slice bytes) {
  pages_.clear();
  size_ = 0;
  SimWrite(*pool_, 0, {&bytes, 1}, bytes.size()).apply(*this);
}

size_t SimContent::read(uint64_t offset, char* to, size_t size) const {
  if (offset >= size_) return 0;
  const size_t got = std::min<uint64_t>(size, size_ - offset);
  for (size_t done = 0; done < got;) {
    const size_t at = (offset + done) % kPageBytes;
    const size_t step = std::min(kPageBytes - at, got - done);
    std::memcpy(to + done, bytes_of(pages_[(offset + done) / kPageBytes]) + at, step);
    done += step;
  }
  return got;
}

std::string SimContent::to_string() const {
  std::string bytes(size_, '\0');
  read(0, bytes.data(), bytes.size());
  return bytes;
}

void SimContent::flip_bit(uint64_t bit) {
  const uint64_t at = bit / 8;
  if (at >= size_) return;
  char& byte = own(at / kPageBytes)[at % kPageBytes];
  byte = static_cast<char>(byte ^ (1 << (bit % 8)));
}

void SimContent::put(uint64_t offset, Slice bytes) {
  if (bytes.empty()) return;
  if (offset + bytes.size() > size_) resize(offset + bytes.size());
  std::memcpy(own(offset / kPageBytes) + offset % kPageBytes, bytes.data(), bytes.size());
}

void SimContent::put_page(uint64_t offset, SimPagePtr page) {
  if (offset + kPageBytes > size_) resize(offset + kPageBytes);
  pages_[offset / kPageBytes] = std::move(page);
}

SimWrite::SimWrite(SimPages& pool, uint64_t offset, std::span<const Slice> parts, uint64_t size)
    : offset_(offset), size_(size) {
  Source source(parts);
  pages_.reserve(pages_for(offset % kPageBytes + size));
  for (uint64_t done = 0; done < size;) {
    const size_t at = (offset + done) % kPageBytes;
    const size_t step = std::min<uint64_t>(kPageBytes - at, size - done);
    done += step;
    if (step == kPageBytes && source.take_zeros()) {
      pages_.emplace_back();
      continue;
    }
    source.take(pages_.emplace_back(pool).bytes() + at, step);
  }
}

void SimWrite::cut_at(uint64_t size) {
  size_ = size <= offset_ ? 0 : std::min(size_, size - offset_);
}

void SimWrite::apply(SimContent& to) const {
  if (size_ == 0) return;
  if (offset_ + size_ > to.size()) to.resize(offset_ + size_);
  for (uint64_t done = 0; done < size_;) {
    const size_t at = (offset_ + done) % kPageBytes;
    const size_t step = std::min<uint64_t>(kPageBytes - at, size_ - done);
    apply(to, done, step);
    done += step;
  }
}

void SimWrite::apply(SimContent& to, uint64_t from, uint64_t size) const {
  const SimPagePtr& page = pages_[(offset_ % kPageBytes + from) / kPageBytes];
  const uint64_t offset = offset_ + from;
  if (size == kPageBytes)
    to.put_page(offset, page);
  else
    to.put(offset, Slice(bytes_of(page) + offset % kPageBytes, size));
}

}  // namespace quorate::test
