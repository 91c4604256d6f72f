// SPDX-License-Identifier: Apache-2.0
// Between the border's borrowed bytes and the standard library's. Nothing here copies.
#pragma once

#include <string_view>

#include "quorate/abi.h"

namespace quorate::sdk {

inline std::string_view view(quorate_slice slice) {
  return {reinterpret_cast<const char*>(slice.data), slice.size};
}

inline quorate_slice slice(std::string_view bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace quorate::sdk
