// SPDX-License-Identifier: Apache-2.0
// How a watcher that lags is told what it missed: a task, described as data, goes to the reader
// pool, which reads the store's history and posts the result back to the apply loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "watch/watcher.h"

namespace quorate::watch {

inline constexpr int64_t kCatchUpRevisionsMax = 1000;    // with events, in one result
inline constexpr size_t kCatchUpBytesMax = 1024 * 1024;  // of events; one revision may exceed it
inline constexpr int64_t kJoinRevisionsMax = 1000;  // that apply itself reads, to join a watcher

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

// The store's past at one moment, as a catch-up needs it. One thread at a time.
class History {
 public:
  virtual ~History() = default;
  virtual int64_t revision() = 0;
  virtual int64_t compact_revision() = 0;  // below 0: never compacted
  // Calls `visit` for each change with from <= revision <= to, in order, until it answers false.
  // What it is given is valid during the call.
  virtual Status scan(int64_t from, int64_t to,
                      const std::function<bool(const Change&)>& visit) = 0;
  // The record of `key` just before `revision`, mvccpb.KeyValue in wire form; empty when there was
  // none, or when it has been compacted.
  virtual Bytes previous(Slice key, int64_t revision) = 0;
};

// Runs a task. Total: what cannot be read is in the result.
CatchUpResult catch_up(History& history, const CatchUpTask& task);

// An mvccpb.Event in wire form. previous: a KeyValue in wire form, empty for none.
Bytes encode_event(const Change& change, Slice previous);

}  // namespace quorate::watch
