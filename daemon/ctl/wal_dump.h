// SPDX-License-Identifier: Apache-2.0
// Prints a log.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "daemon/ctl/command_line.h"
#include "env/env.h"

namespace quorate::ctl {

using Print = std::function<void(std::string_view)>;

// Segments, batches and records as they stand in the log, those that were overwritten later
// included, then the report. The exit code.
int dump_log(FileSystem& files, const std::string& dir, const Command& command, const Print& print);

}  // namespace quorate::ctl
