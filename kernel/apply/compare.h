// SPDX-License-Identifier: Apache-2.0
// The compares of a transaction, over whatever state they are asked of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apply/request.h"
#include "base/result.h"

namespace quorate::apply {

// The left side of a compare: one key as it is. All zero: it does not exist.
struct KeyFacts {
  bool exists = false;
  int64_t version = 0;
  int64_t create_revision = 0;
  int64_t mod_revision = 0;
  int64_t lease = 0;
  Slice value;  // only where it was asked for; valid until the next call
};

// The state before the transaction. Calls fail only when the engine does.
class CompareView {
 public:
  virtual ~CompareView() = default;
  virtual Result<KeyFacts> key(Slice key, bool with_value) = 0;
  // The records of a range, as runs.
  virtual Result<std::string> runs(Slice key, Slice range_end) = 0;
};

// Whether all compares hold. An empty range counts as a missing key; a value compare on a missing
// key never holds.
Result<bool> all_hold(CompareView& view, const std::vector<CompareOp>& compares);

// Whether one compare holds for one key.
bool holds(const CompareOp& compare, const KeyFacts& left);

}  // namespace quorate::apply
