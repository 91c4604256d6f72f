// SPDX-License-Identifier: Apache-2.0
// gRPC over HTTP/2, the parts that are not HTTP/2: message framing, timeouts, percent encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frontend_etcd/errors.h"

namespace quorate::frontend_etcd {

// The grpc-timeout header ("100m", "5S") in milliseconds, rounded up; nothing when malformed.
std::optional<uint64_t> parse_grpc_timeout(std::string_view text);

// As a grpc-message header has it: everything but printable ASCII, and '%' too, as %XX.
std::string percent_encode(std::string_view text);

bool is_utf8(std::string_view text);

// Cuts a stream of bytes into messages.
//
// Invariant: what was fed and not yet given out is buffered, at most one message and what came with
// the read that completed it.
class MessageReader {
 public:
  // Adds what was read. A whole message that needs no joining is given out by next() in place, so
  // `bytes` must live until next() has returned false.
  void feed(std::string_view bytes);

  // The next whole message; false when there is none yet or error() is set. The view lives until
  // the next call of next() or feed().
  bool next(std::string_view& message, size_t size_max);

  // To be called when the caller is done with what it fed: keeps the rest.
  void settle();

  // What is wrong with the stream; for good.
  const RpcError& error() const { return error_; }
  // Whether the bytes end inside a message.
  bool partial() const { return buffer_.size() > at_; }
  size_t buffered() const { return buffer_.capacity(); }
  void reset();

 private:
  std::string_view pending() const {
    return fed_.empty() ? std::string_view(buffer_).substr(at_) : fed_;
  }

  std::string buffer_;
  std::string_view fed_;  // used in place while the buffer is empty
  size_t at_ = 0;
  RpcError error_;
};

}  // namespace quorate::frontend_etcd
