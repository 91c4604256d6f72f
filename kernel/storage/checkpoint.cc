// SPDX-License-Identifier: Apache-2.0
#include "storage/checkpoint.h"

#include <utility>

#include "base/check.h"

namespace quorate::storage {
namespace {

constexpr int kBlocksPerStep = 4;
constexpr size_t kReadBytes = 1 << 20;

std::string aside(const std::string& path) {
  return path + ".new";
}

}  // namespace

CheckpointJob::CheckpointJob(FileSystem* files, std::string path,
                             std::shared_ptr<const Engine> engine, Done done)
    : files_(files), path_(std::move(path)), engine_(std::move(engine)), done_(std::move(done)) {}

CheckpointJob::~CheckpointJob() = default;

Job::Next CheckpointJob::step() {
  if (writer_ == nullptr) {
    if (Status status = begin(); !status.ok()) return finish(std::move(status));
  }
  Result<bool> more = write_some();
  if (!more) return finish(std::move(more).error());
  if (*more) return Next::kMore;
  if (Status status = install(); !status.ok()) return finish(std::move(status));
  return finish(writer_->applied().entry.index);
}

Status CheckpointJob::begin() {
  Result<EngineView> view = engine_->view(engine_->written_batch());
  if (!view) return std::move(view).error();
  Result<SnapshotWriter> writer = SnapshotWriter::open(*std::move(view));
  if (!writer) return std::move(writer).error();
  Result<std::unique_ptr<File>> file = files_->open(aside(path_), OpenMode::kReplace);
  if (!file) return std::move(file).error();
  writer_ = std::make_unique<SnapshotWriter>(*std::move(writer));
  file_ = *std::move(file);
  return Status();
}

Result<bool> CheckpointJob::write_some() {
  bool more = true;
  for (int i = 0; i < kBlocksPerStep && more; ++i) {
    block_.clear();
    Result<bool> next = writer_->next(block_);
    if (!next) return next;
    more = *next;
    const Slice part = block_;
    QUORATE_TRY(file_->write(offset_, {&part, 1}));
    offset_ += block_.size();
  }
  return more;
}

Status CheckpointJob::install() {
  QUORATE_TRY(file_->sync());
  file_.reset();
  QUORATE_TRY(files_->rename(aside(path_), path_));
  return files_->sync_dir(dir_of(path_));
}

Job::Next CheckpointJob::finish(Result<raft::Index> result) {
  if (!result) {
    result = std::move(result).error().with_context("the checkpoint " + path_ +
                                                    " was not written, the last one still counts");
  }
  done_(std::move(result));
  return Next::kDone;
}

Result<raft::Index> write_checkpoint(FileSystem& files, const std::string& path,
                                     std::shared_ptr<const Engine> engine) {
  Result<raft::Index> outcome = raft::Index{0};
  CheckpointJob job(&files, path, std::move(engine),
                    [&](Result<raft::Index> result) { outcome = std::move(result); });
  while (job.step() == Job::Next::kMore) {
  }
  return outcome;
}

Result<Applied> load_checkpoint(FileSystem& files, const std::string& path, Engine* engine) {
  if (!files.exists(path)) return Status(Code::kNotFound, path + " does not exist");
  Result<std::unique_ptr<File>> file = files.open(path, OpenMode::kRead);
  if (!file) return std::move(file).error();
  SnapshotImporter importer(engine);
  std::string piece(kReadBytes, '\0');
  Status status;
  for (uint64_t offset = 0; status.ok();) {
    Result<size_t> size = (*file)->read(offset, piece.data(), piece.size());
    if (!size) return std::move(size).error();
    if (*size == 0) break;
    offset += *size;
    status = importer.feed(Slice(piece).substr(0, *size));
  }
  if (status.ok()) status = importer.finish();
  if (!status.ok()) {
    return std::move(status).with_context(
        path + " cannot be loaded; remove the member and add it anew with an empty data directory");
  }
  return importer.applied();
}

}  // namespace quorate::storage
