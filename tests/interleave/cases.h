// SPDX-License-Identifier: Apache-2.0
// The cases, by shared class. Each scene is the class itself, compiled with fibers for threads, a
// few of its operations, and what a model that does one thing after another says of them.
#pragma once

#include <vector>

#include "schedule.h"

namespace quorate::interleave {

std::vector<Case> index_cases();    // the key index and its pins
std::vector<Case> view_cases();     // the read view, with the pool of engine views behind it
std::vector<Case> buffer_cases();   // the write buffer
std::vector<Case> pending_cases();  // the pending calls
std::vector<Case> token_cases();    // the token table
std::vector<Case> rig_cases();      // classes with a bug each: the rig itself

}  // namespace quorate::interleave
