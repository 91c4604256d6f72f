// SPDX-License-Identifier: Apache-2.0
// What all members together were seen to apply: the one history that every answer is judged by.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mvcc/store.h"
#include "raft/invariants.h"
#include "raft/types.h"
#include "sim/report.h"
#include "support/test_env.h"

namespace quorate::sim {

// One change of one key.
struct Event {
  int64_t revision = 0;
  int64_t sub = 0;
  bool tombstone = false;
  std::string key, value;
  int64_t create_revision = 0, version = 0, lease = 0;
};

// What a reader is shown of one key.
struct KeyValue {
  std::string key, value;
  int64_t create_revision = 0, mod_revision = 0, version = 0, lease = 0;
  friend bool operator==(const KeyValue&, const KeyValue&) = default;
};

// An end of kOpenEnd in the API: every key from the first on. Empty: the key alone.
bool in_range(const std::string& key, const std::string& first, const std::string& end);

class Oracle {
 public:
  Oracle(test::TestEnv& env, Verdicts& verdicts) : env_(env), verdicts_(verdicts) {}

  // A process of member `m` starts; what it applied since its engine's last batch comes again.
  void started(size_t m);
  // After each of its turns.
  void look_at(size_t m, const raft::Raft& raft);
  void applied(size_t m, const raft::Entry& entry, const Status& status, const mvcc::Store& store);
  void installed(size_t m, const mvcc::Store& store);

  // All changes, in order.
  const std::vector<Event>& events() const { return events_; }
  int64_t revision() const { return revision_; }
  uint64_t entries() const { return entries_.size(); }
  // The keys that have a lease now, and which.
  const std::map<std::string, int64_t>& leased() const { return leased_; }
  // When the first member applied the expiry of a lease; 0: nobody did.
  uint64_t expired_ns(int64_t lease) const {
    const auto found = expired_ns_.find(lease);
    return found == expired_ns_.end() ? 0 : found->second;
  }

 private:
  struct Applied {
    raft::Term term = 0;
    uint32_t payload = 0;
    Code code = Code::kOk;
    uint64_t state_hash = 0;
    int64_t revision = 0;
  };
  struct Member {
    raft::NodeInvariants node;
    raft::Index applied = 0;  // 0: nothing since its start
  };
  void note_events(const mvcc::Store& store, bool ends_leases);
  bool note_leases(const raft::Entry& entry, const Status& status);

  test::TestEnv& env_;
  Verdicts& verdicts_;
  raft::GroupInvariants group_;
  std::map<size_t, Member> members_;
  std::map<size_t, raft::NodeId> node_ids_;
  std::map<raft::Index, Applied> entries_;
  std::vector<Event> events_;
  int64_t revision_ = 1;
  std::map<std::string, int64_t> leased_;
  std::map<int64_t, uint64_t> expired_ns_;
};

}  // namespace quorate::sim
