// SPDX-License-Identifier: Apache-2.0
// One socket, dialled or accepted: greeting, frames in and out, life signs.
//
// Both sides ping each ping-interval. Who hears nothing for silent-after closes. A frame that is
// damaged, too long or out of place closes, and harms nothing else.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport_tcp/address.h"
#include "transport_tcp/core.h"
#include "transport_tcp/frame.h"
#include "transport_tcp/out_queue.h"

namespace quorate::transport_tcp {

struct Closure {
  uint32_t state = QUORATE_PEER_RESET;  // QUORATE_PEER_*
  std::string reason;
  quorate_status refusal = QUORATE_OK;  // the other side's code, when it refused this member
};

// Who uses a connection. Every call comes in a turn of the I/O thread, never from inside a function
// of Connection that the user called, and may destroy the user.
class ConnectionUser {
 public:
  virtual ~ConnectionUser() = default;
  // Dialled: both sides have accepted each other.
  virtual void opened() {}
  // All whole frames of one read, pings apart. False: one is out of place, close.
  virtual bool received(std::span<const Frame> frames) = 0;
  virtual void written(Charge) {}
  // Once, unless close() was called before.
  virtual void closed(const Closure& closure) = 0;
};

// Owned by Core::connections until closed, and by its own pending operations.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  struct Io;

  static std::shared_ptr<Connection> dial(Core& core, ConnectionUser& user, Address address,
                                          uint64_t to, Purpose purpose);
  static std::shared_ptr<Connection> accept(Core& core, std::unique_ptr<Io> io,
                                            std::string remote_address);
  ~Connection();

  void set_user(ConnectionUser* user) { user_ = user; }
  void set_gauge(std::shared_ptr<PeerGauge> gauge) { gauge_ = std::move(gauge); }

  bool is_open() const { return open_; }
  Purpose purpose() const { return hello_.purpose; }
  // Who is at the other end; borrows from this. Meaningful when open.
  quorate_peer_identity identity() const;
  size_t queued_bytes() const { return out_.size(); }

  // Queued; written at the end of the turn. Nothing once closed.
  void send(Kind kind, uint16_t code, uint64_t id, std::string_view body = {});
  void send(Kind kind, uint16_t code, uint64_t id, Parts parts, size_t charge = 0);

  // The user hears nothing any more.
  void close();
  void flush();
  void tick(Time now);

 private:
  Connection(Core& core, std::unique_ptr<Io> io, bool dialled);

  void start_dial(const Address& address);
  void connect();
  void connected();
  void read();
  void take();
  bool greet(const Frame& frame);
  bool greet_dialler(const Frame& frame);
  bool greet_acceptor(const Frame& frame);
  void welcome(const Hello& hello);
  void become_open(uint64_t cluster_id, uint64_t member_id);
  bool answer_ping(const Frame& frame);
  void wait_writable();
  void read_the_rest();
  void mark_dirty();
  void fail(uint32_t state, std::string reason, quorate_status refusal = QUORATE_OK);

  Core& core_;
  std::unique_ptr<Io> io_;
  ConnectionUser* user_ = nullptr;
  std::shared_ptr<PeerGauge> gauge_;
  const bool dialled_;
  std::string address_;
  Hello hello_;  // the one sent or taken
  uint64_t cluster_id_ = 0, member_id_ = 0;
  FrameReader reader_;
  OutQueue out_;
  std::vector<Frame> frames_;
  Time deadline_;  // of the greeting
  Time last_received_, last_ping_;
  bool established_ = false;  // the socket is connected
  bool open_ = false;
  bool closed_ = false;
  bool dirty_ = false;
  bool waiting_writable_ = false;
  bool overflowed_ = false;
  bool refused_ = false;  // closes when the refusal is written
};

}  // namespace quorate::transport_tcp
