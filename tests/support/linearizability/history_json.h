// SPDX-License-Identifier: Apache-2.0
// Histories as JSON Lines; docs/testing.md describes the fields.
#pragma once

#include <istream>
#include <string>

#include "base/result.h"
#include "support/linearizability/history.h"

namespace quorate::linearizability {

// Reads to the end of `in`. kInvalidArgument, with the number of the line, when a line is not an
// operation or lacks what its kind needs.
Result<History> read_history(std::istream& in);

// One line without its end; read_history makes the same operation of it.
std::string to_line(const History& history, const Operation& operation);
// The line that tells where the history starts.
std::string start_line(const History& history);

}  // namespace quorate::linearizability
