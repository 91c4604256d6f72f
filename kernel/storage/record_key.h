// SPDX-License-Identifier: Apache-2.0
// The key of a record in the bucket `key`: main revision, '_', sub-revision, all big-endian, so
// that byte order is revision order; 17 bytes. A tombstone has a 't' behind it; 18 bytes.
#pragma once

#include <compare>
#include <cstdint>

#include "base/bytes.h"
#include "base/coding.h"

namespace quorate::storage {

// One change: `main` is the revision that clients see, `sub` numbers the changes of one
// transaction. {0, 0}: none.
struct Revision {
  int64_t main = 0;
  uint32_t sub = 0;
  bool none() const { return main == 0; }
  friend auto operator<=>(const Revision&, const Revision&) = default;
};

inline constexpr size_t kRecordKeyBytes = 17;
inline constexpr size_t kTombstoneKeyBytes = 18;

// Writes 17 or 18 bytes, returns how many.
inline size_t set_record_key(char* to, Revision revision, bool tombstone) {
  set_be64(to, static_cast<uint64_t>(revision.main));
  to[8] = '_';
  set_be64(to + 9, revision.sub);
  if (!tombstone) return kRecordKeyBytes;
  to[17] = 't';
  return kTombstoneKeyBytes;
}

struct RecordKey {
  char bytes[kTombstoneKeyBytes];
  size_t size;
  RecordKey(Revision revision, bool tombstone) : size(set_record_key(bytes, revision, tombstone)) {}
  Slice slice() const { return {bytes, size}; }
};

// False when `key` has not the form of a record's key.
inline bool parse_record_key(Slice key, Revision& revision, bool& tombstone) {
  if (key.size() != kRecordKeyBytes && key.size() != kTombstoneKeyBytes) return false;
  tombstone = key.size() == kTombstoneKeyBytes;
  const uint64_t main = get_be64(key.data());
  const uint64_t sub = get_be64(key.data() + 9);
  if (key[8] != '_' || (tombstone && key[17] != 't')) return false;
  if (main > INT64_MAX || sub > UINT32_MAX) return false;
  revision = {static_cast<int64_t>(main), static_cast<uint32_t>(sub)};
  return true;
}

}  // namespace quorate::storage
