// SPDX-License-Identifier: Apache-2.0
// What must hold after each event, checked in tests and in simulation: within one node against its
// own past, and across the nodes of a group. Each check returns an empty string, or a sentence that
// says what is broken. Each looks only at what came since the last check of the node, so a check
// costs about as much as the event did.
//
//   std::string broken = node_invariants.check(raw_node.inner());
//   if (broken.empty()) broken = group_invariants.check(raw_node.inner());
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "raft/types.h"

namespace quorate::raft {

class Raft;
class Progress;

// One start of one node. Terms, commit and applied index never fall, one vote a term, a leader only
// appends and commits by an entry of its own term; the log's indexes are in order and its byte
// counts return to 0 and stay within the node's limits; match < next and what is in flight adds up;
// a configuration changes only with the index it stands for, and covers all that is applied.
class NodeInvariants {
 public:
  std::string check(const Raft& raft);

 private:
  std::string check_past(const Raft& raft);
  std::string check_conf(const Raft& raft);
  std::string check_leader(const Raft& raft) const;

  HardState hard_state_;
  Index applied_ = 0;
  Role role_ = Role::kFollower;
  Index last_index_ = 0;
  uint64_t uncommitted_bytes_ = 0;
  bool conf_known_ = false;
  Index conf_index_ = 0;
  ConfState conf_;
  std::vector<NodeId> members_;  // of conf_
};

// All nodes of a group, restarts included: one leader a term, who has all that is committed; equal
// entries where index and term are equal (paper 5.3); one committed entry an index, for ever; the
// configuration is what the committed changes up to its index make of the first one.
class GroupInvariants {
 public:
  std::string check(const Raft& raft);
  // A node starts anew: what it had seen as committed may be seen again.
  void restarted(NodeId id) { seen_.erase(id); }
  // Everything that any node has committed, by index.
  const std::map<Index, Entry>& committed() const { return committed_; }

 private:
  // Of one node, at the last check.
  struct Seen {
    Term led = 0;
    Index commit = 0;
    EntryId last;
    bool conf_known = false;
    Index conf_index = 0;
  };
  // The first entry seen with an index and a term, and the term before it.
  struct Made {
    Term before;
    Entry entry;
  };
  static constexpr size_t kMadeMax = 1 << 16;

  std::string check_leader(const Raft& raft, Seen& seen);
  std::string check_entries(const Raft& raft, Seen& seen);
  std::string check_commits(const Raft& raft, Seen& seen);
  std::string check_conf(const Raft& raft, Seen& seen);
  bool knows_committed(Index after, Index last) const;
  std::vector<ConfState> possible_confs(const ConfState& first, Index after, Index last) const;

  std::map<NodeId, Seen> seen_;
  std::map<Term, NodeId> leaders_;
  std::map<std::pair<Index, Term>, Made> made_;  // the newest kMadeMax
  std::map<Index, Entry> committed_;
  Term commit_term_ = 0;          // the newest of them was committed in this term or an earlier one
  std::set<Index> conf_changes_;  // among them
  std::map<Index, ConfState> confs_;  // by the change that made it
};

}  // namespace quorate::raft
