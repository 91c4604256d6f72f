// SPDX-License-Identifier: Apache-2.0
// A record: an mvccpb.KeyValue in protobuf's wire form, written as Go's encoder writes it (fields
// in the order of their numbers, zeros left out), so that hashes and files agree byte for byte with
// etcd's. Fields are read in place. A tombstone's record holds the key only.
//
//   1 key   2 create_revision   3 mod_revision   4 version   5 value   6 lease
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace quorate::mvcc {

// The slices borrow from the record, or from whoever fills one in to be written.
struct Record {
  Slice key{};
  int64_t create_revision = 0;
  int64_t mod_revision = 0;
  int64_t version = 0;
  Slice value{};
  int64_t lease = 0;
  friend bool operator==(const Record&, const Record&) = default;
};

size_t record_size(const Record& record);
// Writes exactly record_size() bytes; returns the end.
char* write_record(const Record& record, char* to);
std::string encode_record(const Record& record);

// Fields in any order, the last of a repeated one counts, unknown ones are skipped. kCorrupt when
// the bytes are no protobuf message.
Result<Record> parse_record(Slice bytes);

// A run is what a Response carries: for each record a tag byte, the length as a varint, the record.
inline constexpr char kRangeTag = 0x12;    // RangeResponse.kvs
inline constexpr char kPrevKvsTag = 0x1a;  // DeleteRangeResponse.prev_kvs
size_t run_bytes(size_t record_size);
void append_run(std::string& to, char tag, Slice record);

}  // namespace quorate::mvcc
