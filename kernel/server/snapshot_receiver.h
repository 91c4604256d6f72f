// SPDX-License-Identifier: Apache-2.0
// What takes the snapshots of peers; see quorate_receiver in transport.h.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "quorate/transport.h"

namespace quorate::server {

// [plugin-thread]
class SnapshotReceiver {
 public:
  virtual ~SnapshotReceiver() = default;
  virtual quorate_status begin(uint64_t stream, uint64_t from, Slice meta) = 0;
  virtual quorate_status block(uint64_t stream, Slice block) = 0;
  virtual void end(uint64_t stream, quorate_status sender) = 0;
  virtual void on_stream(void* user, uint32_t event, quorate_status code) = 0;
};

}  // namespace quorate::server
