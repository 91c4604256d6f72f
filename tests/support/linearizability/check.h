// SPDX-License-Identifier: Apache-2.0
// The door to both checkers.
#pragma once

#include "support/linearizability/revision_check.h"
#include "support/linearizability/search_check.h"

namespace quorate::linearizability {

// Whether every operation that is done has its revision.
bool has_all_revisions(const History& history);

// By revisions where the history has them all, else by search.
Report check(const History& history, const SearchBudget& budget = {});

}  // namespace quorate::linearizability
