// SPDX-License-Identifier: Apache-2.0
#include "frontend/h2_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <stdexcept>

namespace quorate::tests {

RawClient::RawClient(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect to the front-end");
  // Only a failing test waits so long.
  const timeval patience{20, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

RawClient::~RawClient() {
  close();
}

void RawClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string RawClient::receive() {
  char buffer[65536];
  const ssize_t size = ::recv(fd_, buffer, sizeof buffer, 0);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    throw std::runtime_error("waited in vain for bytes from the front-end");
  return size <= 0 ? std::string() : std::string(buffer, static_cast<size_t>(size));
}

std::string RawClient::receive_all() {
  std::string all;
  for (std::string part = receive(); !part.empty(); part = receive()) all += part;
  return all;
}

uint32_t Frame::number(size_t at) const {
  uint32_t value = 0;
  for (size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<uint8_t>(payload.at(i));
  return value;
}

std::string number(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

std::string frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
  std::string bytes = number(static_cast<uint32_t>(payload.size())).substr(1);
  bytes.push_back(static_cast<char>(type));
  bytes.push_back(static_cast<char>(flags));
  return bytes.append(number(stream)).append(payload);
}

std::string grpc_message(std::string_view message) {
  return std::string(1, '\0').append(number(static_cast<uint32_t>(message.size()))).append(message);
}

std::string header_block(const Headers& headers) {
  const auto text = [](const std::string& bytes) {
    std::string result;
    if (bytes.size() < 127) {
      result.push_back(static_cast<char>(bytes.size()));
    } else {
      result.push_back(127);
      size_t rest = bytes.size() - 127;
      for (; rest >= 128; rest >>= 7) result.push_back(static_cast<char>(rest | 128));
      result.push_back(static_cast<char>(rest));
    }
    return result + bytes;
  };
  std::string block;
  for (const auto& [name, value] : headers) block.append(1, '\0').append(text(name) + text(value));
  return block;
}

std::string setting(uint16_t id, uint32_t value) {
  return number(id).substr(2) + number(value);
}

Headers call_headers(const std::string& path, const Headers& more) {
  Headers headers{{":method", "POST"},
                  {":scheme", "http"},
                  {":path", path},
                  {":authority", "localhost"},
                  {"content-type", "application/grpc"},
                  {"te", "trailers"}};
  headers.insert(headers.end(), more.begin(), more.end());
  return headers;
}

std::string Reply::at(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

H2Client::H2Client(uint16_t port, const std::string& settings) : raw(port) {
  nghttp2_hd_inflate_new(&inflater_);
  send(std::string(kClientPreface) + frame(kSettings, 0, 0, settings));
}

H2Client::~H2Client() {
  nghttp2_hd_inflate_del(inflater_);
}

std::string H2Client::call(uint32_t stream, const std::string& path, std::string_view message,
                           const Headers& more) {
  return frame(kHeaders, kEndHeaders, stream, header_block(call_headers(path, more))) +
         frame(kData, kEndStream, stream, grpc_message(message));
}

std::optional<Frame> H2Client::next() {
  for (;;) {
    if (in_.size() >= 9) {
      Frame got;
      const size_t size = static_cast<size_t>(static_cast<uint8_t>(in_[0])) << 16 |
                          static_cast<size_t>(static_cast<uint8_t>(in_[1])) << 8 |
                          static_cast<uint8_t>(in_[2]);
      if (in_.size() >= 9 + size) {
        got.type = static_cast<uint8_t>(in_[3]);
        got.flags = static_cast<uint8_t>(in_[4]);
        got.payload = in_.substr(5, 4);
        got.stream = got.number(0) & 0x7fffffff;
        got.payload = in_.substr(9, size);
        in_.erase(0, 9 + size);
        if (got.type == kSettings && (got.flags & kAck) == 0) send(frame(kSettings, kAck, 0, ""));
        collect(got);
        return got;
      }
    }
    const std::string more = raw.receive();
    if (more.empty()) return std::nullopt;
    in_ += more;
  }
}

void H2Client::collect(const Frame& frame) {
  Reply& reply = replies_[frame.stream];
  if (frame.type == kReset) reply.reset = frame.number(0);
  if (frame.type == kData) reply.data += frame.payload;
  if (frame.type == kHeaders) {
    auto* at = reinterpret_cast<const uint8_t*>(frame.payload.data());
    size_t left = frame.payload.size();
    for (;;) {
      nghttp2_nv field{};
      int flags = 0;
      const ssize_t used = nghttp2_hd_inflate_hd2(inflater_, &field, &flags, at, left, 1);
      if (used < 0) throw std::runtime_error("the front-end sent bad header compression");
      at += used;
      left -= static_cast<size_t>(used);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
        reply.headers[std::string(reinterpret_cast<char*>(field.name), field.namelen)] =
            std::string(reinterpret_cast<char*>(field.value), field.valuelen);
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    }
    nghttp2_hd_inflate_end_headers(inflater_);
  }
  if ((frame.type == kHeaders || frame.type == kData) && (frame.flags & kEndStream) != 0)
    reply.ended = true;
}

Reply H2Client::reply(uint32_t stream) {
  while (!replies_[stream].ended && !replies_[stream].reset)
    if (!next()) break;
  return replies_[stream];
}

std::optional<Frame> H2Client::wait_for(uint8_t type) {
  for (auto got = next(); got; got = next())
    if (got->type == type) return got;
  return std::nullopt;
}

}  // namespace quorate::tests
