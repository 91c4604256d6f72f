// SPDX-License-Identifier: Apache-2.0
#include "mvcc/key_index.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/check.h"

namespace quorate::mvcc {

KeyIndex* KeyIndex::make(Slice key) {
  void* const memory = std::malloc(sizeof(KeyIndex) + key.size());
  QUORATE_CHECK(memory != nullptr, "no memory for a key of the index");
  return new (memory) KeyIndex(key);
}

void KeyIndex::free(KeyIndex* key) {
  key->~KeyIndex();
  std::free(key);
}

KeyIndex::KeyIndex(Slice key) : inline_{}, key_size_(static_cast<uint32_t>(key.size())) {
  std::memcpy(reinterpret_cast<char*>(this + 1), key.data(), key.size());
}

KeyIndex::~KeyIndex() {
  if (capacity_ > 1) delete[] heap_;
}

size_t KeyIndex::memory_bytes() const {
  return sizeof(KeyIndex) + key_size_ + (capacity_ > 1 ? capacity_ * sizeof(Step) : 0);
}

KeyMeta KeyIndex::meta() const {
  if (!alive()) return {};
  return {steps()[size_ - 1].revision(), create_revision_, version_, lease_};
}

void KeyIndex::put(Revision revision, int64_t lease) {
  if (!alive()) create_revision_ = revision.main;
  ++version_;
  lease_ = lease;
  append(revision, false);
}

void KeyIndex::tombstone(Revision revision) {
  QUORATE_CHECK(alive(), "only a live key can be deleted");
  restore_tombstone(revision);
}

void KeyIndex::restore(Revision revision, int64_t create_revision, int64_t version, int64_t lease) {
  create_revision_ = create_revision;
  version_ = version;
  lease_ = lease;
  append(revision, false);
}

void KeyIndex::restore_tombstone(Revision revision) {
  create_revision_ = version_ = lease_ = 0;
  append(revision, true);
}

void KeyIndex::append(Revision revision, bool tombstone) {
  QUORATE_CHECK(size_ == 0 || steps()[size_ - 1].revision() < revision,
                "revisions of a key only grow");
  if (size_ == capacity_) {
    const uint32_t capacity = capacity_ == 1 ? 4 : capacity_ * 2;
    Step* const grown = new Step[capacity];
    std::copy_n(steps(), size_, grown);
    if (capacity_ > 1) delete[] heap_;
    heap_ = grown;
    capacity_ = capacity;
  }
  steps()[size_++] = {revision.main, revision.sub & 0x7fffffff, tombstone ? 1u : 0u};
}

const KeyIndex::Step* KeyIndex::newest(int64_t at) const {
  const Step* const all = steps();
  if (size_ > 0 && all[size_ - 1].main <= at) return &all[size_ - 1];
  const Step* const after = std::upper_bound(
      all, all + size_, at, [](int64_t main, const Step& step) { return main < step.main; });
  return after == all ? nullptr : after - 1;
}

size_t KeyIndex::compactable(int64_t at) const {
  const Step* const kept = newest(at);
  if (kept == nullptr) return 0;
  // A tombstone exactly at the compact revision stays, so that a watch from there sees the delete.
  const bool goes = kept->tombstone && kept->main != at;
  return static_cast<size_t>(kept - steps()) + (goes ? 1 : 0);
}

void KeyIndex::drop_front(size_t count) {
  const uint32_t left = size_ - static_cast<uint32_t>(count);
  Step* const rest = steps() + count;
  if (capacity_ == 1 || left > capacity_ / 4) {
    std::move(rest, rest + left, steps());
  } else if (left <= 1) {
    const Step last = left == 1 ? *rest : Step{};
    delete[] heap_;
    inline_ = last;
    capacity_ = 1;
  } else {
    Step* const shrunk = new Step[left * 2];
    std::copy_n(rest, left, shrunk);
    delete[] heap_;
    heap_ = shrunk;
    capacity_ = left * 2;
  }
  size_ = left;
}

}  // namespace quorate::mvcc
