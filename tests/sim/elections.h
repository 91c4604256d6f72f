// SPDX-License-Identifier: Apache-2.0
// Availability with a bound: who leads, and for how long nobody does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "raft/raft.h"

namespace quorate::sim {

// Of a run whose faults are no reason for an election: term and leader stay as they were.
class NoElection {
 public:
  bool began() const { return term_ != 0; }
  void begin(const raft::Raft& leader) {
    leader_ = leader.id();
    term_ = leader.term();
  }
  // After each turn of a member; what is wrong, or empty.
  std::string check(const raft::Raft& raft) const;

 private:
  raft::NodeId leader_ = 0;
  raft::Term term_ = 0;
};

// From the death of a leader until another has committed an entry of its own term, which is when
// writes go on.
class Failovers {
 public:
  void leader_died(raft::NodeId leader, uint64_t now_ns) {
    dead_ = leader;
    since_ns_ = now_ns;
  }
  bool waits() const { return dead_ != 0; }
  // After each turn of a member.
  void look_at(const raft::Raft& raft, uint64_t now_ns);
  const std::vector<uint64_t>& took_ns() const { return took_ns_; }

 private:
  raft::NodeId dead_ = 0;  // 0: none that has no successor yet
  uint64_t since_ns_ = 0;
  std::vector<uint64_t> took_ns_;
};

// Whether it leads and has committed an entry of its term.
inline bool leads(const raft::Raft& raft) {
  return raft.role() == raft::Role::kLeader && raft.log().term(raft.log().commit()) == raft.term();
}

}  // namespace quorate::sim
