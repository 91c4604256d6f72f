// SPDX-License-Identifier: Apache-2.0
// An incoming snapshot on its way into the next generation of the engine, which may be another
// engine than the sender's. When all of it is durable the file COMPLETE says so: the CURRENT to
// come, with the snapshot's index and term. Until then it counts for nothing, and is deleted with
// this object.
//
// One thread at a time; everything may block on disk. [worker-thread]
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "env/env.h"
#include "storage/checkpoint.h"
#include "storage/generations.h"
#include "storage/snapshot_stream.h"

namespace quorate::storage {

class GenerationImport {
 public:
  // Makes the directory of the next generation and opens the engine in it. A complete generation of
  // an earlier import is deleted. REQUIRES: the log does not name that one, and nobody installs it.
  static Result<std::unique_ptr<GenerationImport>> begin(FileSystem& files,
                                                         const OpenOptions& options);
  ~GenerationImport();
  GenerationImport(const GenerationImport&) = delete;
  GenerationImport& operator=(const GenerationImport&) = delete;

  uint64_t generation() const { return current_.generation; }

  // The next piece of the stream, of any size; its whole blocks become one batch.
  Status feed(Slice piece);
  // Behind the last piece, until it answers true: then COMPLETE is durable. kCorrupt when the
  // stream was cut short, or stands at no index.
  Result<bool> finish_some();
  // What the stream held. REQUIRES: feed() has had the first block.
  const Applied& applied() const { return importer_.applied(); }

 private:
  GenerationImport(FileSystem& files, const OpenOptions& options, Current current,
                   std::unique_ptr<plugin::Backend> backend);
  Result<bool> checkpoint_some();
  Status complete();

  FileSystem& files_;
  const OpenOptions options_;
  Current current_;
  std::shared_ptr<Engine> engine_;
  SnapshotImporter importer_;
  std::unique_ptr<CheckpointJob> checkpoint_;  // of an engine that is not durable
  Status checkpoint_status_;
  bool complete_ = false;
};

}  // namespace quorate::storage
