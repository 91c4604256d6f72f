// SPDX-License-Identifier: Apache-2.0
// Opens the generation of a snapshot that was received, and builds from it all that apply owns: the
// long part of an installation, which must not stop a loop.
#pragma once

#include "base/log.h"
#include "env/env.h"
#include "server/apply_loop.h"
#include "storage/generations.h"

namespace quorate::server {

class SnapshotLoadJob final : public Job {
 public:
  // All pointers outlive the job. What it comes to is posted to `apply`.
  SnapshotLoadJob(FileSystem* files, storage::OpenOptions store, raft::EntryId snapshot,
                  uint64_t epoch, ApplyLoop* apply, Logger logger);
  Next step() override;

 private:
  Status load(SnapshotLoaded& loaded) const;

  FileSystem* const files_;
  const storage::OpenOptions store_;
  const raft::EntryId snapshot_;
  const uint64_t epoch_;
  ApplyLoop* const apply_;
  const Logger logger_;
};

}  // namespace quorate::server
