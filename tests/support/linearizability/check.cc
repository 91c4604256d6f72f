// SPDX-License-Identifier: Apache-2.0
#include "support/linearizability/check.h"

#include <algorithm>

namespace quorate::linearizability {

bool has_all_revisions(const History& history) {
  return std::all_of(history.operations.begin(), history.operations.end(),
                     [](const Operation& operation) {
                       return !operation.done() || operation.revision != kNoRevision;
                     });
}

Report check(const History& history, const SearchBudget& budget) {
  return has_all_revisions(history) ? check_revisions(history) : check_by_search(history, budget);
}

}  // namespace quorate::linearizability
