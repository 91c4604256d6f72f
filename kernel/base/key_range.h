// SPDX-License-Identifier: Apache-2.0
// What the pair (key, range_end) of a client means: one key, [key, end), or every key from `key`
// on. One spelling of the rule for reads, deletes, compares, watches and permissions.
#pragma once

#include "base/bytes.h"

namespace quorate {

struct KeyRange {
  Slice begin;
  Slice end;            // of [begin, end); meaningless when single or open
  bool single = false;  // the key `begin` alone
  bool open = false;    // every key >= begin

  KeyRange() = default;
  // All four are named: a pair (begin, end) is what a client sends, and from_client reads it.
  KeyRange(Slice first, Slice past, bool one, bool rest)
      : begin(first), end(past), single(one), open(rest) {}
  // range_end empty: the key alone; one zero byte: every key from `key` on. Slices are borrowed.
  static KeyRange from_client(Slice key, Slice range_end) {
    if (range_end.empty()) return {key, {}, true, false};
    if (range_end == Slice("\0", 1)) return {key, {}, false, true};
    return {key, range_end, false, false};
  }
  bool contains(Slice key) const {
    if (single) return key == begin;
    return key >= begin && (open || key < end);
  }
  // No key can lie inside; legal, and matches nothing.
  bool empty() const { return !single && !open && begin >= end; }
};

}  // namespace quorate
