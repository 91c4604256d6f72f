// SPDX-License-Identifier: Apache-2.0
// What a reader starts from: the buffers and an engine view that together are one consistent
// picture of all revisions up to the published one.
//
// A reader first picks (and pins) its revision, then takes the current read view: views only move
// forward, so that view holds everything up to the revision. An engine view may be used with it
// only if it is of the same epoch and sees every batch up to engine_batch; a batch above that is
// still in `frozen` or `active`. What is in both is the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/result.h"
#include "env/mutex.h"
#include "storage/bucket.h"
#include "storage/engine.h"
#include "storage/record_log.h"

namespace quorate::storage {

// Immutable once published.
struct ReadView {
  std::shared_ptr<const Engine> engine;
  uint64_t engine_batch = 0;                // the engine holds every batch up to this one
  std::shared_ptr<const RecordLog> frozen;  // being written, or nullptr
  std::shared_ptr<const RecordLog> active;
  // What apply's other parts show to readers (the auth snapshot); storage never looks into it.
  std::shared_ptr<const void> attached;
};

// What apply shows to readers as the present: a pointer, copied under a mutex. [any thread]
template <typename T>
class Published {
 public:
  std::shared_ptr<T> get() const {
    const MutexLock lock(mutex_);
    return value_;
  }
  // The apply loop alone.
  void set(std::shared_ptr<T> value) {
    const MutexLock lock(mutex_);
    value_.swap(value);
  }

 private:
  mutable Mutex mutex_{"published"};
  std::shared_ptr<T> value_ QUORATE_GUARDED_BY(mutex_);
};

using CurrentReadView = Published<const ReadView>;

// Reads records of one read view. Takes an engine view at the first record that no buffer has, and
// keeps it until release(). One thread at a time.
class RecordReader {
 public:
  RecordReader() = default;
  // own: the caller is the apply loop, which also sees what it has not yet published.
  explicit RecordReader(std::shared_ptr<const ReadView> view, bool own = false)
      : view_(std::move(view)), own_(own) {}

  const ReadView& view() const { return *view_; }

  // The record of exactly this revision: valid until the next call on this reader. kCorrupt when
  // there is none: whoever asks has seen the revision in the index, and holds a pin on it.
  Result<Slice> get(Revision revision, bool tombstone);

  // Walks the records with revisions in [from, to), oldest first, at most `records_max` of them:
  // visit(Revision, bool tombstone, Slice key, Slice record) -> bool; false stops behind that
  // record. True: there may be more, from `resume` on.
  template <typename Visit>
  Result<bool> scan(Revision from, Revision to, size_t records_max, Revision& resume,
                    Visit&& visit);

  // Gives the engine view back; the next call takes one again.
  void release() { engine_view_.give_back(); }

 private:
  Result<plugin::EngineRead*> engine();
  const RecordLog::Entry* buffered(Revision revision) const;
  // The first revision that a buffer has; what is below lies in the engine alone.
  Revision first_buffered() const;
  template <typename Visit>
  Result<bool> scan_engine(Revision from, Revision to, size_t& left, Revision& resume,
                           Visit& visit);

  std::shared_ptr<const ReadView> view_;
  EngineView engine_view_;
  bool own_ = false;
};

// The revision that follows `revision` and no other.
inline Revision successor(Revision revision) {
  return {revision.main, revision.sub + 1};
}

template <typename Visit>
Result<bool> RecordReader::scan(Revision from, Revision to, size_t records_max, Revision& resume,
                                Visit&& visit) {
  size_t left = records_max;
  resume = from;
  // What the buffers hold need not be asked of the engine.
  const Revision buffered_from = first_buffered();
  if (from < buffered_from && from < to) {
    Result<bool> more = scan_engine(from, std::min(to, buffered_from), left, resume, visit);
    if (!more || *more) return more;
  }
  for (const RecordLog* log : {view_->frozen.get(), view_->active.get()}) {
    if (log == nullptr) continue;
    const uint64_t count = log->visible();
    for (uint64_t i = log->lower_bound(resume); i < count; ++i) {
      const RecordLog::Entry& entry = log->at(i);
      if (entry.revision >= to) return false;
      if (left-- == 0) return true;
      resume = successor(entry.revision);
      if (!visit(entry.revision, entry.tombstone != 0, entry.key(), entry.record())) return true;
    }
  }
  return false;
}

template <typename Visit>
Result<bool> RecordReader::scan_engine(Revision from, Revision to, size_t& left, Revision& resume,
                                       Visit& visit) {
  Result<plugin::EngineRead*> read = engine();
  if (!read) return std::move(read).error();
  Result<plugin::Cursor> cursor = (*read)->cursor(number(Bucket::kKey));
  if (!cursor) return std::move(cursor).error();
  Result<bool> at_pair = cursor->seek(RecordKey(from, false).slice());
  for (; at_pair && *at_pair; at_pair = cursor->next()) {
    Revision revision;
    bool tombstone = false;
    if (!parse_record_key(cursor->key(), revision, tombstone)) {
      return Status(Code::kCorrupt, "the bucket `key` holds a key that is no revision");
    }
    if (revision >= to) return false;
    if (left-- == 0) return true;
    resume = successor(revision);
    if (!visit(revision, tombstone, cursor->key(), cursor->value())) return true;
  }
  if (!at_pair) return std::move(at_pair).error();
  return false;
}

}  // namespace quorate::storage
