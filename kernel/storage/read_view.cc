// SPDX-License-Identifier: Apache-2.0
#include "storage/read_view.h"

#include <string>

#include "storage/bucket.h"

namespace quorate::storage {

const RecordLog::Entry* RecordReader::buffered(Revision revision) const {
  const RecordLog& active = *view_->active;
  if (const auto* entry = own_ ? active.find_own(revision) : active.find(revision)) return entry;
  return view_->frozen == nullptr ? nullptr : view_->frozen->find(revision);
}

Result<plugin::EngineRead*> RecordReader::engine() {
  if (!engine_view_) {
    Result<EngineView> taken = view_->engine->view(view_->engine_batch);
    if (!taken) return std::move(taken).error();
    engine_view_ = *std::move(taken);
  }
  return &engine_view_.read();
}

Result<Slice> RecordReader::get(Revision revision, bool tombstone) {
  if (const RecordLog::Entry* entry = buffered(revision)) return entry->record();
  Result<plugin::EngineRead*> read = engine();
  if (!read) return std::move(read).error();
  const RecordKey key(revision, tombstone);
  Result<std::optional<Slice>> value = (*read)->get(number(Bucket::kKey), key.slice());
  if (!value) return std::move(value).error();
  if (!value->has_value()) {
    return Status(Code::kCorrupt, "the storage engine has lost the record of revision " +
                                      std::to_string(revision.main) + "/" +
                                      std::to_string(revision.sub) +
                                      "; restore this member from a snapshot");
  }
  return **value;
}

Revision RecordReader::first_buffered() const {
  for (const RecordLog* log : {view_->frozen.get(), view_->active.get()})
    if (log != nullptr && log->visible() > 0) return log->at(0).revision;
  return {INT64_MAX, 0};
}

}  // namespace quorate::storage
