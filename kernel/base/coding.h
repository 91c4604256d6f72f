// SPDX-License-Identifier: Apache-2.0
// Fixed-width and variable-length integers in bytes. `put` appends, `get` reads at a place that the
// caller knows to be long enough, `take` checks, advances and can refuse.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/bytes.h"

namespace quorate {

static_assert(std::endian::native == std::endian::little, "formats are written little-endian");

template <typename T>
T get_le(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
void set_le(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <typename T>
void put_le(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline uint64_t get_be64(const char* from) {
  return __builtin_bswap64(get_le<uint64_t>(from));
}
inline void set_be64(char* to, uint64_t value) {
  set_le(to, __builtin_bswap64(value));
}
inline void put_be64(std::string& to, uint64_t value) {
  put_le(to, __builtin_bswap64(value));
}

// Protobuf's varint.
inline size_t varint_size(uint64_t value) {
  return (std::bit_width(value | 1) + 6) / 7;
}
inline char* set_varint(char* to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}
inline void put_varint(std::string& to, uint64_t value) {
  char bytes[10];
  to.append(bytes, static_cast<size_t>(set_varint(bytes, value) - bytes));
}

// Each cuts its value off the front of `from`; false, and nothing is cut, when it is not there.
inline bool take_varint(Slice& from, uint64_t& value) {
  uint64_t result = 0;
  for (size_t i = 0; i < from.size() && i < 10; ++i) {
    const auto byte = static_cast<uint8_t>(from[i]);
    if (i == 9 && byte > 1) return false;
    result |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      value = result;
      from.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}
template <typename T>
bool take_le(Slice& from, T& value) {
  if (from.size() < sizeof(T)) return false;
  value = get_le<T>(from.data());
  from.remove_prefix(sizeof(T));
  return true;
}
inline bool take_bytes(Slice& from, size_t size, Slice& bytes) {
  if (from.size() < size) return false;
  bytes = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

}  // namespace quorate
