// SPDX-License-Identifier: Apache-2.0
// Counts what the program takes from the heap. Linking allocations.cc replaces operator new.
#pragma once

#include <cstdint>

namespace quorate::bench {

// So far, on all threads together; the program is meant to have one.
uint64_t allocations();

}  // namespace quorate::bench
