// SPDX-License-Identifier: Apache-2.0
// What can be called: every method of etcd's services that this front-end knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quorate::frontend_etcd {

enum class Method : uint8_t {
  kRange,
  kPut,
  kDeleteRange,
  kTxn,
  kCompact,
  kWatch,
  kLeaseGrant,
  kLeaseRevoke,
  kLeaseKeepAlive,
  kLeaseTimeToLive,
  kLeaseLeases,
  kMemberAdd,
  kMemberRemove,
  kMemberUpdate,
  kMemberList,
  kMemberPromote,
  kAlarm,
  kStatus,
  kDefragment,
  kHash,
  kHashKv,
  kSnapshot,
  kMoveLeader,
  kDowngrade,
  kAuthEnable,
  kAuthDisable,
  kAuthStatus,
  kAuthenticate,
  kUserAdd,
  kUserGet,
  kUserList,
  kUserDelete,
  kUserChangePassword,
  kUserGrantRole,
  kUserRevokeRole,
  kRoleAdd,
  kRoleGet,
  kRoleList,
  kRoleDelete,
  kRoleGrantPermission,
  kRoleRevokePermission,
  kHealthCheck,
  kHealthWatch,
};

// The method of a gRPC path ("/etcdserverpb.KV/Put"); nothing when there is none.
std::optional<Method> find_method(std::string_view path);

// What a client that called `path` is told when find_method() found nothing.
std::string unknown_method_text(std::string_view path);

}  // namespace quorate::frontend_etcd
