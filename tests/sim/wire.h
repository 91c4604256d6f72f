// SPDX-License-Identifier: Apache-2.0
// What answers and events carry in protobuf's wire form, read into plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/coding.h"
#include "mvcc/record.h"
#include "sim/oracle.h"

namespace quorate::sim {

inline std::optional<Slice> take_field(Slice& bytes) {
  uint64_t size = 0;
  Slice field;
  if (!take_varint(bytes, size) || !take_bytes(bytes, size, field)) return std::nullopt;
  return field;
}

inline std::optional<KeyValue> parse_key_value(Slice bytes) {
  const Result<mvcc::Record> record = mvcc::parse_record(bytes);
  if (!record) return std::nullopt;
  return KeyValue{std::string(record->key), std::string(record->value),
                  record->create_revision,  record->mod_revision,
                  record->version,          record->lease};
}

// A run of records: RangeResponse.kvs as it lies in the answer.
inline std::optional<std::vector<KeyValue>> parse_run(Slice bytes) {
  std::vector<KeyValue> pairs;
  while (!bytes.empty()) {
    bytes.remove_prefix(1);
    const std::optional<Slice> field = take_field(bytes);
    if (!field) return std::nullopt;
    std::optional<KeyValue> pair = parse_key_value(*field);
    if (!pair) return std::nullopt;
    pairs.push_back(std::move(*pair));
  }
  return pairs;
}

struct WireEvent {
  bool tombstone = false;
  KeyValue kv;
};

// An mvccpb.Event: 1 type, 2 kv, 3 prev_kv.
inline std::optional<WireEvent> parse_event(Slice bytes) {
  WireEvent event;
  while (!bytes.empty()) {
    uint64_t tag = 0, type = 0;
    if (!take_varint(bytes, tag)) return std::nullopt;
    if (tag == 0x08) {
      if (!take_varint(bytes, type)) return std::nullopt;
      event.tombstone = type == 1;
      continue;
    }
    const std::optional<Slice> field = take_field(bytes);
    if (!field) return std::nullopt;
    if (tag != 0x12) continue;
    std::optional<KeyValue> kv = parse_key_value(*field);
    if (!kv) return std::nullopt;
    event.kv = std::move(*kv);
  }
  return event;
}

}  // namespace quorate::sim
