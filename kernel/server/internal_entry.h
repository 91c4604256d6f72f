// SPDX-License-Identifier: Apache-2.0
// The entries that the kernel itself proposes, ready for the log: an entry header of kind internal
// and a schema::Internal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "lease/lessor.h"

namespace quorate::server {

Bytes encode_expire_leases(const std::vector<lease::Stamp>& stamps);
Bytes encode_cluster_version(Slice version);
Bytes encode_member_attributes(uint64_t id, Slice name,
                               const std::vector<std::string>& client_urls);
// type: cluster::AlarmType's number.
Bytes encode_raise_alarm(uint64_t member, int32_t type);

}  // namespace quorate::server
