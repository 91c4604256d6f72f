// SPDX-License-Identifier: Apache-2.0
// What answers and events carry in protobuf's wire form, read into plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "mvcc/record.h"
#include "sim/oracle.h"

namespace quorate::sim {

inline std::optional<uint64_t> take_varint(Slice& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

inline std::optional<Slice> take_field(Slice& bytes) {
  const std::optional<uint64_t> size = take_varint(bytes);
  if (!size || *size > bytes.size()) return std::nullopt;
  const Slice field = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
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
    const std::optional<uint64_t> tag = take_varint(bytes);
    if (!tag) return std::nullopt;
    if (*tag == 0x08) {
      const std::optional<uint64_t> type = take_varint(bytes);
      if (!type) return std::nullopt;
      event.tombstone = *type == 1;
      continue;
    }
    const std::optional<Slice> field = take_field(bytes);
    if (!field) return std::nullopt;
    if (*tag != 0x12) continue;
    std::optional<KeyValue> kv = parse_key_value(*field);
    if (!kv) return std::nullopt;
    event.kv = std::move(*kv);
  }
  return event;
}

}  // namespace quorate::sim
