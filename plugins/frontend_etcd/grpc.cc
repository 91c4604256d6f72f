// SPDX-License-Identifier: Apache-2.0
#include "frontend_etcd/grpc.h"

#include "frontend_etcd/out_queue.h"

namespace quorate::frontend_etcd {

std::optional<uint64_t> parse_grpc_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  uint64_t value = 0;
  for (const char digit : text.substr(0, text.size() - 1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(digit - '0');
  }
  switch (text.back()) {
    case 'H': return value * 3600 * 1000;
    case 'M': return value * 60 * 1000;
    case 'S': return value * 1000;
    case 'm': return value;
    case 'u': return (value + 999) / 1000;
    case 'n': return (value + 999'999) / 1'000'000;
    default: return std::nullopt;
  }
}

std::string percent_encode(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte <= 0x7e && c != '%') {
      result.push_back(c);
    } else {
      result.push_back('%');
      result.push_back(kHex[byte >> 4]);
      result.push_back(kHex[byte & 15]);
    }
  }
  return result;
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    const size_t size = lead < 0x80                   ? 1
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
    if (size == 0 || i + size > text.size()) return false;
    for (size_t k = 1; k < size; ++k)
      if ((static_cast<uint8_t>(text[i + k]) & 0xc0) != 0x80) return false;
    const auto second = size > 1 ? static_cast<uint8_t>(text[i + 1]) : 0x80;
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
        (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f))
      return false;
    i += size;
  }
  return true;
}

void MessageReader::feed(std::string_view bytes) {
  if (partial()) {
    buffer_.append(bytes);
  } else {
    buffer_.clear();
    at_ = 0;
    fed_ = bytes;
  }
}

bool MessageReader::next(std::string_view& message, size_t size_max) {
  const std::string_view bytes = pending();
  if (error_.code != GrpcCode::kOk || bytes.size() < kGrpcPrefix) return false;
  size_t size = 0;
  for (size_t i = 1; i < kGrpcPrefix; ++i) size = size << 8 | static_cast<uint8_t>(bytes[i]);
  if (bytes[0] != 0) {
    error_ = {GrpcCode::kInternal, "grpc: compressed flag set with identity or empty encoding"};
    return false;
  }
  if (size > size_max) {
    error_ = {GrpcCode::kResourceExhausted, "grpc: received message larger than max (" +
                                                std::to_string(size) + " vs. " +
                                                std::to_string(size_max) + ")"};
    return false;
  }
  if (bytes.size() - kGrpcPrefix < size) return false;
  message = bytes.substr(kGrpcPrefix, size);
  if (fed_.empty()) {
    at_ += kGrpcPrefix + size;
  } else {
    fed_.remove_prefix(kGrpcPrefix + size);
  }
  return true;
}

void MessageReader::settle() {
  if (!fed_.empty()) {
    buffer_.assign(fed_);
    fed_ = {};
    at_ = 0;
  } else if (at_ > 0) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  if (buffer_.empty() && buffer_.capacity() > 4096) buffer_ = {};
}

void MessageReader::reset() {
  buffer_.clear();
  if (buffer_.capacity() > 4096) buffer_ = {};
  fed_ = {};
  at_ = 0;
  error_ = {};
}

}  // namespace quorate::frontend_etcd
