// SPDX-License-Identifier: Apache-2.0
// The snapshot stream in a file, which makes an engine without durability of its own restartable:
// what the file holds is durable, and start loads it first. It is written aside, synced and
// renamed, so that the last complete one is always there.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "env/env.h"
#include "storage/engine.h"
#include "storage/snapshot_stream.h"

namespace quorate::storage {

// Writes one checkpoint, a few blocks a step. done(): called once, with the index that is durable
// now, on the thread of the last step; must only post.
class CheckpointJob final : public Job {
 public:
  using Done = std::function<void(Result<raft::Index>)>;
  CheckpointJob(FileSystem* files, std::string path, std::shared_ptr<const Engine> engine,
                Done done);
  ~CheckpointJob() override;
  Next step() override;

 private:
  Status begin();
  Result<bool> write_some();
  Status install();
  Next finish(Result<raft::Index> result);

  FileSystem* const files_;
  const std::string path_;
  const std::shared_ptr<const Engine> engine_;
  Done done_;
  std::unique_ptr<SnapshotWriter> writer_;
  std::unique_ptr<File> file_;
  uint64_t offset_ = 0;
  std::string block_;
};

// The same in one go, for shutdown.
Result<raft::Index> write_checkpoint(FileSystem& files, const std::string& path,
                                     std::shared_ptr<const Engine> engine);

// Fills `engine`, which holds nothing, from the file. kNotFound: there is none.
Result<Applied> load_checkpoint(FileSystem& files, const std::string& path, Engine* engine);

}  // namespace quorate::storage
