// SPDX-License-Identifier: Apache-2.0
// A client that can do wrong: raw bytes on a socket, and HTTP/2 frames made by hand.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct nghttp2_hd_inflater;

namespace quorate::tests {

using Headers = std::vector<std::pair<std::string, std::string>>;

class RawClient {
 public:
  explicit RawClient(uint16_t port);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // False when the server has closed the connection.
  bool send(std::string_view bytes);
  // What is there, waiting for at least one byte; empty at the end of the connection.
  std::string receive();
  std::string receive_all();  // until the end
  void close();

 private:
  int fd_ = -1;
};

enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kGoaway = 7,
  kWindow = 8,
  kContinuation = 9
};
inline constexpr uint8_t kEndStream = 1, kAck = 1, kEndHeaders = 4;

struct Frame {
  uint8_t type = 0, flags = 0;
  uint32_t stream = 0;
  std::string payload;
  uint32_t number(size_t at) const;  // four bytes of the payload
};

std::string frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload);
std::string number(uint32_t value);
std::string grpc_message(std::string_view message);
// Header fields as literals that no table remembers.
std::string header_block(const Headers& headers);
std::string setting(uint16_t id, uint32_t value);
inline constexpr std::string_view kClientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// The headers of a call of `path`, with `more` after them.
Headers call_headers(const std::string& path, const Headers& more = {});

struct Reply {
  std::map<std::string, std::string> headers;  // of both blocks
  std::string data;
  std::optional<uint32_t> reset;
  bool ended = false;
  std::string status() const { return at("grpc-status"); }
  std::string message() const { return at("grpc-message"); }
  std::string at(const std::string& name) const;
};

class H2Client {
 public:
  // settings: the payload of the SETTINGS frame it opens with.
  explicit H2Client(uint16_t port, const std::string& settings = "");
  ~H2Client();

  bool send(std::string_view bytes) { return raw.send(bytes); }
  // The frames of a unary call.
  static std::string call(uint32_t stream, const std::string& path, std::string_view message,
                          const Headers& more = {});
  // The next frame; nothing at the end of the connection. Acknowledges settings.
  std::optional<Frame> next();
  // Reads until the stream has ended or was reset, or the connection ended.
  Reply reply(uint32_t stream);
  // Reads until a frame of that kind comes.
  std::optional<Frame> wait_for(uint8_t type);

  RawClient raw;

 private:
  void collect(const Frame& frame);

  std::string in_;
  nghttp2_hd_inflater* inflater_ = nullptr;
  std::map<uint32_t, Reply> replies_;
};

}  // namespace quorate::tests
