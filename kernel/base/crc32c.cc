// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <array>

#include "base/coding.h"

#if defined(__x86_64__)
#include <immintrin.h>
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
// The instruction takes three cycles and a new one may begin in each, so three stretches that lie
// one behind the other are summed at once. Each sum but the last is then carried over the stretches
// behind it, as if those held zeros: that is linear in its bits, and so a table for each byte.
constexpr size_t kStretchBytes = 256;
using StretchTables = std::array<std::array<uint32_t, 256>, 4>;

constexpr StretchTables make_stretch_tables() {
  StretchTables tables{};
  for (uint32_t bit = 0; bit < 32; ++bit) {
    uint32_t crc = uint32_t{1} << bit;
    for (size_t i = 0; i < kStretchBytes; ++i) crc = kTable[crc & 0xff] ^ (crc >> 8);
    std::array<uint32_t, 256>& table = tables[bit / 8];
    for (uint32_t byte = 0; byte < 256; ++byte)
      if ((byte >> bit % 8 & 1) != 0) table[byte] ^= crc;
  }
  return tables;
}
constexpr StretchTables kStretch = make_stretch_tables();

uint32_t over_stretch(uint32_t crc) {
  return kStretch[0][crc & 0xff] ^ kStretch[1][crc >> 8 & 0xff] ^ kStretch[2][crc >> 16 & 0xff] ^
         kStretch[3][crc >> 24];
}

__attribute__((target("sse4.2"))) uint32_t crc32c_by_instruction(Slice bytes, uint32_t before) {
  uint64_t crc = ~before;
  const char* from = bytes.data();
  size_t left = bytes.size();
  for (; left >= 3 * kStretchBytes; from += 3 * kStretchBytes, left -= 3 * kStretchBytes) {
    uint64_t second = 0, third = 0;
    for (size_t at = 0; at < kStretchBytes; at += 8) {
      crc = _mm_crc32_u64(crc, get_le<uint64_t>(from + at));
      second = _mm_crc32_u64(second, get_le<uint64_t>(from + kStretchBytes + at));
      third = _mm_crc32_u64(third, get_le<uint64_t>(from + 2 * kStretchBytes + at));
    }
    const uint32_t two = over_stretch(static_cast<uint32_t>(crc)) ^ static_cast<uint32_t>(second);
    crc = over_stretch(two) ^ static_cast<uint32_t>(third);
  }
  for (; left >= 8; from += 8, left -= 8) crc = _mm_crc32_u64(crc, get_le<uint64_t>(from));
  auto crc32 = static_cast<uint32_t>(crc);
  for (; left > 0; ++from, --left) crc32 = _mm_crc32_u8(crc32, static_cast<uint8_t>(*from));
  return ~crc32;
}

// x to the power of `bits` modulo the polynomial, as a factor of a carry-less product: both its
// sides have their bits reversed, so it comes out one place too low.
constexpr uint64_t power(int bits) {
  uint32_t crc = uint32_t{1} << 31;
  for (int i = 0; i < bits; ++i) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomialReversed : 0);
  return uint64_t{crc} << 1;
}

// Where the processor multiplies without carry, four products at a time: a lane of 16 bytes that
// counts for `distance` bytes further on is its two halves times powers of x. So 256 bytes are kept
// and moved over the text, and the sum of what is left of them is the sum of all.
// Gopal, Ozturk, Guilford and others, Fast CRC Computation Using PCLMULQDQ, Intel 2009.
constexpr size_t kFoldBytes = 256;
constexpr size_t kFoldFrom = 2048;  // below it the rest costs as much as is saved
#define QUORATE_FOLD __attribute__((target("avx512f,vpclmulqdq,sse4.2")))

QUORATE_FOLD __m512i fold(__m512i lanes, __m512i powers, const char* from) {
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(lanes, powers, 0x00),
                                   _mm512_clmulepi64_epi128(lanes, powers, 0x11),
                                   _mm512_loadu_si512(from), 0x96);
}

QUORATE_FOLD uint32_t crc32c_by_folding(Slice bytes, uint32_t before) {
  constexpr int kBits = 8 * kFoldBytes;
  constexpr auto kFirst = static_cast<int64_t>(power(kBits + 32)),
                 kSecond = static_cast<int64_t>(power(kBits - 32));
  const __m512i powers = _mm512_set4_epi64(kSecond, kFirst, kSecond, kFirst);
  const char* from = bytes.data();
  const char* const end = from + bytes.size();
  const __m128i start = _mm_cvtsi32_si128(static_cast<int>(~before));
  __m512i a = _mm512_xor_si512(_mm512_loadu_si512(from), _mm512_zextsi128_si512(start));
  __m512i b = _mm512_loadu_si512(from + 64), c = _mm512_loadu_si512(from + 128),
          d = _mm512_loadu_si512(from + 192);
  for (from += kFoldBytes; from + kFoldBytes <= end; from += kFoldBytes) {
    a = fold(a, powers, from);
    b = fold(b, powers, from + 64);
    c = fold(c, powers, from + 128);
    d = fold(d, powers, from + 192);
  }
  alignas(64) char left[kFoldBytes];
  _mm512_store_si512(left, a);
  _mm512_store_si512(left + 64, b);
  _mm512_store_si512(left + 128, c);
  _mm512_store_si512(left + 192, d);
  const uint32_t crc = crc32c_by_instruction(Slice(left, kFoldBytes), ~uint32_t{0});
  return crc32c_by_instruction(Slice(from, static_cast<size_t>(end - from)), crc);
}

bool can_fold() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
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
  if (bytes.size() >= kFoldFrom && can_fold()) return crc32c_by_folding(bytes, before);
  if (__builtin_cpu_supports("sse4.2")) return crc32c_by_instruction(bytes, before);
#endif
  return crc32c_by_table(bytes, before);
}

}  // namespace quorate
