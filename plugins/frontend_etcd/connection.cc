// SPDX-License-Identifier: Apache-2.0
#include "frontend_etcd/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace quorate::frontend_etcd {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::chrono::seconds kHandshakeTime{10};  // until it is clear who speaks
constexpr std::chrono::seconds kHttp1IdleTime{120};
constexpr std::chrono::seconds kLingerTime{1};

}  // namespace

Connection::Connection(Core& core, Socket socket, std::string remote_address,
                       std::function<void(Connection*)> on_closed)
    : core_(core),
      socket_(std::move(socket)),
      remote_address_(std::move(remote_address)),
      on_closed_(std::move(on_closed)),
      last_read_(core.now()) {}

Connection::~Connection() {
  core_.forget(this);
}

void Connection::start() {
  read();
}

void Connection::read() {
  socket_.async_read_some(
      boost::asio::buffer(in_),
      [self = shared_from_this()](boost::system::error_code error, size_t size) {
        if (self->closed_) return;
        if (error) return self->close();
        self->received(size);
      });
}

void Connection::received(size_t size) {
  core_.update_now();
  // What a client says after the end does not keep the connection.
  if (!lingering_) {
    last_read_ = core_.now();
    take({in_.data(), size});
  }
  if (!closed_) read();
}

void Connection::take(std::string_view bytes) {
  if (!http2_ && !http1_ && !choose_session(bytes)) return;
  if (http2_) {
    http2_->receive(bytes);
  } else {
    http1_->receive(bytes);
  }
  sniffed_ = {};
}

bool Connection::choose_session(std::string_view& bytes) {
  sniffed_.append(bytes);
  bytes = sniffed_;
  if (bytes.starts_with(kPreface)) {
    http2_.emplace(core_, remote_address_, this);
  } else if (kPreface.starts_with(bytes)) {
    return false;
  } else {
    http1_.emplace(core_, this);
  }
  if (draining_) drain();
  return true;
}

void Connection::flush() {
  if (closed_ || writing_ || lingering_) return;
  for (;;) {
    if (http2_) http2_->produce(out_, kTurnOutputMax);
    if (http1_) http1_->produce(out_);
    if (out_.empty()) break;
    boost::system::error_code error;
    written_ = socket_.write_some(boost::asio::buffer(out_), error);
    if (error && error != boost::asio::error::would_block) return close();
    if (error) written_ = 0;
    if (written_ < out_.size()) return write_rest();
    out_.clear();
  }
  after_write();
}

void Connection::write_rest() {
  writing_ = true;
  boost::asio::async_write(socket_,
                           boost::asio::buffer(out_.data() + written_, out_.size() - written_),
                           [self = shared_from_this()](boost::system::error_code error, size_t) {
                             if (self->closed_) return;
                             if (error) return self->close();
                             self->writing_ = false;
                             self->out_.clear();
                             self->core_.update_now();
                             self->core_.mark_dirty(self.get());
                           });
}

void Connection::after_write() {
  if (out_.capacity() > 2 * kTurnOutputMax) out_ = {};
  const bool over = (http2_ && (http2_->done() || (draining_ && http2_->idle()))) ||
                    (http1_ && http1_->closing() && http1_->idle());
  if (over) linger();
}

// Closing at once would make the kernel send a reset when the client had more to say, and the
// client would lose what we said last.
void Connection::linger() {
  boost::system::error_code ignored;
  lingering_ = true;
  last_read_ = core_.now();
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void Connection::drain() {
  draining_ = true;
  if (http2_) http2_->drain();
  if (http1_) http1_->drain();
  core_.mark_dirty(this);
}

bool Connection::idle() const {
  if (closed_ || lingering_) return true;
  if (writing_ || !out_.empty()) return false;
  return (!http2_ || http2_->idle()) && (!http1_ || http1_->idle());
}

void Connection::close() {
  if (std::exchange(closed_, true)) return;
  const auto self = shared_from_this();
  boost::system::error_code ignored;
  socket_.close(ignored);
  http2_.reset();
  http1_.reset();
  on_closed_(this);
}

void Connection::tick() {
  const auto quiet = core_.now() - last_read_;
  if (lingering_ && quiet > kLingerTime) return close();
  if (!http2_ && !http1_ && quiet > kHandshakeTime) return close();
  if (http1_ && http1_->idle() && quiet > kHttp1IdleTime) return close();
  if (http2_ && !http2_->keep_alive()) return close();
}

}  // namespace quorate::frontend_etcd
