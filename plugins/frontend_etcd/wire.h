// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire form, by hand: a reader that walks the fields of one message in place, and a
// writer that appends one to a string. Neither knows a message; the codecs do.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace quorate::frontend_etcd::wire {

enum Type : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroup = 3,
  kGroupEnd = 4,
  kFixed32 = 5
};

inline constexpr int kGroupDepthMax = 32;

// Walks the fields of a message:
//
//   for (Reader in(bytes); in.next();) switch (in.field()) {
//     case 1: key = in.bytes(); break;
//   }
//   if (in.damaged()) ...
//
// A field that no getter asks for is skipped. A getter whose field has another wire type makes the
// message damaged, as in etcd's own decoder. Views live as long as the bytes.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  // To the next field; false at the end, and for good at damage.
  bool next() {
    if (damaged_ || at_ == end_) return false;
    uint64_t tag = 0;
    if (!varint(tag) || tag >> 3 == 0 || tag >> 32 != 0) return damage();
    field_ = static_cast<uint32_t>(tag >> 3);
    type_ = static_cast<uint32_t>(tag & 7);
    switch (type_) {
      case kVarint: return varint(number_) || damage();
      case kBytes: return take_bytes() || damage();
      case kFixed64: return skip(8) || damage();
      case kFixed32: return skip(4) || damage();
      case kGroup: return skip_group(kGroupDepthMax) || damage();
      default: return damage();
    }
  }

  uint32_t field() const { return field_; }
  bool is(Type type) const { return type_ == type; }
  int64_t int64() { return static_cast<int64_t>(uint64()); }
  uint64_t uint64() {
    if (type_ != kVarint) damage();
    return type_ == kVarint ? number_ : 0;
  }
  int32_t int32() { return static_cast<int32_t>(uint64()); }
  bool boolean() { return uint64() != 0; }
  std::string_view bytes() {
    if (type_ != kBytes) damage();
    return type_ == kBytes ? bytes_ : std::string_view();
  }

  bool damaged() const { return damaged_; }
  bool damage() {
    damaged_ = true;
    return false;
  }

 private:
  bool varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 70 && at_ < end_; shift += 7) {
      const auto byte = static_cast<uint8_t>(*at_++);
      if (shift == 63 && byte > 1) return false;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool skip(size_t size) {
    if (static_cast<size_t>(end_ - at_) < size) return false;
    at_ += size;
    return true;
  }
  bool take_bytes() {
    uint64_t size = 0;
    if (!varint(size) || size > static_cast<size_t>(end_ - at_)) return false;
    bytes_ = {at_, size};
    at_ += size;
    return true;
  }
  bool skip_group(int depth) {
    if (depth == 0) return false;
    uint64_t tag = 0;
    while (varint(tag)) {
      uint64_t ignored = 0;
      switch (tag & 7) {
        case kVarint:
          if (!varint(ignored)) return false;
          break;
        case kBytes:
          if (!varint(ignored) || ignored > static_cast<size_t>(end_ - at_)) return false;
          at_ += ignored;
          break;
        case kFixed64:
          if (!skip(8)) return false;
          break;
        case kFixed32:
          if (!skip(4)) return false;
          break;
        case kGroup:
          if (!skip_group(depth - 1)) return false;
          break;
        case kGroupEnd: return true;
        default: return false;
      }
    }
    return false;
  }

  const char* at_;
  const char* end_;
  std::string_view bytes_;
  uint64_t number_ = 0;
  uint32_t field_ = 0;
  uint32_t type_ = 0;
  bool damaged_ = false;
};

// Walks the varints of a packed repeated field.
class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes) : rest_(bytes) {}

  bool next() {
    value_ = 0;
    for (size_t i = 0; i < rest_.size() && i < 10; ++i) {
      value_ |= static_cast<uint64_t>(rest_[i] & 0x7f) << (7 * i);
      if ((rest_[i] & 0x80) != 0) continue;
      rest_.remove_prefix(i + 1);
      return true;
    }
    return false;
  }
  uint64_t value() const { return value_; }
  bool damaged() const { return !rest_.empty(); }

 private:
  std::string_view rest_;
  uint64_t value_ = 0;
};

inline size_t varint_size(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

inline size_t put_varint(char* to, uint64_t value) {
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) to[size++] = static_cast<char>(value | 0x80);
  to[size++] = static_cast<char>(value);
  return size;
}

// Appends fields to `out`; zeros and empty bytes are left out, as proto3 has it, unless the name
// says otherwise.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void number(uint32_t field, uint64_t value) {
    if (value == 0) return;
    char raw[15];
    size_t size = put_varint(raw, field << 3 | kVarint);
    size += put_varint(raw + size, value);
    out_.append(raw, size);
  }
  void number(uint32_t field, int64_t value) { number(field, static_cast<uint64_t>(value)); }
  void number(uint32_t field, int32_t value) { number(field, static_cast<int64_t>(value)); }
  void number(uint32_t field, uint32_t value) { number(field, static_cast<uint64_t>(value)); }
  void number(uint32_t field, bool value) { number(field, static_cast<uint64_t>(value)); }

  void bytes(uint32_t field, std::string_view value) {
    if (!value.empty()) bytes_always(field, value);
  }
  // Also when empty: the elements of a repeated field, and sub-messages.
  void bytes_always(uint32_t field, std::string_view value) {
    bytes_head(field, value.size());
    out_.append(value);
  }
  // The tag and length alone; `size` bytes are to follow.
  void bytes_head(uint32_t field, size_t size) {
    char raw[15];
    size_t used = put_varint(raw, field << 3 | kBytes);
    used += put_varint(raw + used, size);
    out_.append(raw, used);
  }
  void raw(std::string_view bytes) { out_.append(bytes); }

  // A sub-message: everything written between the two calls. Nests.
  size_t begin(uint32_t field) {
    char raw[5];
    const size_t size = put_varint(raw, field << 3 | kBytes);
    out_.append(raw, size);
    out_.push_back(0);
    return out_.size();
  }
  void end(size_t mark) {
    const size_t size = out_.size() - mark;
    char raw[10];
    const size_t used = put_varint(raw, size);
    if (used > 1) out_.insert(mark, used - 1, '\0');
    std::memcpy(out_.data() + mark - 1, raw, used);
  }

 private:
  std::string& out_;
};

}  // namespace quorate::frontend_etcd::wire
