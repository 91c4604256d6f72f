// SPDX-License-Identifier: Apache-2.0
#include "load/calls.h"

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

}  // namespace quorate::bench
