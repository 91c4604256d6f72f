// SPDX-License-Identifier: Apache-2.0
// Reads a window of the log back from the sealed segments for a follower that lags further than
// memory reaches, and hands it to the raft loop as a MsgLogLoaded.
#pragma once

#include <functional>
#include <string>

#include "env/env.h"
#include "raft/raw_node.h"
#include "server/raft_loop.h"
#include "wal/reader.h"

namespace quorate::server {

class LogLoadJob final : public Job {
 public:
  // files, loop: outlive the job. damaged: the log is, and the member must stop.
  // head: as of when the window was asked for.
  LogLoadJob(FileSystem* files, std::string wal_dir, const wal::LogHead& head,
             const raft::LogWindow& window, raft::NodeId self, RaftLoop* loop,
             std::function<void(const Status&)> damaged)
      : files_(files),
        wal_dir_(std::move(wal_dir)),
        head_(head),
        window_(window),
        self_(self),
        loop_(loop),
        damaged_(std::move(damaged)) {}
  Next step() override;

 private:
  FileSystem* const files_;
  const std::string wal_dir_;
  const wal::LogHead head_;
  const raft::LogWindow window_;
  const raft::NodeId self_;
  RaftLoop* const loop_;
  const std::function<void(const Status&)> damaged_;
};

}  // namespace quorate::server
