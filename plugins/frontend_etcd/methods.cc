// SPDX-License-Identifier: Apache-2.0
#include "frontend_etcd/methods.h"

#include <algorithm>
#include <array>
#include <utility>

namespace quorate::frontend_etcd {
namespace {

using Entry = std::pair<std::string_view, Method>;

// Sorted by length first, so that a look-up compares few strings.
constexpr bool before(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

constexpr auto kMethods = [] {
  std::array methods{
      Entry{"/etcdserverpb.KV/Range", Method::kRange},
      Entry{"/etcdserverpb.KV/Put", Method::kPut},
      Entry{"/etcdserverpb.KV/DeleteRange", Method::kDeleteRange},
      Entry{"/etcdserverpb.KV/Txn", Method::kTxn},
      Entry{"/etcdserverpb.KV/Compact", Method::kCompact},
      Entry{"/etcdserverpb.Watch/Watch", Method::kWatch},
      Entry{"/etcdserverpb.Lease/LeaseGrant", Method::kLeaseGrant},
      Entry{"/etcdserverpb.Lease/LeaseRevoke", Method::kLeaseRevoke},
      Entry{"/etcdserverpb.Lease/LeaseKeepAlive", Method::kLeaseKeepAlive},
      Entry{"/etcdserverpb.Lease/LeaseTimeToLive", Method::kLeaseTimeToLive},
      Entry{"/etcdserverpb.Lease/LeaseLeases", Method::kLeaseLeases},
      Entry{"/etcdserverpb.Cluster/MemberAdd", Method::kMemberAdd},
      Entry{"/etcdserverpb.Cluster/MemberRemove", Method::kMemberRemove},
      Entry{"/etcdserverpb.Cluster/MemberUpdate", Method::kMemberUpdate},
      Entry{"/etcdserverpb.Cluster/MemberList", Method::kMemberList},
      Entry{"/etcdserverpb.Cluster/MemberPromote", Method::kMemberPromote},
      Entry{"/etcdserverpb.Maintenance/Alarm", Method::kAlarm},
      Entry{"/etcdserverpb.Maintenance/Status", Method::kStatus},
      Entry{"/etcdserverpb.Maintenance/Defragment", Method::kDefragment},
      Entry{"/etcdserverpb.Maintenance/Hash", Method::kHash},
      Entry{"/etcdserverpb.Maintenance/HashKV", Method::kHashKv},
      Entry{"/etcdserverpb.Maintenance/Snapshot", Method::kSnapshot},
      Entry{"/etcdserverpb.Maintenance/MoveLeader", Method::kMoveLeader},
      Entry{"/etcdserverpb.Maintenance/Downgrade", Method::kDowngrade},
      Entry{"/etcdserverpb.Auth/AuthEnable", Method::kAuthEnable},
      Entry{"/etcdserverpb.Auth/AuthDisable", Method::kAuthDisable},
      Entry{"/etcdserverpb.Auth/AuthStatus", Method::kAuthStatus},
      Entry{"/etcdserverpb.Auth/Authenticate", Method::kAuthenticate},
      Entry{"/etcdserverpb.Auth/UserAdd", Method::kUserAdd},
      Entry{"/etcdserverpb.Auth/UserGet", Method::kUserGet},
      Entry{"/etcdserverpb.Auth/UserList", Method::kUserList},
      Entry{"/etcdserverpb.Auth/UserDelete", Method::kUserDelete},
      Entry{"/etcdserverpb.Auth/UserChangePassword", Method::kUserChangePassword},
      Entry{"/etcdserverpb.Auth/UserGrantRole", Method::kUserGrantRole},
      Entry{"/etcdserverpb.Auth/UserRevokeRole", Method::kUserRevokeRole},
      Entry{"/etcdserverpb.Auth/RoleAdd", Method::kRoleAdd},
      Entry{"/etcdserverpb.Auth/RoleGet", Method::kRoleGet},
      Entry{"/etcdserverpb.Auth/RoleList", Method::kRoleList},
      Entry{"/etcdserverpb.Auth/RoleDelete", Method::kRoleDelete},
      Entry{"/etcdserverpb.Auth/RoleGrantPermission", Method::kRoleGrantPermission},
      Entry{"/etcdserverpb.Auth/RoleRevokePermission", Method::kRoleRevokePermission},
      Entry{"/grpc.health.v1.Health/Check", Method::kHealthCheck},
      Entry{"/grpc.health.v1.Health/Watch", Method::kHealthWatch},
  };
  std::sort(methods.begin(), methods.end(),
            [](const Entry& a, const Entry& b) { return before(a.first, b.first); });
  return methods;
}();

}  // namespace

std::optional<Method> find_method(std::string_view path) {
  const auto found = std::lower_bound(
      kMethods.begin(), kMethods.end(), path,
      [](const Entry& entry, std::string_view p) { return before(entry.first, p); });
  if (found == kMethods.end() || found->first != path) return std::nullopt;
  return found->second;
}

std::string unknown_method_text(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (path.empty() || path[0] != '/' || slash == 0)
    return "malformed method name: \"" + std::string(path) + "\"";
  const std::string service(path.substr(1, slash - 1));
  const std::string_view prefix = path.substr(0, slash + 1);
  const bool known = std::any_of(kMethods.begin(), kMethods.end(), [prefix](const Entry& entry) {
    return entry.first.starts_with(prefix);
  });
  if (!known) return "unknown service " + service;
  return "unknown method " + std::string(path.substr(slash + 1)) + " for service " + service;
}

}  // namespace quorate::frontend_etcd
