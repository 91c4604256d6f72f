// SPDX-License-Identifier: Apache-2.0
#include "storage/generation_import.h"

#include <algorithm>
#include <utility>

namespace quorate::storage {
namespace {

// The number that a generation's directory has for a name; 0: it is none.
uint64_t generation_of(const std::string& name) {
  if (name.size() > 18) return 0;
  uint64_t number = 0;
  for (char digit : name) {
    if (digit < '0' || digit > '9') return 0;
    number = number * 10 + static_cast<uint64_t>(digit - '0');
  }
  return number;
}

// A number that no directory has, old ones that a reader still holds open included.
Result<uint64_t> next_generation(FileSystem& files, const std::string& data_dir) {
  Result<std::vector<std::string>> names = files.list(backend_dir(data_dir));
  if (!names) return std::move(names).error();
  uint64_t last = 0;
  for (const std::string& name : *names) last = std::max(last, generation_of(name));
  return last + 1;
}

}  // namespace

Result<std::unique_ptr<GenerationImport>> GenerationImport::begin(FileSystem& files,
                                                                  const OpenOptions& options) {
  QUORATE_TRY(discard_complete(files, options.data_dir));
  Result<uint64_t> generation = next_generation(files, options.data_dir);
  if (!generation) return std::move(generation).error();
  const std::string dir = generation_dir(options.data_dir, *generation);
  QUORATE_TRY(create_dir_durably(files, dir));
  Result<std::unique_ptr<plugin::Backend>> backend = options.open(dir);
  if (!backend) {
    // A directory that stays behind is deleted by the next start.
    (void)files.remove_all(dir);
    return std::move(backend).error();
  }
  return std::unique_ptr<GenerationImport>(new GenerationImport(
      files, options, Current{*generation, options.engine, {}}, *std::move(backend)));
}

GenerationImport::GenerationImport(FileSystem& files, const OpenOptions& options, Current current,
                                   std::unique_ptr<plugin::Backend> backend)
    : files_(files),
      options_(options),
      current_(std::move(current)),
      engine_(std::make_shared<Engine>(std::move(backend), current_.generation, 0)),
      importer_(engine_.get()) {}

GenerationImport::~GenerationImport() {
  checkpoint_.reset();
  engine_.reset();
  if (complete_) return;
  const std::string aside = checkpoint_path(options_.data_dir, current_.generation) + ".new";
  Status status = files_.remove_all(aside);
  if (status.ok()) status = remove_generation(files_, options_.data_dir, current_.generation);
  if (!status.ok()) {
    options_.logger.warn(
        "generation {} of an incoming snapshot was not deleted, the next start "
        "will: {}",
        current_.generation, status.to_string());
  }
}

Status GenerationImport::feed(Slice piece) {
  return importer_.feed(piece);
}

Result<bool> GenerationImport::finish_some() {
  if (checkpoint_ == nullptr) {
    QUORATE_TRY(importer_.finish());
    if (applied().entry.index == 0) {
      return Status(Code::kCorrupt, "the snapshot stream stands at no index");
    }
  }
  if (!engine_->durable()) {
    Result<bool> written = checkpoint_some();
    if (!written || !*written) return written;
  }
  QUORATE_TRY(complete());
  return true;
}

Result<bool> GenerationImport::checkpoint_some() {
  if (checkpoint_ == nullptr) {
    checkpoint_ = std::make_unique<CheckpointJob>(
        &files_, checkpoint_path(options_.data_dir, current_.generation), engine_,
        [this](Result<raft::Index> index) { checkpoint_status_ = std::move(index).status(); });
  }
  if (checkpoint_->step() == Job::Next::kMore) return false;
  QUORATE_TRY(checkpoint_status_);
  return true;
}

Status GenerationImport::complete() {
  checkpoint_.reset();
  engine_.reset();
  current_.snapshot = applied().entry;
  // What lies in the directory is durable by the engine's word, its name since begin().
  QUORATE_TRY(
      write_file_atomically(files_, complete_path(options_.data_dir), encode_current(current_)));
  complete_ = true;
  return Status();
}

}  // namespace quorate::storage
