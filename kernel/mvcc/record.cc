// SPDX-License-Identifier: Apache-2.0
#include "mvcc/record.h"

#include "base/coding.h"

namespace quorate::mvcc {
namespace {

constexpr char kKey = 0x0a;
constexpr char kCreateRevision = 0x10;
constexpr char kModRevision = 0x18;
constexpr char kVersion = 0x20;
constexpr char kValue = 0x2a;
constexpr char kLease = 0x30;

size_t number_size(int64_t number) {
  return number == 0 ? 0 : 1 + varint_size(static_cast<uint64_t>(number));
}
size_t bytes_size(Slice bytes) {
  return bytes.empty() ? 0 : 1 + varint_size(bytes.size()) + bytes.size();
}
char* set_number(char* to, char tag, int64_t number) {
  if (number == 0) return to;
  *to++ = tag;
  return set_varint(to, static_cast<uint64_t>(number));
}
char* set_bytes(char* to, char tag, Slice bytes) {
  if (bytes.empty()) return to;
  *to++ = tag;
  to = set_varint(to, bytes.size());
  std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

// Wire types of protobuf.
enum : uint64_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

// One field: number() or bytes() holds its value, by its type.
bool take_field(Slice& from, uint64_t& tag, uint64_t& number, Slice& bytes) {
  if (!take_varint(from, tag) || tag >> 3 == 0) return false;
  switch (tag & 7) {
    case kVarint: return take_varint(from, number);
    case kFixed64: return take_bytes(from, 8, bytes);
    case kLengthDelimited: return take_varint(from, number) && take_bytes(from, number, bytes);
    case kFixed32: return take_bytes(from, 4, bytes);
    default: return false;
  }
}

}  // namespace

size_t record_size(const Record& record) {
  return bytes_size(record.key) + number_size(record.create_revision) +
         number_size(record.mod_revision) + number_size(record.version) + bytes_size(record.value) +
         number_size(record.lease);
}

char* write_record(const Record& record, char* to) {
  to = set_bytes(to, kKey, record.key);
  to = set_number(to, kCreateRevision, record.create_revision);
  to = set_number(to, kModRevision, record.mod_revision);
  to = set_number(to, kVersion, record.version);
  to = set_bytes(to, kValue, record.value);
  return set_number(to, kLease, record.lease);
}

std::string encode_record(const Record& record) {
  std::string bytes(record_size(record), '\0');
  write_record(record, bytes.data());
  return bytes;
}

Result<Record> parse_record(Slice bytes) {
  Record record;
  while (!bytes.empty()) {
    uint64_t tag = 0, number = 0;
    Slice content;
    if (!take_field(bytes, tag, number, content)) {
      return Status(Code::kCorrupt, "a record is no KeyValue message");
    }
    switch (tag) {
      case kKey: record.key = content; break;
      case kCreateRevision: record.create_revision = static_cast<int64_t>(number); break;
      case kModRevision: record.mod_revision = static_cast<int64_t>(number); break;
      case kVersion: record.version = static_cast<int64_t>(number); break;
      case kValue: record.value = content; break;
      case kLease: record.lease = static_cast<int64_t>(number); break;
      default: break;
    }
  }
  return record;
}

size_t run_bytes(size_t record_size) {
  return 1 + varint_size(record_size) + record_size;
}

void append_run(std::string& to, char tag, Slice record) {
  to.push_back(tag);
  put_varint(to, record.size());
  to.append(record);
}

}  // namespace quorate::mvcc
