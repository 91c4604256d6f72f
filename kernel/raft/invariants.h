// SPDX-License-Identifier: Apache-2.0
// What must hold after each event, checked in tests and in simulation: within one node against its
// own past, and across the nodes of a group. Each check returns an empty string, or a sentence that
// says what is broken.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "raft/types.h"

namespace quorate::raft {

class Raft;

// One start of one node. Checks state and how it moved since the last check.
class NodeInvariants {
 public:
  std::string check(const Raft& raft);

 private:
  HardState hard_state_;
  Index applied_ = 0;
  Role role_ = Role::kFollower;
  Index last_index_ = 0;
};

// All nodes of a group, restarts included. Looks only at what came since the last check of a node.
class GroupInvariants {
 public:
  // Election safety, log matching, state-machine safety as far as this node shows them.
  std::string check(const Raft& raft);
  // A node starts anew: what it had seen as committed may be seen again.
  void restarted(NodeId id) { seen_commit_.erase(id); }
  // Everything that any node has committed, by index.
  const std::map<Index, Entry>& committed() const { return committed_; }

 private:
  std::map<Term, NodeId> leaders_;
  std::map<Index, Entry> committed_;
  Term commit_term_ = 0;  // the newest of them was committed in this term or an earlier one
  std::map<NodeId, Index> seen_commit_;
};

}  // namespace quorate::raft
