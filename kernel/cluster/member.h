// SPDX-License-Identifier: Apache-2.0
// One member of the cluster, its ids, and its record as etcd stores it: JSON in bucket `members`
// under the id in lower-case hex.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace quorate::cluster {

struct Member {
  uint64_t id = 0;
  std::string name;                      // empty: added, not started yet
  std::vector<std::string> peer_urls;    // sorted
  std::vector<std::string> client_urls;  // sorted
  bool learner = false;
  bool started() const { return !name.empty(); }
  friend bool operator==(const Member&, const Member&) = default;
};

// The first eight bytes of SHA-1 over the sorted peer URLs, the cluster's token, and, for a member
// added at run time, the decimal Unix time. Never 0.
uint64_t make_member_id(std::vector<std::string> peer_urls, Slice cluster_token,
                        std::optional<int64_t> unix_seconds);
// The same over the ids of the initial members, sorted, each as eight bytes.
uint64_t make_cluster_id(std::vector<uint64_t> member_ids);

// An id as text: lower-case hex without leading zeros.
std::string id_text(uint64_t id);
// Nothing when `text` is no such id.
std::optional<uint64_t> parse_id(Slice text);

// {"id":1,"peerURLs":["http://a:2380"],"isLearner":true,"name":"a","clientURLs":[...]}, the last
// three only where they say something.
std::string encode_member(const Member& member);
// kCorrupt: no such record. Fields that it does not know are ignored.
Result<Member> decode_member(Slice json);

// The members of --initial-cluster as they bootstrap: ids made, sorted by id. kInvalidArgument: a
// name or a URL is missing or twice.
struct NamedPeer {
  std::string name;
  std::vector<std::string> peer_urls;
};
Result<std::vector<Member>> bootstrap_members(std::span<const NamedPeer> peers,
                                              Slice cluster_token);

}  // namespace quorate::cluster
