// SPDX-License-Identifier: Apache-2.0
// One HTTP/2 connection that keeps a fixed number of gRPC calls under way: as soon as one ends, the
// next is sent. Light on purpose, so that the figures are the server's.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "load/calls.h"
#include "load/histogram.h"

namespace quorate::bench {

// What all connections of a run add up in.
struct Tally {
  bool counting = false;  // outside the measured time calls are made and forgotten
  bool sending = true;    // false: let what is under way end
  Histogram latency_ns;
  uint64_t failed = 0;
  uint64_t implausible = 0;  // answered OK, but the reply cannot be right
  std::string first_error;
  uint64_t ended = 0;  // counted or not
  uint64_t calls_max = UINT64_MAX;
  uint64_t sent = 0;
  std::FILE* record = nullptr;  // takes key and revision of each answered put
};

class Connection {
 public:
  // fd: a connected, non-blocking socket, owned from now on. The rest outlives the connection.
  Connection(int fd, std::string authority, CallSource* calls, Tally* tally);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  int fd() const { return fd_; }
  // Starts that many calls, or fewer where the tally allows no more.
  void start(uint32_t outstanding);
  // Reads what is there and goes on with it. False: the connection is over; error() says why.
  bool on_readable();
  // Writes what is queued. False as above.
  bool flush();
  bool wants_write() const { return !out_.empty(); }
  uint32_t under_way() const { return under_way_; }
  const std::string& error() const { return error_; }

 private:
  struct Call {
    std::string message;
    size_t sent = 0;
    size_t received = 0;
    std::array<char, 64> reply_head{};
    uint64_t begin_ns = 0;
    size_t place = 0;  // in live_
    bool ok = false;
    std::string status;
  };

  void send_next(std::unique_ptr<Call> call);
  void record(const Call& call);
  void on_call_end(std::unique_ptr<Call> call, uint32_t error_code);
  bool fail(std::string_view what);
  static void set_callbacks(nghttp2_session_callbacks* callbacks);
  static ssize_t read_body(nghttp2_session*, int32_t, uint8_t* to, size_t size, uint32_t* flags,
                           nghttp2_data_source* source, void*);
  static int on_header(nghttp2_session*, const nghttp2_frame*, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t, void*);
  static int on_data(nghttp2_session*, uint8_t, int32_t stream, const uint8_t*, size_t size, void*);
  static int on_close(nghttp2_session*, int32_t stream, uint32_t error_code, void* self);

  const int fd_;
  const std::string authority_;
  CallSource* const calls_;
  Tally* const tally_;
  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Call>> live_;  // owners of what the streams point to
  std::string out_;
  size_t out_done_ = 0;
  uint32_t under_way_ = 0;
  std::string error_;
};

uint64_t now_ns();

}  // namespace quorate::bench
