// SPDX-License-Identifier: Apache-2.0
#include "transport_tcp/address.h"

#include <charconv>

#include "sdk/error.h"

namespace quorate::transport_tcp {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw sdk::Failure(QUORATE_INVALID_ARGUMENT, text);
}

bool is_port(const std::string& text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Address parse_url(const std::string& url) {
  if (url.starts_with("https://"))
    refuse("peer URL " + url +
           " asks for TLS, which transport_tcp does not have yet; write http://");
  if (!url.starts_with("http://"))
    refuse("peer URL '" + url + "' has no scheme that is known; write http://host:port");
  std::string rest = url.substr(7);
  if (!rest.empty() && rest.back() == '/') rest.pop_back();
  const size_t colon = rest.rfind(':');
  if (colon == std::string::npos || rest.find('/') != std::string::npos)
    refuse("peer URL " + url + " has no port, or a path; write http://host:port");
  Address address{rest.substr(0, colon), rest.substr(colon + 1), url};
  if (!is_port(address.port)) refuse("peer URL " + url + " has no valid port");
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  return address;
}

}  // namespace quorate::transport_tcp
