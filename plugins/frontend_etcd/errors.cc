// SPDX-License-Identifier: Apache-2.0
#include "frontend_etcd/errors.h"

#include <algorithm>
#include <array>

namespace quorate::frontend_etcd {
namespace {

struct Row {
  quorate_status status;
  GrpcCode code;
  std::string_view text;
  bool refined = false;  // the kernel's message, when there is one, goes in the text's place
};

constexpr std::array kRows{
    Row{QUORATE_NOT_FOUND, GrpcCode::kNotFound, "etcdserver: not found", true},
    Row{QUORATE_INVALID_ARGUMENT, GrpcCode::kInvalidArgument, "etcdserver: invalid argument", true},
    Row{QUORATE_UNSUPPORTED, GrpcCode::kUnimplemented, "etcdserver: not supported by this server",
        true},
    Row{QUORATE_BUSY, GrpcCode::kUnknown, "etcdserver: too many requests"},
    Row{QUORATE_NO_SPACE, GrpcCode::kResourceExhausted, "etcdserver: no space left on the disk",
        true},
    Row{QUORATE_CORRUPT, GrpcCode::kDataLoss, "etcdserver: stored data is damaged", true},
    Row{QUORATE_IO_ERROR, GrpcCode::kInternal, "etcdserver: input or output failed", true},
    Row{QUORATE_CANCELLED, GrpcCode::kUnknown, "etcdserver: request cancelled"},
    Row{QUORATE_TIMEOUT, GrpcCode::kUnavailable, "etcdserver: request timed out"},
    Row{QUORATE_UNAVAILABLE, GrpcCode::kUnavailable, "etcdserver: server not ready", true},
    Row{QUORATE_INTERNAL, GrpcCode::kInternal, "etcdserver: internal error", true},
    // Whether it took effect is not known, which is what etcd's own timeout means.
    Row{QUORATE_UNKNOWN_OUTCOME, GrpcCode::kUnavailable, "etcdserver: request timed out"},
    Row{QUORATE_USE_RANGE_OPEN, GrpcCode::kInternal, "etcdserver: answer too large for one piece"},
    Row{QUORATE_COMPACTED, GrpcCode::kOutOfRange,
        "etcdserver: mvcc: required revision has been compacted"},
    Row{QUORATE_FUTURE_REVISION, GrpcCode::kOutOfRange,
        "etcdserver: mvcc: required revision is a future revision"},
    Row{QUORATE_EMPTY_KEY, GrpcCode::kInvalidArgument, "etcdserver: key is not provided"},
    Row{QUORATE_KEY_NOT_FOUND, GrpcCode::kInvalidArgument, "etcdserver: key not found"},
    Row{QUORATE_VALUE_PROVIDED, GrpcCode::kInvalidArgument, "etcdserver: value is provided"},
    Row{QUORATE_LEASE_PROVIDED, GrpcCode::kInvalidArgument, "etcdserver: lease is provided"},
    Row{QUORATE_TOO_MANY_OPS, GrpcCode::kInvalidArgument,
        "etcdserver: too many operations in txn request"},
    Row{QUORATE_DUPLICATE_KEY, GrpcCode::kInvalidArgument,
        "etcdserver: duplicate key given in txn request"},
    Row{QUORATE_INVALID_SORT_OPTION, GrpcCode::kInvalidArgument, "etcdserver: invalid sort option"},
    Row{QUORATE_INVALID_CLIENT_API_VERSION, GrpcCode::kInvalidArgument,
        "etcdserver: invalid client api version"},
    Row{QUORATE_REQUEST_TOO_LARGE, GrpcCode::kInvalidArgument, "etcdserver: request is too large"},
    Row{QUORATE_BAD_MEMBER_URLS, GrpcCode::kInvalidArgument,
        "etcdserver: given member URLs are invalid"},
    Row{QUORATE_USER_EMPTY, GrpcCode::kInvalidArgument, "etcdserver: user name is empty"},
    Row{QUORATE_ROLE_EMPTY, GrpcCode::kInvalidArgument, "etcdserver: role name is empty"},
    Row{QUORATE_AUTH_FAILED, GrpcCode::kInvalidArgument,
        "etcdserver: authentication failed, invalid user ID or password"},
    Row{QUORATE_PERMISSION_NOT_GIVEN, GrpcCode::kInvalidArgument,
        "etcdserver: permission not given"},
    Row{QUORATE_INVALID_AUTH_MANAGEMENT, GrpcCode::kInvalidArgument,
        "etcdserver: invalid auth management"},
    Row{QUORATE_AUTH_OLD_REVISION, GrpcCode::kInvalidArgument,
        "etcdserver: revision of auth store is old"},
    Row{QUORATE_LEASE_TTL_TOO_LARGE, GrpcCode::kOutOfRange, "etcdserver: too large lease TTL"},
    Row{QUORATE_LEASE_NOT_FOUND, GrpcCode::kNotFound, "etcdserver: requested lease not found"},
    Row{QUORATE_LEASE_EXISTS, GrpcCode::kFailedPrecondition, "etcdserver: lease already exists"},
    Row{QUORATE_MEMBER_NOT_FOUND, GrpcCode::kNotFound, "etcdserver: member not found"},
    Row{QUORATE_MEMBER_EXISTS, GrpcCode::kFailedPrecondition,
        "etcdserver: member ID already exist"},
    Row{QUORATE_PEER_URL_EXISTS, GrpcCode::kFailedPrecondition,
        "etcdserver: Peer URLs already exists"},
    Row{QUORATE_MEMBER_NOT_LEARNER, GrpcCode::kFailedPrecondition,
        "etcdserver: can only promote a learner member"},
    Row{QUORATE_LEARNER_NOT_READY, GrpcCode::kFailedPrecondition,
        "etcdserver: can only promote a learner member which is in sync with leader"},
    Row{QUORATE_TOO_MANY_LEARNERS, GrpcCode::kFailedPrecondition,
        "etcdserver: too many learner members in cluster"},
    Row{QUORATE_CLUSTER_ID_MISMATCH, GrpcCode::kFailedPrecondition,
        "etcdserver: cluster ID mismatch"},
    Row{QUORATE_ROOT_USER_NOT_EXIST, GrpcCode::kFailedPrecondition,
        "etcdserver: root user does not exist"},
    Row{QUORATE_ROOT_ROLE_NOT_EXIST, GrpcCode::kFailedPrecondition,
        "etcdserver: root user does not have root role"},
    Row{QUORATE_USER_EXISTS, GrpcCode::kFailedPrecondition, "etcdserver: user name already exists"},
    Row{QUORATE_USER_NOT_FOUND, GrpcCode::kFailedPrecondition, "etcdserver: user name not found"},
    Row{QUORATE_ROLE_EXISTS, GrpcCode::kFailedPrecondition, "etcdserver: role name already exists"},
    Row{QUORATE_ROLE_NOT_FOUND, GrpcCode::kFailedPrecondition, "etcdserver: role name not found"},
    Row{QUORATE_ROLE_NOT_GRANTED, GrpcCode::kFailedPrecondition,
        "etcdserver: role is not granted to the user"},
    Row{QUORATE_PERMISSION_NOT_GRANTED, GrpcCode::kFailedPrecondition,
        "etcdserver: permission is not granted to the role"},
    Row{QUORATE_AUTH_NOT_ENABLED, GrpcCode::kFailedPrecondition,
        "etcdserver: authentication is not enabled"},
    Row{QUORATE_PERMISSION_DENIED, GrpcCode::kPermissionDenied, "etcdserver: permission denied"},
    Row{QUORATE_INVALID_AUTH_TOKEN, GrpcCode::kUnauthenticated, "etcdserver: invalid auth token"},
    Row{QUORATE_NO_PASSWORD_USER, GrpcCode::kUnknown,
        "auth: authentication failed, password was given for no password user"},
    Row{QUORATE_NOT_LEADER, GrpcCode::kFailedPrecondition, "etcdserver: not leader"},
    Row{QUORATE_BAD_LEADER_TRANSFEREE, GrpcCode::kFailedPrecondition,
        "etcdserver: bad leader transferee"},
    Row{QUORATE_TRANSFER_TIMEOUT, GrpcCode::kUnknown,
        "etcdserver: request timed out, leader transfer took too long"},
    Row{QUORATE_NOT_CAPABLE, GrpcCode::kFailedPrecondition, "etcdserver: not capable"},
    Row{QUORATE_NOT_SUPPORTED_FOR_LEARNER, GrpcCode::kFailedPrecondition,
        "etcdserver: rpc not supported for learner"},
    Row{QUORATE_DOWNGRADE_VERSION_FORMAT, GrpcCode::kInvalidArgument,
        "etcdserver: wrong downgrade target version format"},
    Row{QUORATE_DOWNGRADE_TARGET, GrpcCode::kInvalidArgument,
        "etcdserver: invalid downgrade target version"},
    Row{QUORATE_DOWNGRADE_IN_PROGRESS, GrpcCode::kFailedPrecondition,
        "etcdserver: cluster has a downgrade job in progress"},
    Row{QUORATE_NO_DOWNGRADE, GrpcCode::kFailedPrecondition,
        "etcdserver: no inflight downgrade job"},
    Row{QUORATE_NO_LEADER, GrpcCode::kUnavailable, "etcdserver: no leader"},
    Row{QUORATE_LEADER_CHANGED, GrpcCode::kUnavailable, "etcdserver: leader changed"},
    Row{QUORATE_STOPPED, GrpcCode::kUnavailable, "etcdserver: server stopped"},
    Row{QUORATE_TIMEOUT_LEADER_FAILURE, GrpcCode::kUnavailable,
        "etcdserver: request timed out, possibly due to previous leader failure"},
    Row{QUORATE_TIMEOUT_CONNECTION_LOST, GrpcCode::kUnavailable,
        "etcdserver: request timed out, possibly due to connection lost"},
    Row{QUORATE_TIMEOUT_WAIT_APPLY, GrpcCode::kUnavailable,
        "etcdserver: request timed out, waiting for the applied index took too long"},
    Row{QUORATE_UNHEALTHY_CLUSTER, GrpcCode::kUnavailable, "etcdserver: unhealthy cluster"},
    // Unknown, as etcd sends these two through a slip in its own table; clients match the text.
    Row{QUORATE_NOT_ENOUGH_STARTED, GrpcCode::kUnknown,
        "etcdserver: re-configuration failed due to not enough started members"},
    Row{QUORATE_TOO_MANY_REQUESTS, GrpcCode::kUnknown, "etcdserver: too many requests"},
    Row{QUORATE_CORRUPT_CLUSTER, GrpcCode::kDataLoss, "etcdserver: corrupt cluster"},
    Row{QUORATE_QUOTA_EXCEEDED, GrpcCode::kResourceExhausted,
        "etcdserver: mvcc: database space exceeded"},
    Row{QUORATE_NOT_PRIMARY_LESSOR, GrpcCode::kUnknown, "not a primary lessor"},
    Row{QUORATE_WATCH_EMPTY_RANGE, GrpcCode::kUnknown, "mvcc: watcher range is empty"},
    Row{QUORATE_WATCH_DUPLICATE_ID, GrpcCode::kUnknown,
        "mvcc: duplicate watch ID provided on the WatchStream"},
    Row{QUORATE_DAMAGED_REQUEST, GrpcCode::kInternal, "etcdserver: damaged request", true},
    Row{QUORATE_PROPOSAL_DROPPED, GrpcCode::kUnknown, "raft proposal dropped"},
};

const Row& row_of(quorate_status status) {
  const auto found = std::find_if(kRows.begin(), kRows.end(),
                                  [status](const Row& row) { return row.status == status; });
  return found == kRows.end() ? row_of(QUORATE_INTERNAL) : *found;
}

}  // namespace

RpcError rpc_error(quorate_status status, std::string_view message) {
  if (status == QUORATE_OK) return {};
  const Row& row = row_of(status);
  return {row.code, std::string(row.refined && !message.empty() ? message : row.text)};
}

std::string cancel_reason(quorate_status status) {
  const Row& row = row_of(status);
  switch (status) {
    case QUORATE_PERMISSION_DENIED:
    case QUORATE_INVALID_AUTH_TOKEN:
    case QUORATE_AUTH_OLD_REVISION:
    case QUORATE_USER_EMPTY:
      return "rpc error: code = " + std::string(code_name(row.code)) +
             " desc = " + std::string(row.text);
    default: return std::string(row.text);
  }
}

std::string_view code_name(GrpcCode code) {
  constexpr std::string_view kNames[] = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  return kNames[static_cast<uint32_t>(code)];
}

}  // namespace quorate::frontend_etcd
