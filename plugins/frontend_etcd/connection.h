// SPDX-License-Identifier: Apache-2.0
// One accepted socket: reads, tells HTTP/2 from HTTP/1.1, writes what the session has to say once a
// turn.
//
// Lives on the I/O thread; owned by its own pending operations and by the server's list.
#pragma once

#include <array>
#include <boost/asio/generic/stream_protocol.hpp>
#include <memory>
#include <optional>
#include <string>

#include "frontend_etcd/http1.h"
#include "frontend_etcd/http2.h"

namespace quorate::frontend_etcd {

class Connection final : public Flushable, public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  // on_closed: called once, when the socket is closed.
  Connection(Core& core, Socket socket, std::string remote_address,
             std::function<void(Connection*)> on_closed);
  ~Connection() override;

  void start();
  void flush() override;
  void drain();
  // Nothing is owed to the client any more.
  bool idle() const;
  void close();
  // Called about once a second: idle limits and keepalive.
  void tick();

 private:
  void read();
  void received(size_t size);
  void take(std::string_view bytes);
  bool choose_session(std::string_view& bytes);
  void write_rest();
  void after_write();
  void linger();

  Core& core_;
  Socket socket_;
  const std::string remote_address_;
  std::function<void(Connection*)> on_closed_;
  std::array<char, 16 * 1024> in_;
  std::string sniffed_;  // what came before it was clear which session it is for
  std::optional<Http2Session> http2_;
  std::optional<Http1Session> http1_;
  std::string out_;
  size_t written_ = 0;  // of out_
  bool writing_ = false;
  bool lingering_ = false;  // our side is closed; reads on until the client has closed its own
  bool draining_ = false;
  bool closed_ = false;
  Time last_read_;
};

}  // namespace quorate::frontend_etcd
