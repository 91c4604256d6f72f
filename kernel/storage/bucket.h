// SPDX-License-Identifier: Apache-2.0
// The fixed list of buckets, etcd's. The number of a bucket is its place in the byte order of the
// names, so that walking the numbers is walking in name order. A directory keeps its list for life.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace quorate::storage {

enum class Bucket : uint32_t {
  kAlarm,
  kAuth,
  kAuthRoles,
  kAuthUsers,
  kCluster,
  kKey,  // revision -> record; the only one that is read while the server runs
  kLease,
  kMembers,
  kMembersRemoved,
  kMeta,  // "applied", written by the store alone
};

inline constexpr std::array<const char*, 10> kBucketNames = {
    "alarm", "auth",  "authRoles", "authUsers",       "cluster",
    "key",   "lease", "members",   "members_removed", "meta",
};
inline constexpr uint32_t kBucketCount = kBucketNames.size();

constexpr uint32_t number(Bucket bucket) {
  return static_cast<uint32_t>(bucket);
}
constexpr const char* name(Bucket bucket) {
  return kBucketNames[number(bucket)];
}

}  // namespace quorate::storage
