// SPDX-License-Identifier: Apache-2.0
// The engine's directories: `<data>/backend/00000001/`, 00000002, ... and the file CURRENT, which
// names the live one. Nothing renames or replaces an open directory: whoever needs another store
// builds the next generation (generation_import.h), writes beside it the file COMPLETE, which is
// the CURRENT to come, and renames that over CURRENT.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "env/env.h"
#include "raft/types.h"
#include "storage/applied.h"
#include "storage/engine.h"

namespace quorate::storage {

// What the file CURRENT says.
struct Current {
  uint64_t generation = 1;
  std::string engine;      // its short name
  raft::EntryId snapshot;  // the snapshot the generation came from; zeros: none
  friend bool operator==(const Current&, const Current&) = default;
};

std::string encode_current(const Current& current);
// kCorrupt, naming `path`, when the text is none that encode_current wrote.
Result<Current> decode_current(Slice text, const std::string& path);

struct OpenOptions {
  std::string data_dir;  // exists; the store lives in data_dir/backend
  std::string engine;    // short name of the engine that `open` opens
  // Opens the engine in `dir`, which exists.
  std::function<Result<std::unique_ptr<plugin::Backend>>(const std::string& dir)> open;
  // Whether this may be a first start: the WAL holds nothing. Without it a missing CURRENT is
  // refused, since a store must have been there.
  bool may_create = false;
  // The log's last snapshot record; zeros: none. A generation that is complete and of exactly this
  // snapshot takes the live one's place.
  raft::EntryId log_snapshot;
  Logger logger;
};

struct OpenedEngine {
  std::shared_ptr<Engine> engine;  // epoch 1
  Current current;
  Applied applied;          // of `meta/applied`; the defaults in a new store
  bool is_new = false;      // nothing was ever applied
  raft::Index durable = 0;  // applied.entry.index
};

// Opens the live generation, or makes the first, and deletes the others. An engine that is not
// durable is filled from its checkpoint. Errors, each with a sentence that names the directory:
// kInvalidArgument for a directory of another engine; kCorrupt for a damaged or missing CURRENT, a
// missing generation, a damaged checkpoint or applied record.
Result<OpenedEngine> open_engine(FileSystem& files, const OpenOptions& options);

// Opens the generation that COMPLETE names. kCorrupt when that is none of exactly `snapshot`.
// [worker-thread]
Result<OpenedEngine> open_complete(FileSystem& files, const OpenOptions& options,
                                   raft::EntryId snapshot, uint64_t epoch);
// COMPLETE becomes CURRENT, durably. The generation before stays where it is.
Status make_complete_current(FileSystem& files, const std::string& data_dir);
// Deletes COMPLETE and the generation that it names; OK when there is none.
Status discard_complete(FileSystem& files, const std::string& data_dir);
// Deletes a generation that nobody has open, and its checkpoint.
Status remove_generation(FileSystem& files, const std::string& data_dir, uint64_t generation);

std::string backend_dir(const std::string& data_dir);
std::string complete_path(const std::string& data_dir);
std::string generation_dir(const std::string& data_dir, uint64_t generation);
std::string checkpoint_path(const std::string& data_dir, uint64_t generation);

}  // namespace quorate::storage
