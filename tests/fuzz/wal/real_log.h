// SPDX-License-Identifier: Apache-2.0
// A log to begin with: the same one each time.
#pragma once

#include <string>
#include <vector>

#include "base/check.h"
#include "support/test_env.h"
#include "wal/wal.h"

namespace quorate::wal::test {

using quorate::test::TestEnv;

// Two segments of some batches each, the second with a mark: their contents.
inline std::vector<std::string> write_two_segments(TestEnv& env, uint64_t segment_bytes) {
  Options options;
  options.dir = "/wal";
  options.segment_bytes = segment_bytes;
  auto wal =
      Wal::create(env, options, {1, 2}, raft::SnapshotMeta{4, 1, {{1}, {}, {}, {}, false}}, {});
  QUORATE_CHECK(wal.has_value(), "no log can be made");
  for (raft::Index index = 5; index < 20; ++index) {
    raft::Append append;
    append.sequence = index;
    append.must_sync = true;
    append.hard_state = raft::HardState{index / 3 + 1, 1, 4};
    append.entries.push_back({index / 3 + 1, index, raft::EntryType::kNormal,
                              Bytes::take(std::string(index * 300, 'v'))});
    (*wal)->append(append);
    QUORATE_CHECK((*wal)->sync().ok(), "no append");
  }
  QUORATE_CHECK((*wal)->close().ok(), "no close");
  QUORATE_CHECK((*wal)->head().segment == 2, "the log is longer or shorter");
  return {env.disk().content("/wal/" + segment_name(1)),
          env.disk().content("/wal/" + segment_name(2))};
}

}  // namespace quorate::wal::test
