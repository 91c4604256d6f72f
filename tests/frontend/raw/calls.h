// SPDX-License-Identifier: Apache-2.0
// Calls as bytes, for clients that go their own way with them.
#pragma once

#include <cstdint>
#include <string>

#include "frontend/h2_client.h"
#include "frontend_etcd/wire.h"

namespace quorate::tests {

inline const std::string kPut = "/etcdserverpb.KV/Put";
inline const std::string kRange = "/etcdserverpb.KV/Range";

inline std::string put_request(const std::string& key = "k") {
  std::string bytes;
  frontend_etcd::wire::Writer(bytes).bytes(1, key);
  return bytes;
}

// The headers of a call, which stays open.
inline std::string open_call(uint32_t stream, const std::string& path, const Headers& more = {}) {
  return frame(kHeaders, kEndHeaders, stream, header_block(call_headers(path, more)));
}

}  // namespace quorate::tests
