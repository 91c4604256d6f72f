// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli; RFC 3720, B.4): with the processor's instruction where it has one.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace quorate {

// The checksum of `bytes`, or, given the checksum of what goes before them as `before`, of both:
// crc32c(b, crc32c(a)) == crc32c(a + b). Any other `before` serves as a seed.
uint32_t crc32c(Slice bytes, uint32_t before = 0);

// The same, computed from a table; for machines without the instruction, and for tests.
uint32_t crc32c_by_table(Slice bytes, uint32_t before = 0);

}  // namespace quorate
