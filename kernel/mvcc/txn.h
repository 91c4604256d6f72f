// SPDX-License-Identifier: Apache-2.0
// One transaction of the apply loop: all its changes share one new revision, numbered by sub-
// revisions. There is no way back: apply validates the whole request first, with the look-ups
// offered here, and after the first change nothing may fail but the engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "mvcc/key_index.h"
#include "mvcc/range.h"

namespace quorate::mvcc {

class Store;

// A key that delete_range() removed.
struct Deleted {
  Slice key;         // valid until the batch ends
  KeyMeta previous;  // its record: Store::read(previous.revision)
};

// Lives on the apply loop between Store::begin() and end(); one at a time.
class WriteTxn {
 public:
  // What a range without a revision reads at, and what an operation's own header carries: the
  // store's revision before the first change, one more from then on.
  int64_t revision() const { return changed() ? base_ + 1 : base_; }
  // The store's revision before this transaction; a range may not ask beyond it.
  int64_t base() const { return base_; }
  bool changed() const { return next_sub_ != 0; }

  // The key as it is now, own changes included.
  KeyMeta find(Slice key) const;

  // Writes the key; the slices are copied. REQUIRES: the key is not empty, and this transaction has
  // not changed it before. Returns what was there.
  KeyMeta put(Slice key, Slice value, int64_t lease);
  // Removes every live key of the range, in key order, and appends what was there. Returns how
  // many.
  size_t delete_range(const KeyRange& range, std::vector<Deleted>* deleted);

  // Appends runs to `out`. revision: 0 is "now"; else one that Store::check_revision() accepted.
  // Fails only when the engine does.
  Result<RangeOutcome> range(const RangeQuery& query, int64_t revision, std::string& out);

  // The new revision becomes the store's, if anything changed. Returns the store's revision.
  int64_t end();

 private:
  friend class Store;
  WriteTxn(Store* store, int64_t base) : store_(store), base_(base) {}
  Revision next_revision();

  Store* store_;
  const int64_t base_;
  uint32_t next_sub_ = 0;
};

}  // namespace quorate::mvcc
