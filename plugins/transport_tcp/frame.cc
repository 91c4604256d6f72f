// SPDX-License-Identifier: Apache-2.0
#include "transport_tcp/frame.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sdk/crc32c.h"

namespace quorate::transport_tcp {
namespace {

constexpr uint32_t kMagic = 0x50545251;  // "QRTP"
constexpr size_t kHelloSize = 40;
constexpr size_t kWelcomeSize = 24;
constexpr size_t kReadSize = 64 * 1024;
constexpr size_t kKeptCapacityMax = 1024 * 1024;  // an empty buffer above this is given back

template <class T>
void put(char* to, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<char>(value >> (8 * i));
}

template <class T>
T get(const char* from) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(static_cast<uint8_t>(from[i])) << (8 * i));
  return value;
}

}  // namespace

void put_header(char* to, Kind kind, uint16_t code, uint64_t id, uint32_t size, uint32_t checksum) {
  put<uint32_t>(to, size);
  put<uint16_t>(to + 4, static_cast<uint16_t>(kind));
  put<uint16_t>(to + 6, code);
  put<uint64_t>(to + 8, id);
  put<uint32_t>(to + 16, checksum);
  put<uint32_t>(to + 20, sdk::crc32c({to, 20}));
}

std::string encode(const Hello& hello) {
  std::string body(kHelloSize, '\0');
  put<uint32_t>(&body[0], kMagic);
  put<uint16_t>(&body[4], hello.version_min);
  put<uint16_t>(&body[6], hello.version_max);
  put<uint64_t>(&body[8], hello.cluster_id);
  put<uint64_t>(&body[16], hello.from);
  put<uint64_t>(&body[24], hello.to);
  put<uint32_t>(&body[32], static_cast<uint32_t>(hello.purpose));
  return body;
}

std::optional<Hello> decode_hello(std::string_view body) {
  if (body.size() < kHelloSize || get<uint32_t>(&body[0]) != kMagic) return std::nullopt;
  Hello hello;
  hello.version_min = get<uint16_t>(&body[4]);
  hello.version_max = get<uint16_t>(&body[6]);
  hello.cluster_id = get<uint64_t>(&body[8]);
  hello.from = get<uint64_t>(&body[16]);
  hello.to = get<uint64_t>(&body[24]);
  hello.purpose = static_cast<Purpose>(get<uint32_t>(&body[32]));
  return hello;
}

std::string encode(const Welcome& welcome) {
  std::string body(kWelcomeSize, '\0');
  put<uint32_t>(&body[0], kMagic);
  put<uint32_t>(&body[4], welcome.version);
  put<uint64_t>(&body[8], welcome.cluster_id);
  put<uint64_t>(&body[16], welcome.member_id);
  return body;
}

std::optional<Welcome> decode_welcome(std::string_view body) {
  if (body.size() < kWelcomeSize || get<uint32_t>(&body[0]) != kMagic) return std::nullopt;
  Welcome welcome;
  welcome.version = get<uint32_t>(&body[4]);
  welcome.cluster_id = get<uint64_t>(&body[8]);
  welcome.member_id = get<uint64_t>(&body[16]);
  return welcome;
}

FrameReader::FrameReader() {
  move_to(kReadSize);
}

void FrameReader::move_to(size_t capacity) {
  auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
  if (end_ > begin_) std::memcpy(bytes.get(), bytes_.get() + begin_, end_ - begin_);
  bytes_ = std::move(bytes);
  capacity_ = capacity;
  end_ -= begin_;
  begin_ = 0;
}

std::span<char> FrameReader::space() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (capacity_ > kKeptCapacityMax) move_to(kReadSize);
  }
  const size_t held = end_ - begin_;
  if (held == capacity_) {
    move_to(std::max(capacity_ + kReadSize, std::min(2 * capacity_, wanted_)));
  } else if (begin_ > 0 && begin_ + std::max(wanted_, held + kReadSize / 4) > capacity_) {
    std::memmove(bytes_.get(), bytes_.get() + begin_, held);
    begin_ = 0;
    end_ = held;
  }
  return {bytes_.get() + end_, capacity_ - end_};
}

FrameReader::Next FrameReader::bad(std::string complaint) {
  complaint_ = std::move(complaint);
  return kBad;
}

FrameReader::Next FrameReader::next(Frame& frame) {
  if (!complaint_.empty()) return kBad;
  const size_t held = end_ - begin_;
  wanted_ = kHeaderSize;
  if (held < kHeaderSize) return kMore;
  const char* const at = bytes_.get() + begin_;
  if (get<uint32_t>(at + 20) != sdk::crc32c({at, 20}))
    return bad("a frame's header does not match its checksum");
  const uint32_t size = get<uint32_t>(at);
  if (size > body_max_)
    return bad("a frame of " + std::to_string(size) + " bytes; the limit is " +
               std::to_string(body_max_));
  wanted_ = kHeaderSize + size;
  if (held < wanted_) return kMore;
  frame.kind = static_cast<Kind>(get<uint16_t>(at + 4));
  frame.code = get<uint16_t>(at + 6);
  frame.id = get<uint64_t>(at + 8);
  frame.body = {at + kHeaderSize, size};
  if (get<uint32_t>(at + 16) != sdk::crc32c(frame.body))
    return bad("a frame's body does not match its checksum");
  begin_ += wanted_;
  return kFrame;
}

}  // namespace quorate::transport_tcp
