// SPDX-License-Identifier: Apache-2.0
// Linearizability where every answer carries the store's revision. The revisions are the order of
// the writes, and a read at revision R stands between the writes R and R + 1: what is left to show
// is that real time agrees with that order, that each answer is right in its state, and that the
// writes with unknown outcome can be placed where they were seen. Near-linear time.
//
// A serializable get must be right in the state of its revision, which may be old but not in its
// future: below every write that was invoked after it returned. Where the process that answered is
// recorded (`member`), it is also not below what that process had answered before.
#pragma once

#include "support/linearizability/report.h"

namespace quorate::linearizability {

// Preconditions: every operation that is done has its revision.
Report check_revisions(const History& history);

}  // namespace quorate::linearizability
