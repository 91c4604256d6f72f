// SPDX-License-Identifier: Apache-2.0
#include "daemon/url.h"

#include <arpa/inet.h>
#include <spdlog/fmt/fmt.h>

#include <charconv>

namespace quorate::daemon {
namespace {

Status bad_url(std::string_view url, std::string_view what) {
  return Status(Code::kInvalidArgument, fmt::format("'{}' {}", url, what));
}

bool is_ip(const std::string& host) {
  unsigned char address[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), address) == 1 ||
         inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), address) == 1;
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port <= 65535;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Status check_host_and_port(std::string_view url, std::string_view rest, UrlUse use) {
  if (const size_t slash = rest.find('/'); slash != std::string_view::npos) {
    if (slash + 1 != rest.size()) return bad_url(url, "has a path; write http://host:port alone");
    rest.remove_suffix(1);
  }
  const size_t colon = rest.rfind(':');
  const bool in_brackets = colon != std::string_view::npos && rest.find(']', colon) != rest.npos;
  if (colon == std::string_view::npos || in_brackets || !is_port(rest.substr(colon + 1))) {
    return bad_url(url, "needs a port; write http://host:port");
  }
  std::string host(rest.substr(0, colon));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return bad_url(url, "needs brackets around its IPv6 address; write http://[::1]:2379");
  }
  if (host.empty()) return bad_url(url, "names no host; write 0.0.0.0 for every address");
  if (use == UrlUse::kListen && host != "localhost" && !is_ip(host)) {
    return bad_url(url, "names a host by DNS; to listen, write its IP address or localhost");
  }
  return Status();
}

Status check_url(std::string_view url, UrlUse use) {
  const size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) {
    return bad_url(url, "has no scheme; write http://host:port");
  }
  const std::string_view scheme = url.substr(0, scheme_end);
  const std::string_view rest = url.substr(scheme_end + 3);
  if (scheme == "http") return check_host_and_port(url, rest, use);
  if (scheme == "https" || scheme == "unixs") {
    return bad_url(url, "asks for TLS, which is not built yet; write http://host:port");
  }
  if (scheme == "unix") {
    return rest.empty() ? bad_url(url, "names no path; write unix:///path") : Status();
  }
  return bad_url(url, "has an unknown scheme; write http:// or unix://");
}

}  // namespace

Result<std::vector<std::string>> parse_urls(std::string_view list, UrlUse use) {
  std::vector<std::string> urls;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t comma = std::min(list.find(',', begin), list.size());
    const std::string_view url = trimmed(list.substr(begin, comma - begin));
    QUORATE_TRY(check_url(url, use));
    urls.emplace_back(url);
    begin = comma + 1;
  }
  return urls;
}

}  // namespace quorate::daemon
