// SPDX-License-Identifier: Apache-2.0
// What quoratectl is asked to do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace quorate::ctl {

enum class Action { kHelp, kVersion, kWalDump, kWalVerify };

struct Command {
  Action action = Action::kHelp;
  std::string dir;    // of a member's data, or of its log
  bool json = false;  // one object a line
  // Of the entries to dump; both ends included.
  uint64_t first = 0;
  uint64_t last = UINT64_MAX;
  bool dumps_all() const { return first == 0 && last == UINT64_MAX; }
};

// kInvalidArgument: a sentence that says what to write instead.
Result<Command> parse_command(const std::vector<std::string>& args);

std::string help_text();
std::string version_text();

}  // namespace quorate::ctl
