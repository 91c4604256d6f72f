// SPDX-License-Identifier: Apache-2.0
// One watcher: what it wants, how far it has been told, and where it stands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/key_range.h"
#include "base/result.h"

namespace quorate::watch {

using StreamId = uint64_t;

// What a client asked for, in the form that is used. Shared, immutable.
struct WatchSpec {
  std::string key;  // never empty: an empty key means the byte 0
  std::string range_end;
  int64_t start_revision = 0;  // 0: from the next change on
  bool progress_notify = false;
  bool no_put = false, no_delete = false;
  bool prev_kv = false;

  KeyRange range() const { return KeyRange::from_client(key, range_end); }
  bool wants(bool is_delete) const { return is_delete ? !no_delete : !no_put; }
};

// request: a bare segment holding a schema::WatchCreate. kDamagedRequest: no such message.
Result<WatchSpec> decode_watch(Slice request);

// Synced: hears of changes as they are applied. Unsynced: waits for a catch-up. Catching up: a task
// is out. Victim: its stream takes nothing, so the watcher waits for the stream.
enum class WatcherState : uint8_t { kSynced, kUnsynced, kCatchingUp, kVictim };

// Invariant: every matching change with a revision below `next` has been put into the stream's
// queue, in order and once; none at or above it has.
struct Watcher {
  StreamId stream = 0;
  uint64_t watch = 0;       // the front-end's number
  uint64_t generation = 0;  // of this watcher and its present catch-up; never used twice
  std::shared_ptr<const WatchSpec> spec;
  WatcherState state = WatcherState::kSynced;
  int64_t next = 0;          // while synced: of the start only, since every change is told
  bool told_lately = false;  // got events since the last progress tick
  uint64_t item_turn = 0;    // the turn in which its newest item of events was begun
  size_t item_index = 0;     // where that item lies in the stream's queue
};

}  // namespace quorate::watch
