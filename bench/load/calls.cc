// SPDX-License-Identifier: Apache-2.0
#include "load/calls.h"

#include <algorithm>

namespace quorate::bench {
namespace {

constexpr uint32_t kKeyDigits = 8;
constexpr size_t kGrpcHead = 5;  // compressed flag, length

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void append_bytes_field(std::string& out, uint32_t field, uint32_t size, char fill) {
  append_varint(out, field << 3 | 2);
  append_varint(out, size);
  out.append(size, fill);
}

std::optional<uint64_t> take_varint(std::string_view& in) {
  uint64_t value = 0;
  for (uint32_t shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(in.front());
    in.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

}  // namespace

CallSource::CallSource(const CallShape& shape) : shape_(shape), random_(shape.seed) {
  message_.assign(kGrpcHead, '\0');
  append_bytes_field(message_, 1, shape.key_bytes, 'k');
  std::copy(shape.key_prefix.begin(), shape.key_prefix.end(), message_.end() - shape.key_bytes);
  key_offset_ = message_.size() - kKeyDigits;
  if (shape.kind == CallKind::kPut) {
    append_bytes_field(message_, 2, shape.value_bytes, 'v');
  } else if (shape.serializable) {
    append_varint(message_, 7 << 3);
    append_varint(message_, 1);
  }
  const size_t size = message_.size() - kGrpcHead;
  for (size_t i = 0; i < 4; ++i) message_[4 - i] = static_cast<char>(size >> 8 * i);
}

std::string_view CallSource::path() const {
  return shape_.kind == CallKind::kPut ? "/etcdserverpb.KV/Put" : "/etcdserverpb.KV/Range";
}

uint64_t CallSource::next_key() {
  if (!shape_.random_keys) return counter_++ % shape_.keys;
  random_ = mixed(random_);
  return random_ % shape_.keys;
}

std::string_view CallSource::next() {
  uint64_t key = next_key();
  for (size_t i = kKeyDigits; i-- > 0; key /= 10) {
    message_[key_offset_ + i] = static_cast<char>('0' + key % 10);
  }
  return message_;
}

bool CallSource::plausible(size_t reply_bytes) const {
  return shape_.kind == CallKind::kPut ? reply_bytes > kGrpcHead
                                       : reply_bytes > kGrpcHead + shape_.value_bytes;
}

std::string_view CallSource::key_of(std::string_view message) const {
  return message.substr(key_offset_ + kKeyDigits - shape_.key_bytes, shape_.key_bytes);
}

std::optional<int64_t> revision_of(std::string_view reply) {
  constexpr uint64_t kHeaderTag = 1 << 3 | 2, kRevisionTag = 3 << 3;
  if (reply.size() < kGrpcHead) return std::nullopt;
  reply.remove_prefix(kGrpcHead);
  if (take_varint(reply) != kHeaderTag) return std::nullopt;
  const auto size = take_varint(reply);
  if (!size) return std::nullopt;
  std::string_view header = reply.substr(0, *size);
  while (!header.empty()) {  // its fields are all numbers
    const auto tag = take_varint(header), value = take_varint(header);
    if (!tag || !value) return std::nullopt;
    if (*tag == kRevisionTag) return static_cast<int64_t>(*value);
  }
  return std::nullopt;
}

}  // namespace quorate::bench
