// SPDX-License-Identifier: Apache-2.0
#include "sim/elections.h"

#include <fmt/format.h>

namespace quorate::sim {

std::string NoElection::check(const raft::Raft& raft) const {
  if (raft.term() > term_)
    return fmt::format("is at term {}, though nothing was a reason to leave term {}", raft.term(),
                       term_);
  if (raft.leader() != 0 && raft.leader() != leader_)
    return fmt::format("follows {:x} in term {}, though {:x} leads", raft.leader(), term_, leader_);
  if (raft.id() == leader_ && raft.role() != raft::Role::kLeader)
    return fmt::format("leads term {} no more, though a quorum heard it all the time", term_);
  return {};
}

void Failovers::look_at(const raft::Raft& raft, uint64_t now_ns) {
  if (dead_ == 0 || raft.id() == dead_ || !leads(raft)) return;
  took_ns_.push_back(now_ns - since_ns_);
  dead_ = 0;
}

}  // namespace quorate::sim
