// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), by the processor's instruction where it has one.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace quorate::sdk {

namespace crc32c_detail {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    table[i] = crc;
  }
  return table;
}
inline constexpr std::array<uint32_t, 256> kTable = make_table();

inline uint32_t by_table(uint32_t crc, std::string_view bytes) {
  for (const char byte : bytes)
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) inline uint32_t by_instruction(uint32_t crc,
                                                                 std::string_view bytes) {
  uint64_t wide = crc;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (const char byte : bytes) crc = __builtin_ia32_crc32qi(crc, static_cast<uint8_t>(byte));
  return crc;
}
#endif

}  // namespace crc32c_detail

// The checksum of what `crc` is the checksum of, followed by `bytes`.
inline uint32_t crc32c(std::string_view bytes, uint32_t crc = 0) {
#ifdef __x86_64__
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~crc32c_detail::by_instruction(~crc, bytes);
#endif
  return ~crc32c_detail::by_table(~crc, bytes);
}

}  // namespace quorate::sdk
