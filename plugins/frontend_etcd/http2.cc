// SPDX-License-Identifier: Apache-2.0
#include "frontend_etcd/http2.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <utility>

#include "frontend_etcd/handlers.h"

namespace quorate::frontend_etcd {
namespace {

constexpr int32_t kStreamWindow = 512 * 1024;
constexpr int32_t kConnectionWindow = 4 * 1024 * 1024;
constexpr int kPingStrikesMax = 2;
constexpr std::chrono::hours kPingWithoutStreams{2};

constexpr std::string_view kCodes[] = {"0", "1",  "2",  "3",  "4",  "5",  "6",  "7", "8",
                                       "9", "10", "11", "12", "13", "14", "15", "16"};

// Both live as long as the program, or at least as long as the frame.
nghttp2_nv field(std::string_view name, std::string_view value) {
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}
nghttp2_nv copied_field(std::string_view name, std::string_view value) {
  nghttp2_nv nv = field(name, value);
  nv.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME;
  return nv;
}
std::string_view bytes_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

constexpr std::string_view kContentType = "application/grpc";

// A client may ask for more hours than the clock can count.
milliseconds timeout_of(uint64_t ms) {
  constexpr uint64_t kYear = uint64_t{366} * 24 * 3600 * 1000;
  return milliseconds(static_cast<int64_t>(std::min(ms, kYear)));
}

}  // namespace

// What nghttp2 calls, all on the I/O thread, from inside receive() and produce().
struct Http2Callbacks {
  static Http2Session& session_of(void* user) { return *static_cast<Http2Session*>(user); }
  static Stream* stream_of(nghttp2_session* session, int32_t id) {
    return static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, id));
  }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
      session_of(user).begin(frame->hd.stream_id);
    return 0;
  }

  static int header(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name,
                    size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                    void* user) {
    Stream* stream = stream_of(session, frame->hd.stream_id);
    if (stream != nullptr)
      session_of(user).header(*stream, bytes_of(name, name_size), bytes_of(value, value_size));
    return 0;
  }

  static int frame_recv(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0)
      session_of(user).ping();
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Stream* stream = stream_of(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS) session_of(user).start(*stream);
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) session_of(user).input_ended(*stream);
    return 0;
  }

  // Once a reset is queued nghttp2 drops what is still queued for the stream, the end included: so
  // the reset that asks a client to send no more follows the end.
  static int frame_send(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
      return 0;
    Stream* stream = stream_of(session, frame->hd.stream_id);
    if (stream != nullptr) session_of(user).reset_if_open(*stream);
    return 0;
  }

  static int data_chunk(nghttp2_session* session, uint8_t flags, int32_t id, const uint8_t* data,
                        size_t size, void* user) {
    nghttp2_session_consume_connection(session, size);
    Stream* stream = stream_of(session, id);
    if (stream == nullptr) {
      nghttp2_session_consume_stream(session, id, size);
      return 0;
    }
    // The answer may be ready before the frame is: it need not reset a stream that ends anyway.
    if ((flags & NGHTTP2_FLAG_END_STREAM) != 0) stream->remote_closed_ = true;
    session_of(user).data(*stream, bytes_of(data, size));
    return 0;
  }

  static int stream_close(nghttp2_session* session, int32_t id, uint32_t, void* user) {
    Stream* stream = stream_of(session, id);
    if (stream != nullptr) session_of(user).closed(*stream);
    return 0;
  }

  static ssize_t read(nghttp2_session*, int32_t, uint8_t*, size_t size, uint32_t* flags,
                      nghttp2_data_source* source, void* user) {
    return session_of(user).read(*static_cast<Stream*>(source->ptr), size, flags);
  }

  static int send_data(nghttp2_session*, nghttp2_frame*, const uint8_t* head, size_t size,
                       nghttp2_data_source* source, void* user) {
    Http2Session& session = session_of(user);
    session.out_->append(bytes_of(head, 9));
    Stream& stream = *static_cast<Stream*>(source->ptr);
    stream.out_.take(size, *session.out_);
    session.unsent_ -= size;
    if (!stream.sent_) session.sent_.push_back(&stream);
    stream.sent_ = true;
    return 0;
  }
};

// ---- Stream

Core& Stream::core() {
  return session_->core();
}

quorate_call Stream::call() const {
  quorate_call call{};
  call.struct_size = sizeof call;
  call.flags = call_flags_;
  call.timeout_ms = timeout_ms_;
  std::string_view token = token_;
  if (token.empty()) {
    token = authorization_;
    if (token.starts_with("Bearer ")) token.remove_prefix(7);
  }
  call.token = sdk::slice(token);
  call.remote_address = sdk::slice(session_->remote_address());
  call.client_api_version = sdk::slice(api_version_);
  return call;
}

void Stream::end_message() {
  const size_t before = out_.size();
  out_.end_message();
  session_->unsent_ += out_.size() - before;
  session_->resume(*this);
}

void Stream::message_head(size_t size) {
  out_.message_head(size);
  session_->unsent_ += kGrpcPrefix;
  session_->resume(*this);
}

void Stream::append(std::string_view bytes) {
  out_.append(bytes);
  session_->unsent_ += bytes.size();
  session_->resume(*this);
}

void Stream::append(const SharedBuf& owner, std::string_view bytes) {
  out_.append(owner, bytes);
  session_->unsent_ += bytes.size();
  session_->resume(*this);
}

void Stream::finish(const RpcError& status) {
  if (std::exchange(finished_, true)) return;
  code_ = status.code;
  grpc_message_ = percent_encode(status.text);
  if (!responded_ && out_.size() == 0) {
    responded_ = true;
    const nghttp2_nv fields[] = {field(":status", "200"), field("content-type", kContentType),
                                 field("grpc-status", kCodes[static_cast<uint32_t>(code_)]),
                                 copied_field("grpc-message", grpc_message_),
                                 field("grpc-accept-encoding", "identity")};
    // Only a refused encoding needs the last.
    const size_t count = code_ == GrpcCode::kUnimplemented ? 5 : 4;
    nghttp2_submit_response(session_->session_, id_, fields, count, nullptr);
    session_->core_.mark_dirty(session_->connection_);
  } else {
    session_->resume(*this);
  }
  drop_handler();
}

void Stream::drop_handler() {
  if (Timed::is_linked()) Timed::unlink();
  if (LeaderBound::is_linked()) LeaderBound::unlink();
  Handler* handler = std::exchange(handler_, nullptr);
  if (handler != nullptr) handler->on_gone();
}

void Stream::replace_handler(Handler* handler) {
  handler_ = handler;
}

void Stream::expire() {
  finish({GrpcCode::kDeadlineExceeded, "context deadline exceeded"});
}

void Stream::leader_lost() {
  finish(rpc_error(QUORATE_NO_LEADER));
}

bool Stream::read_messages() {
  reading_ = true;
  std::string_view message;
  while (handler_ != nullptr && handler_->accepts() &&
         in_.next(message, core().settings().message_bytes_max()))
    handler_->on_message(message);
  reading_ = false;
  in_.settle();
  if (handler_ != nullptr && in_.error().code != GrpcCode::kOk) finish(in_.error());
  session_->account(*this);
  return handler_ != nullptr && handler_->accepts();
}

void Stream::resume_input() {
  if (reading_ || handler_ == nullptr || !read_messages()) return;
  const size_t held = std::exchange(held_window_, 0);
  if (held > 0) {
    nghttp2_session_consume_stream(session_->session_, id_, held);
    session_->core_.mark_dirty(session_->connection_);
  }
  if (input_ended_ && handler_ != nullptr) session_->input_ended(*this);
}

void Stream::clear() {
  if (Timed::is_linked()) Timed::unlink();
  in_.reset();
  out_.clear();
  for (std::string* text : {&path_, &token_, &authorization_, &api_version_, &encoding_})
    text->clear();
  held_window_ = buffered_ = header_bytes_ = 0;
  timeout_ms_ = 0;
  call_flags_ = 0;
  has_timeout_ = bad_timeout_ = is_post_ = is_grpc_ = false;
  started_ = remote_closed_ = input_ended_ = responded_ = finished_ = deferred_ = reading_ = false;
  sent_ = false;
}

// ---- Http2Session

Http2Session::Http2Session(Core& core, std::string remote_address, Flushable* connection)
    : core_(core),
      remote_address_(std::move(remote_address)),
      connection_(connection),
      last_read_(core.now()) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Http2Callbacks::begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Http2Callbacks::header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Http2Callbacks::frame_recv);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, Http2Callbacks::frame_send);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Http2Callbacks::data_chunk);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Http2Callbacks::stream_close);
  nghttp2_session_callbacks_set_send_data_callback(callbacks, Http2Callbacks::send_data);

  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  // Some Go clients send an :authority that is none. What this server reads it checks itself.
  nghttp2_option_set_no_http_messaging(option, 1);
  nghttp2_option_set_stream_reset_rate_limit(option, 1000, 100);
  nghttp2_option_set_max_continuations(option, 8);
  nghttp2_option_set_max_settings(option, 32);
  nghttp2_option_set_max_outbound_ack(option, 1000);
  nghttp2_session_server_new2(&session_, callbacks, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);

  std::vector<nghttp2_settings_entry> settings{
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHeaderListMax}};
  if (core_.settings().streams_max != UINT32_MAX)
    settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, core_.settings().streams_max});
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

Http2Session::~Http2Session() {
  // nghttp2_session_del() does not say that the streams close.
  while (!streams_.empty()) closed(streams_.front());
  nghttp2_session_del(session_);
}

bool Http2Session::receive(std::string_view bytes) {
  last_read_ = core_.now();
  const ssize_t used = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (used < 0) broken_ = true;
  core_.mark_dirty(connection_);
  return !broken_;
}

void Http2Session::produce(std::string& out, size_t size_max) {
  out_ = &out;
  while (out.size() < size_max) {
    const uint8_t* data = nullptr;
    const size_t before = out.size();
    const ssize_t size = nghttp2_session_mem_send(session_, &data);
    if (size < 0) broken_ = true;
    if (size > 0) out.append(bytes_of(data, static_cast<size_t>(size)));
    if (size <= 0 && out.size() == before) break;
  }
  out_ = nullptr;
  std::vector<Stream*> sent;
  sent.swap(sent_);
  sending_ = &sent;
  for (size_t i = 0; i < sent.size(); ++i) {
    Stream* stream = sent[i];
    if (stream == nullptr) continue;
    stream->sent_ = false;
    if (stream->handler_ != nullptr) stream->handler_->on_sent(stream->unsent());
  }
  sending_ = nullptr;
  sent.clear();
  if (sent_.empty()) sent_.swap(sent);
}

bool Http2Session::done() const {
  return broken_ ||
         (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0);
}

void Http2Session::drain() {
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  for (auto at = streams_.begin(); at != streams_.end();) {
    Stream& stream = *at++;
    if (stream.handler_ != nullptr) stream.handler_->on_stop();
  }
  core_.mark_dirty(connection_);
}

bool Http2Session::keep_alive() {
  const Settings& settings = core_.settings();
  if (own_ping_out_) {
    if (last_read_ < own_ping_) return core_.now() - own_ping_ < settings.keepalive_timeout;
    own_ping_out_ = false;
  }
  if (settings.keepalive_interval.count() == 0 ||
      core_.now() - last_read_ < settings.keepalive_interval)
    return true;
  own_ping_ = core_.now();
  own_ping_out_ = true;
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  core_.mark_dirty(connection_);
  return true;
}

void Http2Session::ping() {
  const bool first = !std::exchange(pinged_before_, true);
  const Time last = std::exchange(last_ping_, core_.now());
  if (std::exchange(forgive_pings_, false)) {
    ping_strikes_ = 0;
    return;
  }
  const std::chrono::steady_clock::duration pause =
      streams_.empty() ? std::chrono::steady_clock::duration(kPingWithoutStreams)
                       : core_.settings().keepalive_min_time;
  if (!first && last + pause > core_.now()) ++ping_strikes_;
  if (ping_strikes_ <= kPingStrikesMax) return;
  constexpr std::string_view kReason = "too_many_pings";
  nghttp2_submit_goaway(
      session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
      NGHTTP2_ENHANCE_YOUR_CALM, reinterpret_cast<const uint8_t*>(kReason.data()), kReason.size());
  broken_ = true;
}

void Http2Session::begin(int32_t id) {
  if (free_.empty()) {
    all_.push_back(std::make_unique<Stream>());
    free_.push_back(all_.back().get());
  }
  Stream* stream = free_.back();
  free_.pop_back();
  stream->session_ = this;
  stream->id_ = id;
  streams_.push_back(*stream);
  nghttp2_session_set_stream_user_data(session_, id, stream);
}

void Http2Session::header(Stream& stream, std::string_view name, std::string_view value) {
  if (stream.started_) return;  // trailers
  stream.header_bytes_ += name.size() + value.size() + 32;
  if (stream.header_bytes_ > kHeaderListMax) return;
  const auto keep_first = [value](std::string& to) {
    if (to.empty()) to = value;
  };
  switch (name.size()) {
    case 5:
      if (name == ":path") stream.path_ = value;
      if (name == "token") keep_first(stream.token_);
      break;
    case 7:
      if (name == ":method") stream.is_post_ = value == "POST";
      break;
    case 9:
      if (name == "hasleader" && value == "true") stream.call_flags_ |= QUORATE_CALL_HAS_LEADER;
      break;
    case 12:
      if (name == "content-type")
        stream.is_grpc_ = value.starts_with(kContentType) && (value.size() == kContentType.size() ||
                                                              value[16] == '+' || value[16] == ';');
      if (name == "grpc-timeout") {
        const auto timeout = parse_grpc_timeout(value);
        stream.bad_timeout_ = !timeout;
        stream.has_timeout_ = true;
        stream.timeout_ms_ = timeout.value_or(0);
      }
      break;
    case 13:
      if (name == "authorization") keep_first(stream.authorization_);
      if (name == "grpc-encoding") stream.encoding_ = value;
      break;
    case 18:
      if (name == "client-api-version") keep_first(stream.api_version_);
      if (name == "grpcgateway-accept") stream.call_flags_ |= QUORATE_CALL_FROM_GATEWAY;
      break;
    default: break;
  }
}

void Http2Session::start(Stream& stream) {
  if (std::exchange(stream.started_, true)) return;
  if (stream.header_bytes_ > kHeaderListMax) return respond_error(stream, "431");
  if (!stream.is_post_) return respond_error(stream, "405");
  if (!stream.is_grpc_) return respond_error(stream, "415");
  const auto method = find_method(stream.path_);
  if (!method) return stream.finish({GrpcCode::kUnimplemented, unknown_method_text(stream.path_)});
  if (stream.bad_timeout_)
    return stream.finish({GrpcCode::kInternal, "malformed grpc-timeout header"});
  if (!stream.encoding_.empty() && stream.encoding_ != "identity")
    return stream.finish(
        {GrpcCode::kUnimplemented,
         "grpc: Decompressor is not installed for grpc-encoding \"" + stream.encoding_ + "\""});
  if (!is_utf8(stream.api_version_))
    return stream.finish(rpc_error(QUORATE_INVALID_CLIENT_API_VERSION));
  if (unsent_ > kConnectionOutputMax) return stream.finish(rpc_error(QUORATE_TOO_MANY_REQUESTS));
  stream.method_ = *method;
  if (stream.has_timeout_)
    core_.set_deadline(&stream, core_.now() + timeout_of(stream.timeout_ms_));
  start_handler(stream);
}

void Http2Session::start_handler(Stream& stream) {
  switch (stream.method_) {
    case Method::kWatch:
    case Method::kLeaseKeepAlive:
    case Method::kHealthWatch: start_stream(stream); break;
    case Method::kHealthCheck: stream.handler_ = make_health(stream); break;
    case Method::kSnapshot:
      stream.finish({GrpcCode::kUnimplemented, "etcdserver: snapshots are not served yet"});
      break;
    default: stream.handler_ = make_unary(stream);
  }
}

// Calls without an end of their own are judged when they open; the others, like etcd's, when their
// request is there.
void Http2Session::start_stream(Stream& stream) {
  const RpcError refusal = stream.refusal(false);
  if (refusal.code != GrpcCode::kOk) return stream.finish(refusal);
  if ((stream.call_flags_ & QUORATE_CALL_HAS_LEADER) != 0) core_.bind_to_leader(stream);
  switch (stream.method_) {
    case Method::kWatch: stream.handler_ = make_watch(stream); break;
    case Method::kLeaseKeepAlive: stream.handler_ = make_keep_alive(stream); break;
    default: stream.handler_ = make_health(stream); break;
  }
}

void Http2Session::data(Stream& stream, std::string_view bytes) {
  if (stream.handler_ == nullptr) {
    nghttp2_session_consume_stream(session_, stream.id_, bytes.size());
    return;
  }
  stream.in_.feed(bytes);
  if (stream.read_messages() || stream.handler_ == nullptr) {
    nghttp2_session_consume_stream(session_, stream.id_, bytes.size());
  } else {
    stream.held_window_ += bytes.size();
  }
}

void Http2Session::input_ended(Stream& stream) {
  stream.remote_closed_ = true;
  stream.input_ended_ = true;
  if (stream.handler_ == nullptr || !stream.handler_->accepts()) return;
  stream.input_ended_ = false;
  if (stream.in_.partial())
    return stream.finish({GrpcCode::kInternal, "grpc: the request ends inside a message"});
  stream.handler_->on_half_close();
}

void Http2Session::closed(Stream& stream) {
  nghttp2_session_set_stream_user_data(session_, stream.id_, nullptr);
  stream.finished_ = true;
  stream.drop_handler();
  unsent_ -= stream.out_.size();
  buffered_ -= stream.buffered_;
  std::replace(sent_.begin(), sent_.end(), &stream, static_cast<Stream*>(nullptr));
  if (sending_ != nullptr)
    std::replace(sending_->begin(), sending_->end(), &stream, static_cast<Stream*>(nullptr));
  stream.clear();
  streams_.erase(streams_.iterator_to(stream));
  free_.push_back(&stream);
}

void Http2Session::respond(Stream& stream) {
  stream.responded_ = true;
  forgive_pings_ = true;
  const nghttp2_nv fields[] = {field(":status", "200"), field("content-type", kContentType)};
  nghttp2_data_provider provider{};
  provider.source.ptr = &stream;
  provider.read_callback = &Http2Callbacks::read;
  nghttp2_submit_response(session_, stream.id_, fields, 2, &provider);
}

void Http2Session::respond_error(Stream& stream, std::string_view http_status) {
  stream.finished_ = stream.responded_ = true;
  const nghttp2_nv fields[] = {field(":status", http_status)};
  nghttp2_submit_response(session_, stream.id_, fields, 1, nullptr);
  core_.mark_dirty(connection_);
}

void Http2Session::resume(Stream& stream) {
  if (!stream.responded_) {
    respond(stream);
  } else if (std::exchange(stream.deferred_, false)) {
    nghttp2_session_resume_data(session_, stream.id_);
  }
  forgive_pings_ = true;
  core_.mark_dirty(connection_);
}

long Http2Session::read(Stream& stream, size_t size_max, uint32_t* flags) {
  const size_t size = std::min(size_max, stream.out_.size());
  const bool last = stream.finished_ && size == stream.out_.size();
  if (size == 0 && !last) {
    stream.deferred_ = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  if (size > 0) *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (last) {
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    submit_trailers(stream);
  }
  return static_cast<long>(size);
}

void Http2Session::submit_trailers(Stream& stream) {
  const nghttp2_nv fields[] = {field("grpc-status", kCodes[static_cast<uint32_t>(stream.code_)]),
                               copied_field("grpc-message", stream.grpc_message_)};
  nghttp2_submit_trailer(session_, stream.id_, fields, 2);
}

void Http2Session::reset_if_open(Stream& stream) {
  if (!stream.remote_closed_)
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id_, NGHTTP2_NO_ERROR);
}

void Http2Session::account(Stream& stream) {
  const size_t before = std::exchange(stream.buffered_, stream.in_.buffered());
  buffered_ += stream.buffered_ - before;
  if (buffered_ > kConnectionInputMax && stream.buffered_ > before && stream.handler_ != nullptr)
    stream.finish({GrpcCode::kResourceExhausted,
                   "etcdserver: too many unfinished requests on this connection"});
}

}  // namespace quorate::frontend_etcd
