// SPDX-License-Identifier: Apache-2.0
// Text forms for scripts, logs and failed checks; etcd raft's, so that one can be read beside the
// other. message.h has that of a message.
#pragma once

#include <string>

#include "raft/conf_change.h"
#include "raft/types.h"

namespace quorate::raft {

std::string to_text(const Entry& entry);            // 1/12 EntryNormal "x"
std::string to_text(const ConfChange& change);      // v3 l4 r1
std::string to_text(const ConfState& state);        // voters=(1 2)&&(1 3) learners=(4) autoleave
std::string to_text(const SnapshotMeta& snapshot);  // Index:11 Term:1 ConfState:voters=(1)
std::string to_text(const HardState& state);        // Term:1 Vote:1 Commit:3
const char* to_text(Role role);                     // StateLeader

}  // namespace quorate::raft
