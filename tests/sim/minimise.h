// SPDX-License-Identifier: Apache-2.0
// Makes the schedule of a failing run smaller: drops faults in ever smaller groups for as long as
// the same checker still speaks (Zeller and Hildebrandt, "Simplifying and isolating
// failure-inducing input", 2002).
#pragma once

#include "sim/simulation.h"

namespace quorate::sim {

// The run with the fewest faults that was found within `runs_max` runs.
Options minimise(const Options& failing, const RunResult& failure, size_t runs_max = 200);

}  // namespace quorate::sim
