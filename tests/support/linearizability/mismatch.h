// SPDX-License-Identifier: Apache-2.0
// Puts into words why an answer cannot be right.
#pragma once

#include "support/linearizability/key_replay.h"

namespace quorate::linearizability {

// event: cannot be explained in `met`, the state of its key there. It names what was lost, brought
// back or made up.
Violation mismatch(const History& history, const Event& event, const KeyState& met);

}  // namespace quorate::linearizability
