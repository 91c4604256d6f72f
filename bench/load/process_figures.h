// SPDX-License-Identifier: Apache-2.0
// What a process has used so far, as /proc tells it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace quorate::bench {

struct ProcessFigures {
  double cpu_seconds = 0;       // user and system, all threads
  uint64_t written_bytes = 0;   // caused to be sent to the disk
  uint64_t resident_bytes = 0;  // now
};

// Nothing when there is no such process or it may not be looked at.
std::optional<ProcessFigures> process_figures(pid_t pid);

}  // namespace quorate::bench
