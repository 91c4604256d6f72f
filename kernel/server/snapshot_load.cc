// SPDX-License-Identifier: Apache-2.0
#include "server/snapshot_load.h"

#include <utility>

namespace quorate::server {

SnapshotLoadJob::SnapshotLoadJob(FileSystem* files, storage::OpenOptions store,
                                 raft::EntryId snapshot, uint64_t epoch, ApplyLoop* apply,
                                 Logger logger)
    : files_(files),
      store_(std::move(store)),
      snapshot_(snapshot),
      epoch_(epoch),
      apply_(apply),
      logger_(logger) {}

Job::Next SnapshotLoadJob::step() {
  SnapshotLoaded loaded;
  loaded.status = load(loaded);
  apply_->post(std::move(loaded));
  return Next::kDone;
}

Status SnapshotLoadJob::load(SnapshotLoaded& loaded) const {
  Result<storage::OpenedEngine> opened = storage::open_complete(*files_, store_, snapshot_, epoch_);
  if (!opened) return std::move(opened).error();
  Result<std::unique_ptr<LoadedState>> state = load_state(*opened, logger_);
  if (!state) return std::move(state).error();
  loaded.state = *std::move(state);
  loaded.engine = std::move(opened->engine);
  return Status();
}

}  // namespace quorate::server
