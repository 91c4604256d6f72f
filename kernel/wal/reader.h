// SPDX-License-Identifier: Apache-2.0
// Reads entries back for a follower that lags further than memory reaches. Works on files that the
// WAL loop no longer writes, beside it, in a pool job.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "env/env.h"
#include "raft/types.h"

namespace quorate::wal {

// Entries from `first` on, at least one, then while their payloads stay within `bytes_max`; fewer
// where the sealed segments end. Only entries that can no longer be cut off the log (committed
// ones) may be asked for. kCompacted when no sealed segment holds `first`: it was released, or is
// in the segment being written, and so in memory. kCorrupt when a sealed segment is damaged: the
// member must stop. May be called on any thread while the log goes on.
Result<std::vector<raft::Entry>> read_window(FileSystem& files, const std::string& dir,
                                             raft::Index first, uint64_t bytes_max);

}  // namespace quorate::wal
