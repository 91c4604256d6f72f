// SPDX-License-Identifier: Apache-2.0
// What this member says it is to clients that ask for etcd's versions: plain numbers with dots,
// since some clients parse them so.
#pragma once

namespace quorate::server {

inline constexpr char kServerVersion[] = "3.6.14";
inline constexpr char kStorageVersion[] = "3.6.0";

}  // namespace quorate::server
