// SPDX-License-Identifier: Apache-2.0
// Reads stored records where they lie. A record is mvccpb.KeyValue in canonical wire form: fields
// in order of number, zeros and empty bytes left out. A run is what an answer carries: for each
// record the tag byte that its field has in etcd's message, the length as a varint, the record.
//
// Everything here is a view into the bytes it was given and lives as long as they do. Bytes that
// are no canonical record, or no whole run, are refused and never read past their end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quorate::sdk {

inline constexpr uint8_t kRangeRunTag = 0x12;     // RangeResponse.kvs
inline constexpr uint8_t kPreviousRunTag = 0x1a;  // DeleteRangeResponse.prev_kvs

// Cuts a varint off the front of `from`. False, and nothing is cut, when none is there.
inline bool take_varint(std::string_view& from, uint64_t& value) {
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

// Cuts a length and so many bytes off the front of `from`. False, and `from` is of no more use,
// when they are not all there.
inline bool take_bytes(std::string_view& from, std::string_view& bytes) {
  uint64_t size = 0;
  if (!take_varint(from, size) || size > from.size()) return false;
  bytes = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

struct KeyValue {
  std::string_view key;
  int64_t create_revision = 0;
  int64_t mod_revision = 0;
  int64_t version = 0;
  std::string_view value;
  int64_t lease = 0;

  // The record's bytes before and after its field 5: back to back they are the record without a
  // value. `after_value` is empty when there is no value.
  std::string_view before_value;
  std::string_view after_value;
};

inline std::optional<KeyValue> read_record(std::string_view record) {
  KeyValue kv;
  kv.before_value = record;
  std::string_view rest = record;
  uint8_t last_field = 0;
  while (!rest.empty()) {
    const size_t field_at = record.size() - rest.size();
    const auto tag = static_cast<uint8_t>(rest[0]);
    const auto field = static_cast<uint8_t>(tag >> 3);
    if (field <= last_field) return std::nullopt;
    last_field = field;
    rest.remove_prefix(1);
    uint64_t number = 0;
    switch (tag) {
      case 1 << 3 | 2:
        if (!take_bytes(rest, kv.key)) return std::nullopt;
        break;
      case 5 << 3 | 2:
        if (!take_bytes(rest, kv.value)) return std::nullopt;
        kv.before_value = record.substr(0, field_at);
        kv.after_value = rest;
        break;
      case 2 << 3:
        if (!take_varint(rest, number)) return std::nullopt;
        kv.create_revision = static_cast<int64_t>(number);
        break;
      case 3 << 3:
        if (!take_varint(rest, number)) return std::nullopt;
        kv.mod_revision = static_cast<int64_t>(number);
        break;
      case 4 << 3:
        if (!take_varint(rest, number)) return std::nullopt;
        kv.version = static_cast<int64_t>(number);
        break;
      case 6 << 3:
        if (!take_varint(rest, number)) return std::nullopt;
        kv.lease = static_cast<int64_t>(number);
        break;
      default: return std::nullopt;
    }
  }
  return kv;
}

// Walks a run whose records all have `tag`:
//
//   RunReader run(bytes, kRangeRunTag);
//   while (run.next()) use(run.record());
//   if (run.damaged()) ...
class RunReader {
 public:
  RunReader(std::string_view run, uint8_t tag) : rest_(run), tag_(tag) {}

  // To the first, then to each following record; false at the end, and for good at damage.
  bool next() {
    if (rest_.empty() || damaged_) return false;
    damaged_ = static_cast<uint8_t>(rest_[0]) != tag_;
    rest_.remove_prefix(1);
    if (!damaged_) damaged_ = !take_bytes(rest_, record_);
    return !damaged_;
  }

  std::string_view record() const { return record_; }
  bool damaged() const { return damaged_; }

 private:
  std::string_view rest_;
  std::string_view record_;
  uint8_t tag_;
  bool damaged_ = false;
};

inline void append_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

// Appends the run that `run` is without its values, as an answer for keys only has it. False when
// `run` is damaged; `to` then ends with a part of it.
inline bool append_run_without_values(std::string& to, std::string_view run, uint8_t tag) {
  RunReader records(run, tag);
  while (records.next()) {
    const std::optional<KeyValue> kv = read_record(records.record());
    if (!kv) return false;
    to.push_back(static_cast<char>(tag));
    append_varint(to, kv->before_value.size() + kv->after_value.size());
    to.append(kv->before_value).append(kv->after_value);
  }
  return !records.damaged();
}

}  // namespace quorate::sdk
