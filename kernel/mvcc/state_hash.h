// SPDX-License-Identifier: Apache-2.0
// The rolling hash over what a store was told to hold: members that applied the same entries have
// the same number, whatever their engines. It finds divergence; it is no defence against somebody
// who makes collisions.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/random.h"

namespace quorate::mvcc {

// Changes with what is hashed, or how: members compare only hashes of one version.
inline constexpr uint32_t kStateHashVersion = 1;

// 64 x 64 -> 128 bits, folded: each bit of the result hangs on all bits of both.
inline uint64_t fold(uint64_t a, uint64_t b) {
  const uint128 product = static_cast<uint128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// The hash of `state` followed by `bytes`. Part of the format of `meta/applied`.
inline uint64_t roll(uint64_t state, Slice bytes) {
  constexpr uint64_t kOdd1 = 0x9e3779b97f4a7c15, kOdd2 = 0xd1b54a32d192ed03;
  uint64_t hash = fold(state ^ kOdd1, bytes.size() ^ kOdd2);
  for (; bytes.size() >= 16; bytes.remove_prefix(16)) {
    hash = fold(hash ^ get_le<uint64_t>(bytes.data()),
                (hash + kOdd1) ^ get_le<uint64_t>(bytes.data() + 8));
  }
  char tail[16] = {};
  if (!bytes.empty()) std::memcpy(tail, bytes.data(), bytes.size());
  return fold(hash ^ get_le<uint64_t>(tail) ^ kOdd2, (hash + kOdd1) ^ get_le<uint64_t>(tail + 8));
}

}  // namespace quorate::mvcc
