// SPDX-License-Identifier: Apache-2.0
#include "load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace quorate::bench {

uint32_t Histogram::bucket(uint64_t value) {
  if (value < 2 * kSub) return static_cast<uint32_t>(value);
  const auto shift = static_cast<uint32_t>(std::bit_width(value)) - kSubBits - 1;
  return shift * kSub + static_cast<uint32_t>(value >> shift);
}

uint64_t Histogram::highest_in(uint32_t bucket) {
  if (bucket < 2 * kSub) return bucket;
  const uint32_t shift = bucket / kSub - 1;
  return ((uint64_t{bucket % kSub} + kSub + 1) << shift) - 1;
}

uint64_t Histogram::percentile(double percent) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(static_cast<double>(total_) * percent / 100));
  uint64_t seen = 0;
  for (uint32_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= wanted && seen > 0) return std::min(highest_in(i), max_);
  }
  return 0;
}

}  // namespace quorate::bench
