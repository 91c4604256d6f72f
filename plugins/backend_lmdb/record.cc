// SPDX-License-Identifier: Apache-2.0
#include "backend_lmdb/record.h"

#include "sdk/crc32c.h"
#include "sdk/error.h"

namespace quorate::backend_lmdb {
namespace {

uint32_t get_u32(std::string_view bytes, size_t at) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void put_u32(std::string& to, size_t value) {
  const auto narrow = static_cast<uint32_t>(value);
  to.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
}

void append_entry(std::string& shelf, std::string_view key_rest, std::string_view value) {
  put_u32(shelf, key_rest.size());
  put_u32(shelf, value.size());
  shelf.append(key_rest).append(value);
}

}  // namespace

uint32_t record_checksum(uint32_t seed, std::string_view lmdb_key, std::string_view data) {
  return sdk::crc32c(data, sdk::crc32c(lmdb_key, seed));
}

std::string_view checked_data(uint32_t seed, std::string_view lmdb_key, std::string_view stored) {
  if (stored.size() >= kChecksumSize) {
    const std::string_view data = stored.substr(0, stored.size() - kChecksumSize);
    if (get_u32(stored, data.size()) == record_checksum(seed, lmdb_key, data)) return data;
  }
  throw sdk::Failure(QUORATE_CORRUPT,
                     "a stored record does not match its checksum: the disk gave back other bytes "
                     "than were written; restore this member from its peers or from a snapshot");
}

bool ShelfReader::next() {
  if (rest_.empty()) return false;
  const size_t key_size = get_u32(rest_, 0), value_size = get_u32(rest_, 4);
  key_rest_ = rest_.substr(8, key_size);
  value_ = rest_.substr(8 + key_size, value_size);
  rest_.remove_prefix(8 + key_size + value_size);
  return true;
}

std::string shelf_with(std::string_view shelf, std::string_view key_rest, std::string_view value) {
  std::string result;
  bool placed = false;
  const auto place = [&] {
    if (!placed) append_entry(result, key_rest, value);
    placed = true;
  };
  ShelfReader reader(shelf);
  while (reader.next()) {
    if (reader.key_rest() >= key_rest) place();
    if (reader.key_rest() != key_rest) append_entry(result, reader.key_rest(), reader.value());
  }
  place();
  return result;
}

std::string shelf_without(std::string_view shelf, std::string_view key_rest) {
  std::string result;
  ShelfReader reader(shelf);
  while (reader.next())
    if (reader.key_rest() != key_rest) append_entry(result, reader.key_rest(), reader.value());
  return result;
}

}  // namespace quorate::backend_lmdb
