// SPDX-License-Identifier: Apache-2.0
// From etcd's request messages to the request language.
#pragma once

#include <string>
#include <string_view>

#include "frontend_etcd/errors.h"
#include "frontend_etcd/methods.h"
#include "schemas/segment.h"

namespace quorate::frontend_etcd {

// What the answer's encoder will want to know of a request.
struct RequestFacts {
  int64_t lease = 0;           // the id a lease call named
  bool keys_only = false;      // some range of it wants no values
  bool serializable = false;   // a range that needs no leader
  bool needs_request = false;  // the request itself, to open a pull or to find its ranges
};

struct Limits {
  uint32_t txn_ops = 128;
};

// Nested transactions; the request language's readers stop at 64 pointers.
inline constexpr int kTxnDepthMax = 24;

// Decodes `message`, which must be the request of `method` (one that has one answer; keep-alives
// too), into a schema::Request in `out`. Bytes that are no such message answer kInternal, as gRPC
// does.
RpcError decode_request(Method method, std::string_view message, const Limits& limits,
                        schema::SegmentBuilder& out, RequestFacts& facts);

// One message of a watch stream.
struct WatchOp {
  enum class Kind { kNone, kCreate, kCancel, kProgress };
  Kind kind = Kind::kNone;
  std::string_view key;  // views live as long as the message
  std::string_view range_end;
  int64_t start_revision = 0;
  int64_t watch_id = 0;
  bool progress_notify = false;
  bool no_put = false;
  bool no_delete = false;
  bool prev_kv = false;
  bool fragment = false;
};
RpcError decode_watch(std::string_view message, WatchOp& op);

// The service a health check asks about.
RpcError decode_health(std::string_view message, std::string_view& service);

}  // namespace quorate::frontend_etcd
