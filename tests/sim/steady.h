// SPDX-License-Identifier: Apache-2.0
// Faults that a correct cluster sits out: whatever comes, its leader and its term stay.
//
// Why no election can come of them. Members are counted from the leader, which is 0. At any time at
// most a minority is disturbed: followers, never the leader, that are cut off in any way, paused,
// killed, or whose connections break. So the leader and a quorum hear each other, later than usual
// by less than the election timeout (the bounds stand in steady.cc):
// - each of the quorum refuses any vote and pre-vote, for it heard the leader within the timeout;
// - who is disturbed gets no pre-vote but from the disturbed, so nobody raises the term;
// - the leader hears a quorum within each of its timeouts, and its disk is never stuck so long that
//   it would give its place away.
// Others are disturbed only when all of the last ones have heard the leader again. A part of such a
// schedule is one too.
#pragma once

#include "sim/schedule.h"

namespace quorate::sim {

struct SteadyConfig {
  size_t members = 3;
  uint64_t length_ns = 0;
  uint64_t heartbeat_ns = 0;
  uint64_t election_ns = 0;
};
std::vector<Fault> draw_steady_schedule(const SteadyConfig& config, Random& random);

}  // namespace quorate::sim
