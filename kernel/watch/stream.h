// SPDX-License-Identifier: Apache-2.0
// One watch stream: its watchers, and the queue of what it has not yet taken. Owned by the watch
// hub.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "quorate/frontend.h"
#include "watch/watcher.h"

namespace quorate::watch {

inline constexpr size_t kStreamItemsMax = 128;              // not taken by a busy stream
inline constexpr size_t kStreamBytesMax = 4 * 1024 * 1024;  // of their events

struct Item {
  uint64_t watch = 0;
  uint32_t kind = 0;
  Code code = Code::kOk;
  int64_t revision = 0;
  int64_t compact_revision = 0;
  std::vector<Bytes> events;
};

// Invariant: items leave in the order in which they were queued, each exactly once.
class Stream {
 public:
  Stream(StreamId id, quorate_on_watch on_watch, void* user)
      : id_(id), on_watch_(on_watch), user_(user) {}

  StreamId id() const { return id_; }
  std::map<uint64_t, Watcher>& watchers() { return watchers_; }
  const std::map<uint64_t, Watcher>& watchers() const { return watchers_; }
  Watcher* find(uint64_t watch);

  // Appends an item; its place in the queue, which holds until deliver().
  size_t queue(Item item);
  // REQUIRES: `place` came from queue() since the last deliver().
  void add_event(size_t place, const Bytes& event, int64_t revision);

  // It did not take what it was offered last.
  bool busy() const { return busy_; }
  // Busy, and so much is queued that its watchers must wait.
  bool full() const {
    return busy_ && (items_.size() >= kStreamItemsMax || queued_bytes_ >= kStreamBytesMax);
  }
  void resume() { busy_ = false; }
  // Offers what is queued, unless it is busy. True: nothing is queued any more.
  bool deliver();
  // The last call that names user: what is queued is dropped, the stream is told that it ended.
  void end(Code code, int64_t revision);

  bool dirty = false;  // stands in the hub's list for the next flush
  size_t victims = 0;  // watchers in that state

 private:
  quorate_status offer(const std::vector<Item>& items);

  const StreamId id_;
  const quorate_on_watch on_watch_;
  void* const user_;
  std::map<uint64_t, Watcher> watchers_;
  std::vector<Item> items_;
  size_t queued_bytes_ = 0;
  bool busy_ = false;
};

}  // namespace quorate::watch
