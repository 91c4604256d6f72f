// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/json.h"

#include <spdlog/fmt/fmt.h>

namespace quorate::ctl {

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace quorate::ctl
