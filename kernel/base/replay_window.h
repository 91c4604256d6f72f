// SPDX-License-Identifier: Apache-2.0
// Tells what came before from what is new, by numbers that only grow at their sender, though what
// they name may come late and in another order (as IPsec does, RFC 4303, 3.4.3). Too old to be told
// counts as seen.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace quorate {

class ReplayWindow {
 public:
  static constexpr uint64_t kSize = 1024;

  // True the first time that `number` comes.
  bool is_new(uint64_t number) {
    if (number > newest_) {
      const uint64_t further = number - newest_;
      if (further >= kSize)
        seen_.reset();
      else
        for (uint64_t n = newest_ + 1; n < number; ++n) seen_.reset(n % kSize);
      newest_ = number;
    } else if (newest_ - number >= kSize || seen_.test(number % kSize)) {
      return false;
    }
    seen_.set(number % kSize);
    return true;
  }

 private:
  uint64_t newest_ = 0;
  std::bitset<kSize> seen_;
};

}  // namespace quorate
