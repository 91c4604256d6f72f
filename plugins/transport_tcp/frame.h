// SPDX-License-Identifier: Apache-2.0
// The frames that members exchange, docs/transport_tcp.md: a header of 24 bytes and a body, each
// with a checksum. Nothing here knows a socket.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quorate::transport_tcp {

inline constexpr uint16_t kProtocolVersion = 1;
inline constexpr size_t kHeaderSize = 24;
// The largest body before the other side is known.
inline constexpr uint32_t kGreetingBytesMax = 4096;

enum class Kind : uint16_t {
  kHello = 1,
  kWelcome = 2,
  kRefusal = 3,
  kPing = 4,
  kPong = 5,
  kMessage = 6,
  kCall = 7,
  kReply = 8,
  kBegin = 9,
  kBlock = 10,
  kEnd = 11,
  kCredit = 12,
  kDone = 13,
};

// What a connection is for; the first two are the channels' numbers.
enum class Purpose : uint32_t { kControl = 0, kAppend = 1, kCall = 2, kSnapshot = 3 };

struct Frame {
  Kind kind{};
  uint16_t code = 0;  // a quorate_status
  uint64_t id = 0;
  std::string_view body;
};

// The header of a frame whose body has this size and checksum.
void put_header(char* to, Kind kind, uint16_t code, uint64_t id, uint32_t size, uint32_t checksum);

struct Hello {
  uint16_t version_min = kProtocolVersion, version_max = kProtocolVersion;
  uint64_t cluster_id = 0, from = 0;
  uint64_t to = 0;  // 0: whoever answers
  Purpose purpose{};
};
std::string encode(const Hello& hello);
std::optional<Hello> decode_hello(std::string_view body);

struct Welcome {
  uint32_t version = kProtocolVersion;
  uint64_t cluster_id = 0, member_id = 0;
};
std::string encode(const Welcome& welcome);
std::optional<Welcome> decode_welcome(std::string_view body);

// Puts a stream of bytes together to frames. Memory grows with what has come, never with what a
// header claims.
//
//   auto space = reader.space();  // read into it
//   reader.filled(count);
//   while (reader.next(frame) == FrameReader::kFrame) ...
//
// Invariant: begin_ <= end_ <= capacity_.
class FrameReader {
 public:
  enum Next { kFrame, kMore, kBad };

  FrameReader();
  void set_body_max(uint64_t bytes) { body_max_ = bytes; }
  // Room for at least one byte. Ends the life of all bodies given out.
  std::span<char> space();
  void filled(size_t count) { end_ += count; }
  // kBad is final, and complaint() says why.
  Next next(Frame& frame);
  const std::string& complaint() const { return complaint_; }

 private:
  Next bad(std::string complaint);
  void move_to(size_t capacity);

  std::unique_ptr<char[]> bytes_;
  size_t capacity_ = 0, begin_ = 0, end_ = 0;
  size_t wanted_ = 0;  // of the frame that is not all there
  uint64_t body_max_ = kGreetingBytesMax;
  std::string complaint_;
};

}  // namespace quorate::transport_tcp
