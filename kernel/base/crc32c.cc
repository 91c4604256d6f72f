// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <array>

#include "base/coding.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace quorate {
namespace {

constexpr uint32_t kPolynomialReversed = 0x82f63b78;

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomialReversed : 0);
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc32c_by_instruction(Slice bytes, uint32_t before) {
  uint64_t crc = ~before;
  const char* from = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; from += 8, left -= 8) crc = _mm_crc32_u64(crc, get_le<uint64_t>(from));
  auto crc32 = static_cast<uint32_t>(crc);
  for (; left > 0; ++from, --left) crc32 = _mm_crc32_u8(crc32, static_cast<uint8_t>(*from));
  return ~crc32;
}
#endif

}  // namespace

uint32_t crc32c_by_table(Slice bytes, uint32_t before) {
  uint32_t crc = ~before;
  for (char byte : bytes) crc = kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

uint32_t crc32c(Slice bytes, uint32_t before) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc32c_by_instruction(bytes, before);
#endif
  return crc32c_by_table(bytes, before);
}

}  // namespace quorate
