// SPDX-License-Identifier: Apache-2.0
// How a watcher that lags is told what it missed: a task, described as data, goes to the reader
// pool, which reads the store's history and posts the result back to the apply loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/status.h"
#include "watch/watcher.h"

namespace quorate::mvcc {
struct Change;
}

namespace quorate::watch {

using mvcc::Change;

// Of one result; a revision is never cut, so the last one may exceed them.
inline constexpr int64_t kCatchUpRevisionsMax = 1000;    // with events
inline constexpr size_t kCatchUpBytesMax = 1024 * 1024;  // of events
inline constexpr size_t kCatchUpRecordsMax = 10'000;     // read, wanted or not
// A watcher that misses no more than this is caught up by apply itself, and joins.
inline constexpr int64_t kJoinRevisionsMax = 1000;

struct CatchUpTask {
  StreamId stream = 0;
  uint64_t watch = 0;
  uint64_t generation = 0;
  int64_t from = 0;  // first revision to read
  int64_t to = 0;    // last; the published revision when the task was made
  std::shared_ptr<const WatchSpec> spec;
};

struct CatchUpResult {
  StreamId stream = 0;
  uint64_t watch = 0;
  uint64_t generation = 0;
  Status status;                 // an error of the engine ends the watcher
  int64_t compact_revision = 0;  // not 0: what it wanted is gone
  int64_t next = 0;              // everything below was read
  int64_t read_revision = 0;     // the store's revision at the reading
  std::vector<Bytes> events;     // mvccpb.Event, whole revisions, in order
};

// The store's past, as a catch-up needs it (watch/store_history.h has the two that there are). One
// thread at a time.
class History {
 public:
  virtual ~History() = default;
  // Makes the past from `from` on readable until the next begin(); kCompacted when it is gone.
  // Then revision() is the last that scan() will give, and compact_revision() is known.
  virtual Status begin(int64_t from) = 0;
  virtual int64_t revision() const = 0;
  virtual int64_t compact_revision() const = 0;  // below 0: never compacted
  // Calls `visit` for each change with from <= revision <= to, in order, until it answers false.
  // What it is given is valid during the call.
  virtual Status scan(int64_t from, int64_t to,
                      const std::function<bool(const Change&)>& visit) = 0;
  // The record that `change` replaced, mvccpb.KeyValue in wire form; empty when there was none, or
  // when it has been compacted. Valid until the next call. Asked for live changes too, without
  // begin().
  virtual Result<Slice> previous(const Change& change) = 0;
};

// Runs a task. Total: what cannot be read is in the result.
CatchUpResult catch_up(History& history, const CatchUpTask& task);

// An mvccpb.Event in wire form. previous: a KeyValue in wire form, empty for none.
Bytes encode_event(const Change& change, Slice previous);

}  // namespace quorate::watch
