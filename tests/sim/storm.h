// SPDX-License-Identifier: Apache-2.0
// Faults under which leaders come and go: many elections that meet each other, voters that die and
// are back at once, leaders that sleep through their deposition, transfers to who is about to die.
// Members are counted from whoever leads when the fault comes. A part of such a schedule is one
// too.
#pragma once

#include "sim/schedule.h"

namespace quorate::sim {

struct StormConfig {
  size_t members = 3;
  uint64_t length_ns = 0;
  uint64_t election_ns = 0;
};
std::vector<Fault> draw_storm_schedule(const StormConfig& config, Random& random);

}  // namespace quorate::sim
