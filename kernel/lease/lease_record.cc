// SPDX-License-Identifier: Apache-2.0
#include "base/coding.h"
#include "lease/lessor.h"

namespace quorate::lease {
namespace {

// Fields of leasepb.Lease, and two of our own far from what etcd may add.
enum Field : uint64_t {
  kId = 1,
  kTtl = 2,
  kRemaining = 3,
  kGrantRevision = 100,
  kGrantIndex = 101
};

void put_field(std::string& to, Field field, uint64_t value) {
  if (value == 0) return;
  put_varint(to, field << 3);
  put_varint(to, value);
}

// Steps over the value of a field that means nothing here.
bool skip(Slice& from, uint64_t wire_type) {
  uint64_t number = 0;
  Slice bytes;
  switch (wire_type) {
    case 0: return take_varint(from, number);
    case 1: return take_bytes(from, 8, bytes);
    case 2: return take_varint(from, number) && take_bytes(from, number, bytes);
    case 5: return take_bytes(from, 4, bytes);
    default: return false;
  }
}

bool read_field(Slice& from, LeaseRecord& to) {
  uint64_t tag = 0, value = 0;
  if (!take_varint(from, tag)) return false;
  if ((tag & 7) != 0) return skip(from, tag & 7);
  if (!take_varint(from, value)) return false;
  switch (tag >> 3) {
    case kId: to.grant.lease = static_cast<int64_t>(value); break;
    case kTtl: to.ttl = static_cast<int64_t>(value); break;
    case kRemaining: to.remaining_ttl = static_cast<int64_t>(value); break;
    case kGrantRevision: to.grant.grant_revision = static_cast<int64_t>(value); break;
    case kGrantIndex: to.grant.grant_index = value; break;
    default: break;
  }
  return true;
}

}  // namespace

std::string lease_key(int64_t id) {
  std::string key;
  put_be64(key, static_cast<uint64_t>(id));
  return key;
}

std::string encode_lease(const LeaseRecord& lease) {
  std::string record;
  put_field(record, kId, static_cast<uint64_t>(lease.grant.lease));
  put_field(record, kTtl, static_cast<uint64_t>(lease.ttl));
  put_field(record, kRemaining, static_cast<uint64_t>(lease.remaining_ttl));
  put_field(record, kGrantRevision, static_cast<uint64_t>(lease.grant.grant_revision));
  put_field(record, kGrantIndex, lease.grant.grant_index);
  return record;
}

Result<LeaseRecord> decode_lease(Slice record) {
  LeaseRecord lease;
  while (!record.empty()) {
    if (!read_field(record, lease)) {
      return Status(Code::kCorrupt, "a record of bucket lease is not readable");
    }
  }
  return lease;
}

}  // namespace quorate::lease
