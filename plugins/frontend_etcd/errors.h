// SPDX-License-Identifier: Apache-2.0
// How the one list of codes looks to an etcd client: a gRPC code and a text that clients compare
// byte for byte.
#pragma once

#include <string>
#include <string_view>

#include "quorate/abi.h"

namespace quorate::frontend_etcd {

// gRPC's own numbers.
enum class GrpcCode : uint32_t {
  kOk = 0,
  kCanceled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

struct RpcError {
  GrpcCode code = GrpcCode::kOk;
  std::string text;
};

// What a client is told of `status`. `message`, the kernel's refinement, is used only for codes
// that etcd has no fixed text for. A code that is not on the list counts as QUORATE_INTERNAL.
RpcError rpc_error(quorate_status status, std::string_view message = {});

// The text of a watch reply that says why a watcher could not be made or was ended: etcd puts the
// whole gRPC error there for what its authentication refused, and the bare text otherwise.
std::string cancel_reason(quorate_status status);

// The name a gRPC code has in Go's error texts ("PermissionDenied").
std::string_view code_name(GrpcCode code);

}  // namespace quorate::frontend_etcd
