// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace quorate::ctl {

// `text` as a JSON string, quotes included. Bytes above 0x7f pass as they are.
std::string json_string(std::string_view text);

}  // namespace quorate::ctl
