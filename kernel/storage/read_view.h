// SPDX-License-Identifier: Apache-2.0
// What a reader starts from: the buffers and an engine view that together are one consistent
// picture of all revisions up to the published one.
//
// A reader first picks (and pins) its revision, then takes the current read view: views only move
// forward, so that view holds everything up to the revision. An engine view may be used with it
// only if it is of the same epoch and sees every batch up to engine_batch; a batch above that is
// still in `frozen` or `active`. What is in both is the same.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/result.h"
#include "env/yield.h"
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

// The current read view: a pointer, copied under a mutex. [any thread]
class CurrentReadView {
 public:
  std::shared_ptr<const ReadView> get() const {
    yield_point("read_view.get");
    std::lock_guard lock(mutex_);
    return view_;
  }
  // The apply loop alone.
  void set(std::shared_ptr<const ReadView> view) {
    yield_point("read_view.set");
    std::lock_guard lock(mutex_);
    view_.swap(view);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const ReadView> view_;  // guarded by mutex_
};

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

  // Walks the records with revisions in [from, to), oldest first: calls
  // visit(Revision, bool tombstone, Slice key, Slice record) -> bool until it returns false, or
  // until `records_max` were visited. True: there is more; then resume is the next revision.
  template <typename Visit>
  Result<bool> scan(Revision from, Revision to, size_t records_max, Revision& resume,
                    Visit&& visit);

  // Gives the engine view back; the next call takes one again.
  void release() { engine_view_.give_back(); }

 private:
  Result<plugin::EngineRead*> engine();
  Revision first_buffered() const;

  std::shared_ptr<const ReadView> view_;
  EngineView engine_view_;
  bool own_ = false;
};

}  // namespace quorate::storage
