// SPDX-License-Identifier: Apache-2.0
// The addresses in flags: http://host:port, or a path after unix://. Pure text; nothing is
// resolved.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quorate::daemon {

enum class UrlUse {
  kListen,     // must name an IP address, localhost or a path: a DNS name is refused
  kAdvertise,  // may name anything
};

// The parts of a comma list, without the blanks around them. Each is checked; an empty list or part
// is an error.
Result<std::vector<std::string>> parse_urls(std::string_view list, UrlUse use);

}  // namespace quorate::daemon
