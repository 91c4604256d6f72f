// SPDX-License-Identifier: Apache-2.0
#include "load/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace quorate::bench {
namespace {

constexpr int32_t kWindow = 1 << 28;
constexpr size_t kReadBytes = 256 << 10;

nghttp2_nv header(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

std::string_view text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

Connection::Connection(int fd, std::string authority, CallSource* calls, Tally* tally)
    : fd_(fd), authority_(std::move(authority)), calls_(calls), tally_(tally) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  set_callbacks(callbacks);
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_peer_max_concurrent_streams(option, UINT32_MAX);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_session_client_new2(&session_, callbacks, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow},
                                             {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindow);
}

Connection::~Connection() {
  nghttp2_session_del(session_);
  close(fd_);
}

void Connection::set_callbacks(nghttp2_session_callbacks* callbacks) {
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
}

void Connection::start(uint32_t outstanding) {
  for (uint32_t i = 0; i < outstanding; ++i) send_next(std::make_unique<Call>());
}

void Connection::send_next(std::unique_ptr<Call> call) {
  if (!tally_->sending || tally_->sent >= tally_->calls_max) return;
  ++tally_->sent;
  *call = Call();
  call->message = calls_->next();
  const nghttp2_nv headers[] = {
      header(":method", "POST"),
      header(":scheme", "http"),
      header(":path", calls_->path()),
      header(":authority", authority_),
      header("content-type", "application/grpc"),
      header("te", "trailers"),
      header("user-agent", "quorate-load"),
  };
  nghttp2_data_provider body{};
  body.source.ptr = call.get();
  body.read_callback = read_body;
  nghttp2_submit_request(session_, nullptr, headers, std::size(headers), &body, call.get());
  call->begin_ns = now_ns();
  ++under_way_;
  call->place = live_.size();
  live_.push_back(std::move(call));
}

ssize_t Connection::read_body(nghttp2_session*, int32_t, uint8_t* to, size_t size, uint32_t* flags,
                              nghttp2_data_source* source, void*) {
  auto* call = static_cast<Call*>(source->ptr);
  const size_t count = std::min(size, call->message.size() - call->sent);
  std::memcpy(to, call->message.data() + call->sent, count);
  call->sent += count;
  if (call->sent == call->message.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(count);
}

int Connection::on_header(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name,
                          size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                          void*) {
  auto* call =
      static_cast<Call*>(nghttp2_session_get_stream_user_data(session, frame->hd.stream_id));
  if (call == nullptr) return 0;
  const std::string_view key = text(name, name_size);
  if (key == "grpc-status") {
    call->ok = text(value, value_size) == "0";
    if (!call->ok) call->status = "status " + std::string(text(value, value_size)) + call->status;
  } else if (key == "grpc-message") {
    call->status += ": " + std::string(text(value, value_size));
  }
  return 0;
}

int Connection::on_data(nghttp2_session* session, uint8_t, int32_t stream, const uint8_t* data,
                        size_t size, void*) {
  if (auto* call = static_cast<Call*>(nghttp2_session_get_stream_user_data(session, stream))) {
    if (call->received < call->reply_head.size()) {
      const size_t count = std::min(size, call->reply_head.size() - call->received);
      std::memcpy(call->reply_head.data() + call->received, data, count);
    }
    call->received += size;
  }
  return 0;
}

int Connection::on_close(nghttp2_session* session, int32_t stream, uint32_t error_code,
                         void* self) {
  auto* connection = static_cast<Connection*>(self);
  auto* call = static_cast<Call*>(nghttp2_session_get_stream_user_data(session, stream));
  if (call == nullptr) return 0;
  auto& live = connection->live_;
  std::swap(live[call->place], live.back());
  live[call->place]->place = call->place;
  std::unique_ptr<Call> taken = std::move(live.back());
  live.pop_back();
  connection->on_call_end(std::move(taken), error_code);
  return 0;
}

void Connection::on_call_end(std::unique_ptr<Call> call, uint32_t error_code) {
  --under_way_;
  ++tally_->ended;
  if (!call->ok && tally_->first_error.empty()) {
    tally_->first_error = error_code != 0 ? nghttp2_http2_strerror(error_code) : call->status;
  }
  if (tally_->counting) {
    tally_->latency_ns.record(now_ns() - call->begin_ns);
    tally_->failed += !call->ok;
    tally_->implausible += call->ok && !calls_->plausible(call->received);
  }
  if (call->ok && tally_->record != nullptr) record(*call);
  send_next(std::move(call));
}

void Connection::record(const Call& call) {
  const std::string_view key = calls_->key_of(call.message);
  const std::string_view head(call.reply_head.data(),
                              std::min(call.received, call.reply_head.size()));
  const auto revision = revision_of(head);
  if (!revision) {
    ++tally_->implausible;
    return;
  }
  std::fprintf(tally_->record, "%.*s %lld\n", static_cast<int>(key.size()), key.data(),
               static_cast<long long>(*revision));
}

bool Connection::fail(std::string_view what) {
  error_ = what;
  return false;
}

bool Connection::on_readable() {
  static thread_local std::vector<uint8_t> buffer(kReadBytes);
  const ssize_t count = recv(fd_, buffer.data(), buffer.size(), 0);
  if (count == 0) return fail("the server closed the connection");
  if (count < 0) return errno == EAGAIN || errno == EINTR || fail(std::strerror(errno));
  const ssize_t taken =
      nghttp2_session_mem_recv(session_, buffer.data(), static_cast<size_t>(count));
  if (taken < 0) return fail(nghttp2_strerror(static_cast<int>(taken)));
  return flush();
}

bool Connection::flush() {
  while (true) {
    if (out_.empty()) {
      const uint8_t* frame = nullptr;
      ssize_t size = 0;
      while (out_.size() < kReadBytes && (size = nghttp2_session_mem_send(session_, &frame)) > 0) {
        out_.append(text(frame, static_cast<size_t>(size)));
      }
      if (size < 0) return fail(nghttp2_strerror(static_cast<int>(size)));
      if (out_.empty()) return true;
    }
    const ssize_t count = send(fd_, out_.data() + out_done_, out_.size() - out_done_, MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EINTR || fail(std::strerror(errno));
    out_done_ += static_cast<size_t>(count);
    if (out_done_ == out_.size()) {
      out_.clear();
      out_done_ = 0;
    }
  }
}

}  // namespace quorate::bench
