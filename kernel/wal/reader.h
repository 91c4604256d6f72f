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

// The segment that is being written, and the lowest index that was written to it: from there on
// sealed segments may hold what was cut since.
struct LogHead {
  uint64_t segment = 0;
  raft::Index first = ~raft::Index{0};  // none was
};

// Entries from `first` on, at least one, then while their payloads stay within `bytes_max`; fewer
// where the segments sealed before `head` end, or where what follows them wrote anew. Only entries
// that can no longer be cut off the log (committed ones) may be asked for; head: as of when they
// were. kCompacted when no sealed segment holds `first`: it was released, or is in the segment
// being written, and so in memory. kCorrupt when a sealed segment is damaged: the member must stop.
// May be called on any thread while the log goes on.
Result<std::vector<raft::Entry>> read_window(FileSystem& files, const std::string& dir,
                                             const LogHead& head, raft::Index first,
                                             uint64_t bytes_max);

}  // namespace quorate::wal
