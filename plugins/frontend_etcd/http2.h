// SPDX-License-Identifier: Apache-2.0
// The server's side of one HTTP/2 connection that speaks gRPC. It takes bytes and gives bytes; the
// connection moves them.
//
// Lives on the I/O thread. A Stream is one call; a Handler does its work. Streams are used again.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend_etcd/core.h"
#include "frontend_etcd/grpc.h"
#include "frontend_etcd/out_queue.h"

struct nghttp2_session;
struct nghttp2_option;

namespace quorate::frontend_etcd {

class Http2Session;
class Stream;

// The work of one call. It may outlive its stream (a completion may still come) and frees itself
// when nothing names it any more.
class Handler {
 public:
  virtual void on_message(std::string_view message) = 0;
  // The client has no more to say. Not called when it went away.
  virtual void on_half_close() = 0;
  // The stream wants nothing any more: it was finished, reset, or its time is up. The last call;
  // the stream must not be touched after it.
  virtual void on_gone() = 0;
  // Something was sent, and `unsent` is left.
  virtual void on_sent(size_t /*unsent*/) {}
  // Whether the next message may come now; when it says no, the client's window fills up until
  // Stream::resume_input().
  virtual bool accepts() const { return true; }
  // The server is about to stop.
  virtual void on_stop() {}

 protected:
  ~Handler() = default;
};

class Stream final : public Timed, public LeaderBound, public boost::intrusive::list_base_hook<> {
 public:
  Http2Session& session() { return *session_; }
  Core& core();

  // ---- what the client asked
  Method method() const { return method_; }
  // The caller's words for the kernel; valid while the stream is.
  quorate_call call() const;
  // See Core::refusal().
  RpcError refusal(bool learner_serves) { return core().refusal(call_flags_, learner_serves); }

  // ---- what it is answered
  std::string& begin_message() { return out_.begin_message(); }
  void end_message();
  void drop_message() { out_.drop_message(); }
  void message_head(size_t size);
  void append(std::string_view bytes);
  void append(const SharedBuf& owner, std::string_view bytes);
  // Ends the call; the handler's on_gone() follows at once.
  void finish(const RpcError& status);
  size_t unsent() const { return out_.size(); }
  // After accepts() has turned true again.
  void resume_input();
  // Another handler goes on with the call; the present one is not told.
  void replace_handler(Handler* handler);

  void expire() override;
  void leader_lost() override;

 private:
  friend class Http2Session;
  friend struct Http2Callbacks;

  void clear();
  void drop_handler();
  bool read_messages();

  Http2Session* session_ = nullptr;
  Handler* handler_ = nullptr;
  int32_t id_ = 0;
  Method method_{};
  MessageReader in_;
  OutQueue out_;
  size_t held_window_ = 0;  // received, but not given back to the client's window
  size_t buffered_ = 0;     // as counted by the session

  std::string path_, token_, authorization_, api_version_, encoding_;
  std::string grpc_message_;
  uint64_t timeout_ms_ = 0;
  size_t header_bytes_ = 0;
  GrpcCode code_{};
  uint32_t call_flags_ = 0;
  bool has_timeout_ = false, bad_timeout_ = false, is_post_ = false, is_grpc_ = false;
  bool started_ = false;        // the handler has the call
  bool remote_closed_ = false;  // the client has ended its side
  bool input_ended_ = false;    // and the handler has yet to be told
  bool sent_ = false;           // on the session's list of who is to be told so
  bool responded_ = false;      // response headers are on their way
  bool finished_ = false;       // the end has been decided
  bool deferred_ = false;       // nghttp2 waits to be told of more data
  bool reading_ = false;
};

class Http2Session {
 public:
  // schedule: that produce() has something to give.
  Http2Session(Core& core, std::string remote_address, Flushable* connection);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  // Takes what was read. False when the connection is beyond help: write what produce() gives, then
  // close.
  bool receive(std::string_view bytes);
  // Appends frames to `out` until about `size_max` bytes are there or nothing is left to say.
  void produce(std::string& out, size_t size_max);
  // Nothing more will be read or written.
  bool done() const;

  // The server stops: no new streams, streams without an end are ended, the rest may finish.
  void drain();
  bool idle() const { return streams_.empty(); }
  // The keepalive policy; false when the client has not answered.
  bool keep_alive();

  Core& core() { return core_; }
  const std::string& remote_address() const { return remote_address_; }

 private:
  friend class Stream;
  friend struct Http2Callbacks;

  void begin(int32_t id);
  void header(Stream& stream, std::string_view name, std::string_view value);
  void start(Stream& stream);
  void start_handler(Stream& stream);
  void start_stream(Stream& stream);
  void data(Stream& stream, std::string_view bytes);
  void input_ended(Stream& stream);
  void closed(Stream& stream);
  void ping();
  void respond(Stream& stream);
  void respond_error(Stream& stream, std::string_view http_status);
  void resume(Stream& stream);
  long read(Stream& stream, size_t size_max, uint32_t* flags);
  void submit_trailers(Stream& stream);
  void reset_if_open(Stream& stream);
  void account(Stream& stream);

  Core& core_;
  const std::string remote_address_;
  Flushable* const connection_;
  nghttp2_session* session_ = nullptr;
  boost::intrusive::list<Stream> streams_;
  std::vector<std::unique_ptr<Stream>> all_;
  std::vector<Stream*> free_;
  std::string* out_ = nullptr;  // of the produce() that runs
  std::vector<Stream*> sent_;   // streams whose bytes went out; null when closed since
  std::vector<Stream*>* sending_ = nullptr;
  size_t buffered_ = 0;
  size_t unsent_ = 0;
  Time last_read_;
  Time last_ping_{};
  Time own_ping_{};
  bool own_ping_out_ = false;
  bool pinged_before_ = false;
  bool forgive_pings_ = false;
  int ping_strikes_ = 0;
  bool broken_ = false;
};

}  // namespace quorate::frontend_etcd
