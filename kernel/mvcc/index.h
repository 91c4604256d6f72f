// SPDX-License-Identifier: Apache-2.0
// The key index: every key in order, each with its revisions, all in memory; and with it, under the
// same lock, the store's published revision, its compact revision and the pins.
//
// Apply, the only writer, takes the lock exclusively once a batch, at the first change, and
// publishes the revision before it lets go; for its own look-ups it needs no lock. A reader takes
// it shared for a slice of at most kSliceKeys keys; in its first hold it picks its revision, checks
// it against the compact revision and pins it. So whoever reads sees whole batches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/key_range.h"
#include "base/result.h"
#include "env/mutex.h"
#include "env/yield.h"
#include "mvcc/key_index.h"
#include "mvcc/pins.h"
#include "mvcc/revision.h"

namespace quorate::mvcc {

inline constexpr size_t kSliceKeys = 200;

// A revision with its kind, as the engine's key needs it.
struct Dropped {
  Revision revision;
  bool tombstone;
  friend bool operator==(const Dropped&, const Dropped&) = default;
};

class Index {
 public:
  Index();
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  // ------------------------------------------------ the apply loop alone
  // No reader gets in between lock() and unlock(), which publishes `revision` first.
  void lock() QUORATE_ACQUIRE(lock_);
  void unlock(int64_t revision) QUORATE_RELEASE(lock_);
  bool locked() const { return locked_; }

  // Look-ups without a lock, own changes included.
  KeyMeta find_own(Slice key) const;
  // The keys of `range` that are alive, in key order; valid until the next sweep().
  void live_own(const KeyRange& range, std::vector<KeyIndex*>& out) const;

  // REQUIRES: locked(), and `revision` is beyond every one so far. Returns what was there.
  KeyMeta put(Slice key, Revision revision, int64_t lease);
  // REQUIRES: locked(), and the key is alive.
  void tombstone(KeyIndex* key, Revision revision);
  // Reads below `revision` are refused from now on. REQUIRES: locked().
  void set_compacted(int64_t revision) QUORATE_REQUIRES(lock_);

  // One slice of a compaction's sweep over all keys: from `cursor` on (empty: the first key), at
  // most `keys_max` of them; drops what a compaction at `at` need not keep, appends it to `out` and
  // moves the cursor. True: the sweep is complete. Takes the lock itself.
  // REQUIRES: !locked(), at <= sweep_limit() when the sweep began.
  bool sweep(int64_t at, std::string& cursor, size_t keys_max, std::vector<Dropped>& out);
  // min(compact revision, lowest pin - 1): as far as a sweep may go now. Takes the lock itself.
  int64_t sweep_limit(uint64_t now_ns);

  // ------------------------------------------------ loading, before anybody reads
  struct Loaded {
    Slice key;  // outlives finish_load()
    Revision revision;
    bool tombstone;
    int64_t create_revision, version, lease;
  };
  // records: in revision order; sorted in place. The index then stands at `revision`, compacted at
  // `compacted`. REQUIRES: nothing was put before.
  void load(std::vector<Loaded>& records, int64_t revision,
            int64_t compacted) QUORATE_NO_THREAD_SAFETY_ANALYSIS;
  // Every live key that has a lease, in key order.
  template <typename Visit>
  void leased_keys(Visit&& visit) const {
    std::vector<KeyIndex*> live;
    live_own(KeyRange::from_client(Slice("\0", 1), Slice("\0", 1)), live);
    for (const KeyIndex* key : live)
      if (const KeyMeta meta = key->meta(); meta.lease != 0) visit(key->key(), meta.lease);
  }

  // ------------------------------------------------ any thread
  // What the first hold of a read found.
  struct Begun {
    int64_t current = 0;    // the published revision
    int64_t compacted = 0;  // the compact revision
    int64_t at = 0;         // the revision to read at, pinned
  };
  // What the pin protects: the state at the revision with all later records, or every record that
  // no compaction has dropped by now.
  enum class Protect { kRevision, kHistory };
  // Picks `revision` (<= 0: the published one) and pins it. kCompacted, kFutureRevision.
  Result<Begun> begin_read(Pin& pin, int64_t revision, uint64_t deadline_ns,
                           Protect protect = Protect::kRevision) const;
  int64_t published() const;
  int64_t compacted() const;

  // One slice of a walk: up to `keys_max` keys of `range` from `cursor` on (empty: from its start),
  // those that are visible at `at` added to `count` and, unless null, appended to `out`. Moves the
  // cursor. True: the walk is complete. own: the apply loop, without
  // a lock. REQUIRES: a pin at `at`, or own.
  bool slice(const KeyRange& range, int64_t at, std::string& cursor, size_t keys_max,
             std::vector<Revision>* out, int64_t& count, bool own) const;
  // The newest change of `key` at or before `at`, tombstones included; none() without one.
  Dropped newest(Slice key, int64_t at) const;

  uint64_t keys() const;          // deleted ones that are not yet swept included
  uint64_t memory_bytes() const;  // about; a walk over all keys
  Pins& pins() const { return pins_; }

 private:
  class Tree;
  bool slice_held(const KeyRange& range, int64_t at, std::string& cursor, size_t keys_max,
                  std::vector<Revision>* out, int64_t& count) const;
  const std::unique_ptr<Tree> tree_;
  mutable SharedMutex lock_{"index"};
  bool locked_ = false;                                         // by the apply loop
  Atomic<int64_t> revision_{kFirstRevision, "index.revision"};  // stored under lock_
  int64_t compacted_ QUORATE_GUARDED_BY(lock_) = kNeverCompacted;
  mutable Pins pins_;
};

}  // namespace quorate::mvcc
