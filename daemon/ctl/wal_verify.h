// SPDX-License-Identifier: Apache-2.0
// Whether a log is whole.
#pragma once

#include <string>

#include "base/status.h"
#include "env/env.h"
#include "wal/scan.h"

namespace quorate::ctl {

enum class Verdict {
  kWhole,
  kTorn,        // whole up to what a crash tore, which nobody was told of
  kDamaged,     // what was acknowledged is lost
  kUnreadable,  // nothing can be said: the disk, or a member that writes meanwhile
};

struct Report {
  Verdict verdict = Verdict::kWhole;
  std::string sentence;  // for the operator: what it is, what is lost, what to do
  wal::LogState state;
  uint64_t segments = 0;
  uint64_t batches = 0;
};

Report verify_log(FileSystem& files, const std::string& dir);

// The report of a scan that ended with `result`.
Report report_on(FileSystem& files, const std::string& dir, const Status& result,
                 const wal::LogState& state);

// The report for people, or as one JSON object; ends its line.
std::string to_text(const Report& report, bool json);

// 0, 1 or 2, as the help says.
int exit_code(Verdict verdict);

}  // namespace quorate::ctl
