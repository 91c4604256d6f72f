// SPDX-License-Identifier: Apache-2.0
// What a file of a SimDisk holds, in pages that contents share until one of them changes; a page of
// zeros takes no memory. So a synced write costs one copy, and a new log segment none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace quorate::test {

inline constexpr size_t kPageBytes = 1024;

class SimPages;
struct SimPage {
  char bytes[kPageBytes];
  SimPages* pool;
  SimPage* next;  // while it is free
  uint32_t owners;
};

// Where the pages of a disk come from: they lie together, and the last one freed is the next one
// used. Outlives its pages.
class SimPages {
 public:
  SimPages() = default;
  ~SimPages();
  SimPages(const SimPages&) = delete;
  SimPages& operator=(const SimPages&) = delete;
  SimPage* take();  // with one owner, holding anything
  void give_back(SimPage* page) {
    page->next = free_;
    free_ = page;
  }

 private:
  std::vector<void*> chunks_;
  SimPage* free_ = nullptr;
};

// An owner of a page. Null: zeros.
class SimPagePtr {
 public:
  SimPagePtr() = default;
  explicit SimPagePtr(SimPages& pool) : page_(pool.take()) {}
  SimPagePtr(const SimPagePtr& other) : page_(other.page_) {
    if (page_ != nullptr) ++page_->owners;
  }
  SimPagePtr(SimPagePtr&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
  SimPagePtr& operator=(SimPagePtr other) noexcept {
    std::swap(page_, other.page_);
    return *this;
  }
  ~SimPagePtr() {
    if (page_ != nullptr && --page_->owners == 0) page_->pool->give_back(page_);
  }
  explicit operator bool() const { return page_ != nullptr; }
  bool is_shared() const { return page_->owners > 1; }
  char* bytes() const { return page_->bytes; }

 private:
  SimPage* page_ = nullptr;
};

class SimContent {
 public:
  explicit SimContent(SimPages& pool) : pool_(&pool) {}
  uint64_t size() const { return size_; }
  void resize(uint64_t size);
  void assign(Slice bytes);
  size_t read(uint64_t offset, char* to, size_t size) const;
  std::string to_string() const;
  void flip_bit(uint64_t bit);  // nothing happens behind the end
  // `bytes` lies within one page.
  void put(uint64_t offset, Slice bytes);
  // A whole page at a page's boundary, shared from now on.
  void put_page(uint64_t offset, SimPagePtr page);

 private:
  char* own(uint64_t number);  // the page, as one that nobody shares

  SimPages* pool_;
  std::vector<SimPagePtr> pages_;
  uint64_t size_ = 0;
};

// The bytes of one write, cut at the pages of its file.
class SimWrite {
 public:
  // The first `size` bytes of the parts.
  SimWrite(SimPages& pool, uint64_t offset, std::span<const Slice> parts, uint64_t size);
  uint64_t offset() const { return offset_; }
  uint64_t size() const { return size_; }
  // The file ends at `size` now: so does the write.
  void cut_at(uint64_t size);
  // Writes all of it, or of its bytes `from` to `from` + `size`, which lie within one page.
  void apply(SimContent& to) const;
  void apply(SimContent& to, uint64_t from, uint64_t size) const;

 private:
  uint64_t offset_, size_;
  std::vector<SimPagePtr> pages_;  // each at its place in the page
};

}  // namespace quorate::test
