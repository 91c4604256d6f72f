// SPDX-License-Identifier: Apache-2.0
// The socket of a connection, apart because few need Asio's headers.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "transport_tcp/connection.h"

namespace quorate::transport_tcp {

struct Connection::Io {
  explicit Io(boost::asio::ip::tcp::socket from) : socket(std::move(from)) {}

  boost::asio::ip::tcp::socket socket;
};

inline std::string text_of(const boost::asio::ip::tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" +
         std::to_string(endpoint.port());
}

}  // namespace quorate::transport_tcp
