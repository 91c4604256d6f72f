// SPDX-License-Identifier: Apache-2.0
// A seeded source of chance: xoshiro256** (Blackman and Vigna, 2018). Same seed, same numbers, on
// every machine. Each server owns one; its seed comes through Env. Not for secrets.
#pragma once

#include <bit>
#include <cstdint>

namespace quorate {

__extension__ using uint128 = unsigned __int128;

class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) word = mix(seed);
  }
  uint64_t next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  // A number in [0, bound). REQUIRES: bound > 0. The bias is below bound / 2^64.
  uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<uint128>(next()) * bound) >> 64);
  }
  // True once in `n` times.
  bool one_in(uint64_t n) { return below(n) == 0; }

 private:
  // splitmix64, which spreads a small seed over the whole state.
  static uint64_t mix(uint64_t& seed) {
    uint64_t z = (seed += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t state_[4];
};

}  // namespace quorate
