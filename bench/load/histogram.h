// SPDX-License-Identifier: Apache-2.0
// Latencies by count, in buckets that are 1/32 of their value wide: percentiles are good to 3 %, at
// a fixed size and a few nanoseconds a record.
#pragma once

#include <array>
#include <cstdint>

namespace quorate::bench {

class Histogram {
 public:
  void record(uint64_t value) {
    ++counts_[bucket(value)];
    ++total_;
    if (value > max_) max_ = value;
  }
  uint64_t total() const { return total_; }
  uint64_t max() const { return max_; }
  // The value that `percent` of the records do not exceed; 0 when there are none.
  uint64_t percentile(double percent) const;

 private:
  static constexpr uint32_t kSubBits = 5;
  static constexpr uint32_t kSub = 1u << kSubBits;

  // Values below 2 * kSub have a bucket each; above, each doubling has kSub of them.
  static uint32_t bucket(uint64_t value);
  static uint64_t highest_in(uint32_t bucket);

  std::array<uint64_t, (64 - kSubBits + 1) * kSub> counts_{};
  uint64_t total_ = 0;
  uint64_t max_ = 0;
};

}  // namespace quorate::bench
