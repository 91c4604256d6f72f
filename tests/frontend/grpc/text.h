// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <capnp/blob.h>

#include <string>

namespace quorate::tests {

// What a message holds, as a string, and the other way round.
inline std::string text(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}
inline std::string text(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}
inline capnp::Data::Reader data(const std::string& bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

}  // namespace quorate::tests
