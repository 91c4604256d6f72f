// SPDX-License-Identifier: Apache-2.0
// A log entry in a few words.
#pragma once

#include <string>

#include "base/bytes.h"
#include "raft/types.h"

namespace quorate::ctl {

// put "greeting", 5 bytes, lease 7. Never a value, a password or a token. What is no entry of this
// version's says so.
std::string summary_of(const raft::Entry& entry);

// In quotes, what is not printable as \xNN, cut when it is long. ASCII whatever the bytes are.
std::string quoted(Slice bytes);

}  // namespace quorate::ctl
