// SPDX-License-Identifier: Apache-2.0
// A peer URL taken apart.
#pragma once

#include <string>
#include <vector>

namespace quorate::transport_tcp {

struct Address {
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string url;
};

// Throws sdk::Failure(QUORATE_INVALID_ARGUMENT) unless it is http://host:port.
Address parse_url(const std::string& url);

using Addresses = std::vector<Address>;

}  // namespace quorate::transport_tcp
