// SPDX-License-Identifier: Apache-2.0
#include "transport_tcp/connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "transport_tcp/connection_io.h"

namespace quorate::transport_tcp {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kPiecesMax = 64;  // of one gathered write: Asio takes no more
constexpr size_t kTurnBytesMax = 4 * 1024 * 1024;
constexpr uint32_t kSlack = 64 * 1024;  // for frames that are no message

uint32_t state_of(const error_code& error) {
  const bool nobody = error == asio::error::connection_refused ||
                      error == asio::error::connection_reset || error == asio::error::eof ||
                      error == asio::error::broken_pipe || error == asio::error::connection_aborted;
  return nobody ? QUORATE_PEER_RESET : QUORATE_PEER_SILENT;
}

}  // namespace

Connection::Connection(Core& core, std::unique_ptr<Io> io, bool dialled)
    : core_(core),
      io_(std::move(io)),
      dialled_(dialled),
      deadline_(Core::now() + core.settings.dial_timeout),
      last_received_(Core::now()),
      last_ping_(last_received_) {}

Connection::~Connection() = default;

std::shared_ptr<Connection> Connection::dial(Core& core, ConnectionUser& user, Address address,
                                             uint64_t to, Purpose purpose) {
  const std::shared_ptr<Connection> connection(
      new Connection(core, std::make_unique<Io>(tcp::socket(core.io)), true));
  core.connections.emplace(connection.get(), connection);
  connection->user_ = &user;
  connection->hello_.cluster_id = core.cluster_id;
  connection->hello_.from = core.member_id;
  connection->hello_.to = to;
  connection->hello_.purpose = purpose;
  connection->address_ = address.url;
  connection->start_dial(address);
  return connection;
}

std::shared_ptr<Connection> Connection::accept(Core& core, std::unique_ptr<Io> io,
                                               std::string remote_address) {
  const std::shared_ptr<Connection> connection(new Connection(core, std::move(io), false));
  core.connections.emplace(connection.get(), connection);
  connection->address_ = std::move(remote_address);
  connection->connected();
  return connection;
}

// Only a name needs the resolver, which has a thread of its own.
void Connection::start_dial(const Address& address) {
  const auto connect_to = [self = shared_from_this()](const tcp::endpoint& endpoint) {
    self->io_->socket.async_connect(endpoint, [self](error_code error) {
      if (self->closed_) return;
      if (error) {
        self->fail(state_of(error), "cannot connect to " + self->address_ + ": " + error.message());
      } else {
        self->send(Kind::kHello, 0, 0, encode(self->hello_));
        self->connected();
      }
      self->core_.end_turn();
    });
  };
  error_code error;
  const auto port = static_cast<uint16_t>(std::stoul(address.port));
  const auto literal = asio::ip::make_address(address.host, error);
  if (!error) return connect_to({literal, port});
  auto resolver = std::make_shared<tcp::resolver>(core_.io);
  resolver->async_resolve(
      address.host, address.port,
      [self = shared_from_this(), resolver, connect_to](error_code failed, auto found) {
        if (self->closed_) return;
        if (!failed && !found.empty()) return connect_to(found.begin()->endpoint());
        self->fail(QUORATE_PEER_SILENT,
                   "cannot resolve the host of " + self->address_ + ": " + failed.message());
        self->core_.end_turn();
      });
}

void Connection::connected() {
  error_code ignored;
  io_->socket.non_blocking(true, ignored);
  io_->socket.set_option(tcp::no_delay(true), ignored);
  established_ = true;
  last_received_ = Core::now();
  mark_dirty();
  read();
}

void Connection::read() {
  const std::span<char> space = reader_.space();
  io_->socket.async_read_some(asio::buffer(space.data(), space.size()),
                              [self = shared_from_this()](error_code error, size_t count) {
                                if (self->closed_) return;
                                if (error) {
                                  self->fail(state_of(error),
                                             "the other side closed: " + error.message());
                                } else {
                                  self->reader_.filled(count);
                                  self->last_received_ = Core::now();
                                  if (self->gauge_) self->gauge_->received += count;
                                  self->take();
                                }
                                if (!self->closed_) self->read();
                                self->core_.end_turn();
                              });
}

// What came whole before a bad frame is good.
void Connection::take() {
  Frame frame;
  FrameReader::Next next = FrameReader::kMore;
  bool in_place = true;
  frames_.clear();
  while (in_place && !refused_ && (next = reader_.next(frame)) == FrameReader::kFrame) {
    if (!open_) {
      in_place = greet(frame);
      if (closed_) return;
    } else if (!answer_ping(frame)) {
      frames_.push_back(frame);
    }
  }
  if (!frames_.empty() && user_ != nullptr) in_place = user_->received(frames_) && in_place;
  if (closed_) return;
  if (next == FrameReader::kBad || !in_place) {
    const std::string what =
        next == FrameReader::kBad ? reader_.complaint() : "a frame that has no place here";
    core_.log.warn("closing the connection with " + address_ + ": it sent " + what);
    fail(QUORATE_PEER_RESET, address_ + " sent " + what);
  }
}

bool Connection::greet(const Frame& frame) {
  return dialled_ ? greet_acceptor(frame) : greet_dialler(frame);
}

bool Connection::greet_dialler(const Frame& frame) {
  const auto hello = frame.kind == Kind::kHello ? decode_hello(frame.body) : std::optional<Hello>();
  if (!hello) return false;
  hello_ = *hello;
  cluster_id_ = hello->cluster_id;
  member_id_ = hello->from;
  Admission admission;
  if (hello->version_min > kProtocolVersion || hello->version_max < kProtocolVersion) {
    admission = {QUORATE_UNSUPPORTED, "peer protocol " + std::to_string(kProtocolVersion) +
                                          " is spoken here, not " +
                                          std::to_string(hello->version_min) + " to " +
                                          std::to_string(hello->version_max)};
  } else {
    admission = core_.admit(shared_from_this(), *hello);
  }
  if (admission.code == QUORATE_OK) {
    send(Kind::kWelcome, 0, 0,
         encode(Welcome{kProtocolVersion, core_.cluster_id, core_.member_id}));
    become_open(hello->cluster_id, hello->from);
    return true;
  }
  core_.log.warn("refused a connection of " + address_ + ": " + admission.text);
  send(Kind::kRefusal, wire_code(admission.code), 0, admission.text);
  refused_ = true;
  return true;
}

bool Connection::greet_acceptor(const Frame& frame) {
  if (frame.kind == Kind::kRefusal) {
    fail(QUORATE_PEER_REFUSED,
         address_ + " refused (status " + std::to_string(frame.code) +
             "): " + std::string(frame.body),
         frame.code);
    return true;
  }
  const auto welcome =
      frame.kind == Kind::kWelcome ? decode_welcome(frame.body) : std::optional<Welcome>();
  if (!welcome) return false;
  cluster_id_ = welcome->cluster_id;
  member_id_ = welcome->member_id;
  std::string complaint;
  const quorate_peer_identity who = identity();
  if (welcome->version != kProtocolVersion) {
    complaint = "speaks peer protocol " + std::to_string(welcome->version);
  } else if (core_.cluster_id != 0 && cluster_id_ != 0 && cluster_id_ != core_.cluster_id) {
    complaint = "belongs to another cluster";
  } else if (hello_.to != 0 && member_id_ != hello_.to) {
    complaint = "is another member than was asked for";
  } else if (const quorate_status code = core_.authorize(who); code != QUORATE_OK) {
    complaint = "is not authorized (status " + std::to_string(code) + ")";
  }
  if (complaint.empty()) {
    become_open(cluster_id_, member_id_);
    if (user_ != nullptr) user_->opened();
  } else {
    fail(QUORATE_PEER_REFUSED, "who answers at " + address_ + " " + complaint);
  }
  return true;
}

void Connection::become_open(uint64_t cluster_id, uint64_t member_id) {
  cluster_id_ = cluster_id;
  member_id_ = member_id;
  open_ = true;
  const bool blocks = hello_.purpose == Purpose::kSnapshot;
  reader_.set_body_max(std::max<uint64_t>(
      blocks ? core_.settings.block_bytes_max : core_.settings.message_bytes_max, kSlack));
}

// A ping carries the sender's clock, which comes back as it is.
bool Connection::answer_ping(const Frame& frame) {
  if (frame.kind == Kind::kPing) {
    send(Kind::kPong, 0, frame.id);
    return true;
  }
  if (frame.kind != Kind::kPong) return false;
  const auto now_us = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Core::now().time_since_epoch())
          .count());
  if (gauge_ && dialled_ && hello_.purpose == Purpose::kControl && frame.id <= now_us)
    gauge_->rtt_us = now_us - frame.id;
  return true;
}

quorate_peer_identity Connection::identity() const {
  quorate_peer_identity identity{};
  identity.struct_size = sizeof identity;
  identity.protocol_version = kProtocolVersion;
  identity.cluster_id = cluster_id_;
  identity.member_id = member_id_;
  identity.address = address_.c_str();
  return identity;
}

void Connection::send(Kind kind, uint16_t code, uint64_t id, std::string_view body) {
  if (closed_ || overflowed_ || refused_) return;
  out_.append(kind, code, id, body);
  // A peer that only asks and never takes its answers.
  overflowed_ = out_.size() > core_.settings.queue_bytes_max + 2 * core_.settings.message_bytes_max;
  mark_dirty();
}

void Connection::send(Kind kind, uint16_t code, uint64_t id, Parts parts, size_t charge) {
  if (closed_ || overflowed_ || refused_) return;
  out_.append(kind, code, id, std::move(parts), charge);
  overflowed_ = out_.size() > core_.settings.queue_bytes_max + 2 * core_.settings.message_bytes_max;
  mark_dirty();
}

void Connection::mark_dirty() {
  if (!std::exchange(dirty_, true)) core_.mark_dirty(shared_from_this());
}

void Connection::flush() {
  dirty_ = false;
  if (closed_ || !established_) return;
  if (overflowed_) return fail(QUORATE_PEER_SILENT, address_ + " does not read what it asked for");
  std::vector<asio::const_buffer> pieces;
  Charge charge;
  error_code error;
  for (size_t sent = 0; !waiting_writable_ && !out_.empty();) {
    if (sent > kTurnBytesMax) {
      wait_writable();
      break;
    }
    pieces.clear();
    out_.front(kPiecesMax, [&pieces](std::string_view piece) {
      pieces.emplace_back(piece.data(), piece.size());
    });
    const size_t count = io_->socket.write_some(pieces, error);
    if (error == asio::error::would_block) {
      error = {};
      wait_writable();
      break;
    }
    if (error) break;
    sent += count;
    const Charge part = out_.take(count);
    charge.bytes += part.bytes;
    charge.frames += part.frames;
    if (gauge_) gauge_->sent += count;
  }
  if (charge.frames > 0 && user_ != nullptr) user_->written(charge);
  if (error) return fail(state_of(error), "cannot write to " + address_ + ": " + error.message());
  if (refused_ && out_.empty()) fail(QUORATE_PEER_REFUSED, "refused");
}

void Connection::wait_writable() {
  waiting_writable_ = true;
  io_->socket.async_wait(tcp::socket::wait_write, [self = shared_from_this()](error_code) {
    self->waiting_writable_ = false;
    if (self->closed_) return;
    self->mark_dirty();
    self->core_.end_turn();
  });
}

void Connection::tick(Time now) {
  if (closed_) return;
  if (!open_) {
    if (now > deadline_)
      fail(QUORATE_PEER_SILENT, "no answer from " + address_ + " within " +
                                    std::to_string(core_.settings.dial_timeout.count()) + " ms");
    return;
  }
  if (now - last_received_ > core_.settings.silent_after)
    return fail(QUORATE_PEER_SILENT, "nothing came from " + address_ + " for " +
                                         std::to_string(core_.settings.silent_after.count()) +
                                         " ms");
  if (now - last_ping_ < core_.settings.ping_interval) return;
  last_ping_ = now;
  send(Kind::kPing, 0,
       static_cast<uint64_t>(
           std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count()));
}

void Connection::fail(uint32_t state, std::string reason, quorate_status refusal) {
  ConnectionUser* const user = user_;
  const auto self = shared_from_this();
  close();
  if (user != nullptr) user->closed({state, std::move(reason), refusal});
}

void Connection::close() {
  if (std::exchange(closed_, true)) return;
  const auto self = shared_from_this();
  user_ = nullptr;
  read_the_rest();
  error_code ignored;
  io_->socket.close(ignored);
  out_.clear();
  core_.connections.erase(this);
}

// A socket closed with unread bytes resets the connection, and what we wrote last, a refusal
// perhaps, would be lost with it.
void Connection::read_the_rest() {
  if (!established_) return;
  std::array<char, 4096> scrap;
  error_code error;
  for (int i = 0; i < 16 && !error; ++i) io_->socket.read_some(asio::buffer(scrap), error);
}

void Core::end_turn() {
  // A flush may close, and closing may give others something to write.
  while (!dirty_.empty()) {
    const auto turn = std::exchange(dirty_, {});
    for (const auto& connection : turn) connection->flush();
  }
}

}  // namespace quorate::transport_tcp
