// SPDX-License-Identifier: Apache-2.0
// The parts of one message, to be sent back to back.
#pragma once

#include <vector>

#include "sdk/shared_buf.h"

namespace quorate::transport_tcp {

using sdk::SharedBuf;
using Parts = std::vector<SharedBuf>;

inline size_t size_of(const Parts& parts) {
  size_t size = 0;
  for (const SharedBuf& part : parts) size += part.bytes().size();
  return size;
}

}  // namespace quorate::transport_tcp
