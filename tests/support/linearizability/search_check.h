// SPDX-License-Identifier: Apache-2.0
// Linearizability of histories without revisions: the search of Wing and Gong with Lowe's
// improvements ("Testing for linearizability", 2017): key by key, in the order of returns, keeping
// every distinct (state of the key, operations placed early) that explains the answers so far.
//
// It compares values, existence and outcomes, and modification revisions where they are known; the
// header's revisions are not used. A serializable get must show a value that was written before it
// returned, or nothing.
#pragma once

#include "support/linearizability/report.h"

namespace quorate::linearizability {

struct SearchBudget {
  size_t candidates_max = 50'000;  // kept at once, for one key
  size_t steps_max = 20'000'000;   // for one key
};

// kUnknown where the budget ends first.
Report check_by_search(const History& history, const SearchBudget& budget = {});

}  // namespace quorate::linearizability
