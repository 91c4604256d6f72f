// SPDX-License-Identifier: Apache-2.0
// The life of one key: its revisions, oldest first. A run that ends with a tombstone, or with the
// newest revision, is one *generation*: created, changed, perhaps deleted.
//
// Invariants: revisions grow; no two tombstones stand side by side; a tombstone is never the first
// of a key, save after compaction. For the newest generation, if it is alive, the create revision,
// version and lease are kept here, so a put needs no look at the previous record.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "mvcc/revision.h"

namespace quorate::mvcc {

// What is known of a key without reading a record. All zero: the key does not exist.
struct KeyMeta {
  Revision revision;  // of its newest put: mod_revision is revision.main
  int64_t create_revision = 0;
  int64_t version = 0;
  int64_t lease = 0;
  bool exists() const { return version != 0; }
  friend bool operator==(const KeyMeta&, const KeyMeta&) = default;
};

class KeyIndex {
 public:
  struct Step {
    int64_t main;
    uint32_t sub : 31;
    uint32_t tombstone : 1;
    Revision revision() const { return {main, sub}; }
  };

  static KeyIndex* make(Slice key);
  static void free(KeyIndex* key);
  KeyIndex(const KeyIndex&) = delete;
  KeyIndex& operator=(const KeyIndex&) = delete;

  Slice key() const { return {reinterpret_cast<const char*>(this + 1), key_size_}; }
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  size_t memory_bytes() const;
  const Step* begin() const { return steps(); }
  const Step* end() const { return steps() + size_; }

  // Of the newest revision.
  KeyMeta meta() const;
  bool alive() const { return version_ != 0; }

  // REQUIRES: revision > every one before it.
  void put(Revision revision, int64_t lease);
  // REQUIRES: alive().
  void tombstone(Revision revision);
  // As put(), for a record that start finds: its own create revision and version count.
  void restore(Revision revision, int64_t create_revision, int64_t version, int64_t lease);
  // A tombstone that start finds; perhaps the first that is left of the key.
  void restore_tombstone(Revision revision);

  // The newest step with main <= `at`, or nullptr. A tombstone means that the key was gone.
  const Step* newest(int64_t at) const;
  // The revision that is visible at `at`; none() when the key did not exist then.
  Revision visible(int64_t at) const {
    const Step* step = newest(at);
    return step == nullptr || step->tombstone ? Revision{} : step->revision();
  }

  // Drops what a compaction at `at` need not keep, calls dropped(Revision, bool tombstone) for
  // each: every step with main <= at but the newest of them; that one too if it is a tombstone and
  // its main is not exactly `at`.
  template <typename Dropped>
  void compact(int64_t at, Dropped&& dropped) {
    const size_t count = compactable(at);
    const Step* all = steps();
    for (size_t i = 0; i < count; ++i) dropped(all[i].revision(), all[i].tombstone != 0);
    if (count > 0) drop_front(count);
  }

 private:
  explicit KeyIndex(Slice key);
  ~KeyIndex();
  const Step* steps() const { return capacity_ == 1 ? &inline_ : heap_; }
  Step* steps() { return capacity_ == 1 ? &inline_ : heap_; }
  void append(Revision revision, bool tombstone);
  size_t compactable(int64_t at) const;
  void drop_front(size_t count);

  int64_t create_revision_ = 0;
  int64_t version_ = 0;
  int64_t lease_ = 0;
  union {
    Step inline_;  // capacity_ == 1
    Step* heap_;
  };
  uint32_t size_ = 0;
  uint32_t capacity_ = 1;
  uint32_t key_size_;
  // The key's bytes stand behind the object.
};

}  // namespace quorate::mvcc
