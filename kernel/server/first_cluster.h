// SPDX-License-Identifier: Apache-2.0
// Which cluster a member belongs to that has no data yet: one that it founds together with the
// others of --initial-cluster, or one that it was added to and joins. Pure, but for the question to
// the others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/member.h"
#include "server/config.h"

namespace quorate::server {

// What a member says of its cluster to one that has no data.
struct RemoteCluster {
  uint64_t cluster_id = 0;
  std::vector<cluster::Member> members;
};

// Asks whoever answers first at one of the peer URLs; waits at most timeout_ms for each.
using FetchCluster = std::function<Result<RemoteCluster>(const std::vector<std::string>& peer_urls,
                                                         uint64_t timeout_ms)>;

inline constexpr uint64_t kFetchToFoundMs = 1'000;
inline constexpr uint64_t kFetchToJoinMs = 10'000;

struct FirstCluster {
  uint64_t cluster_id = 0;
  uint64_t member_id = 0;
  std::vector<cluster::Member> members;  // by id, this one among them
};

// As --initial-cluster says; every member of it computes the same. Refused when this member is not
// in it exactly as it advertises itself, or when the others know it as started: then its data is
// lost, and to begin anew would forget votes and entries it has promised. fetch may be null: nobody
// is asked.
Result<FirstCluster> found_cluster(const Config& config, const FetchCluster& fetch);

// As the others say. --initial-cluster must have exactly their peer URLs; it tells which member
// this is.
Result<FirstCluster> join_cluster(const Config& config, const FetchCluster& fetch);

}  // namespace quorate::server
