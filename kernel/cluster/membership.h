// SPDX-License-Identifier: Apache-2.0
// Who belongs to the cluster. Changes come from committed entries alone; whether one is legal is a
// pure function of what stands here, asked before anything changes. Ids are never used again.
// Owned by the apply loop; the caller stores the records.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "cluster/member.h"

namespace quorate::cluster {

inline constexpr size_t kLearnersMax = 1;

class Membership {
 public:
  // Records of the buckets `members` and `members_removed`, at start. kCorrupt.
  Status load(Slice key, Slice json);
  Status load_removed(Slice key);

  // nullptr: unknown. Valid until the next change.
  const Member* find(uint64_t id) const;
  std::vector<Member> members() const;  // sorted by id
  size_t size() const { return members_.size(); }
  size_t voters() const;
  size_t learners() const;
  bool was_removed(uint64_t id) const { return removed_.count(id) != 0; }
  std::vector<uint64_t> removed() const { return {removed_.begin(), removed_.end()}; }  // sorted

  // Whether the change would be legal now. An id that was removed: kMemberNotFound for all four, as
  // in etcd.
  Status check_add(const Member& member) const;  // kMemberExists, kPeerUrlExists, kTooManyLearners
  Status check_remove(uint64_t id) const;        // kMemberNotFound
  Status check_update(uint64_t id,
                      const std::vector<std::string>& peer_urls) const;  // kPeerUrlExists
  Status check_promote(uint64_t id) const;                               // kMemberNotLearner

  // Each REQUIRES that its check is OK.
  void add(Member member);
  void remove(uint64_t id);
  void update(uint64_t id, std::vector<std::string> peer_urls);
  void promote(uint64_t id);
  // What a member says of itself once it runs. False: unknown member, nothing changes.
  bool set_attributes(uint64_t id, std::string name, std::vector<std::string> client_urls);

 private:
  Status check_known(uint64_t id) const;
  Status check_urls(uint64_t id, const std::vector<std::string>& peer_urls) const;

  std::map<uint64_t, Member> members_;
  std::set<uint64_t> removed_;
};

}  // namespace quorate::cluster
