// SPDX-License-Identifier: Apache-2.0
// How a bucket's pairs lie in an LMDB database. LMDB keeps no checksums and takes keys of at most
// 511 bytes; both are made good here.
//
// A key of less than 511 bytes is an LMDB key; its data is the value and a checksum. All longer
// keys that agree in their first 511 bytes lie together in one *shelf* under those bytes: in key
// order, for each the size of the rest of the key (4 bytes), the size of the value (4 bytes), the
// rest of the key, the value; then a checksum. So byte order is kept: whatever sorts between two
// keys of a shelf is on it too. Changing a shelf rewrites it; such keys are rare.
//
// The checksum (4 bytes) is the CRC-32C of the bucket's name, the LMDB key and the data before it.
// Numbers are little-endian.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace quorate::backend_lmdb {

inline constexpr size_t kStemSize = 511;  // LMDB's limit; an LMDB key of this size names a shelf
inline constexpr size_t kChecksumSize = 4;

// The LMDB key of `key`.
inline std::string_view stem_of(std::string_view key) {
  return key.substr(0, kStemSize);
}
inline bool is_shelf(std::string_view lmdb_key) {
  return lmdb_key.size() == kStemSize;
}

// `seed` is the CRC-32C of the bucket's name.
uint32_t record_checksum(uint32_t seed, std::string_view lmdb_key, std::string_view data);

// The data before a right checksum; throws Failure(QUORATE_CORRUPT).
std::string_view checked_data(uint32_t seed, std::string_view lmdb_key, std::string_view stored);

// Walks a shelf's data, which is checked.
class ShelfReader {
 public:
  explicit ShelfReader(std::string_view data) : rest_(data) {}

  // To the first, then each next entry. False at the end.
  bool next();
  std::string_view key_rest() const { return key_rest_; }
  std::string_view value() const { return value_; }

 private:
  std::string_view rest_, key_rest_, value_;
};

// The shelf with an entry put in its place, or replaced; without it.
std::string shelf_with(std::string_view shelf, std::string_view key_rest, std::string_view value);
std::string shelf_without(std::string_view shelf, std::string_view key_rest);

}  // namespace quorate::backend_lmdb
