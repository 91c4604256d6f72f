// SPDX-License-Identifier: Apache-2.0
// Who is told of which change. After each apply batch every stream gets, in one call, all that the
// batch has for its watchers. A stream that does not take it holds nothing up: what is queued for
// it stays queued, and once that reaches a limit its watchers become victims, which are caught up
// from the store when the stream takes again.
//
// Promises to each watcher: changes come in order, none is missing, none comes twice, all of one
// revision lie in one item; CREATED comes first, CLOSED last; PROGRESS with revision R comes only
// behind every change up to R. Items of one stream leave in the order in which they were queued.
// Owned by the apply loop; only the streams' callbacks leave it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/status.h"
#include "quorate/frontend.h"
#include "watch/catch_up.h"
#include "watch/stream.h"
#include "watch/watcher.h"

namespace quorate::watch {

inline constexpr size_t kCatchUpTasksMax = 64;  // out at one time

class WatcherGroup;

class WatchHub {
 public:
  // history: the store as the apply loop sees it (StoreHistory); for previous pairs of live events
  // and for the last stretch before a watcher joins. Outlives the hub. revision: published at
  // start.
  WatchHub(History* history, int64_t revision);
  ~WatchHub();

  // id: the server's, never used twice. A stale id is ignored by all the rest.
  void open(StreamId id, quorate_on_watch on_watch, void* user);
  // CREATED or CLOSED follows. A number that is in use gets CLOSED with kWatchDuplicateId, and the
  // watcher that has it lives on.
  void add(StreamId id, uint64_t watch, WatchSpec spec);
  // Queues CLOSED with `code` for a watcher that may not be made (permission, damaged request).
  void refuse(StreamId id, uint64_t watch, Code code);
  // CLOSED (kCancelled) follows; nothing when the watcher is unknown.
  void remove(StreamId id, uint64_t watch);
  // PROGRESS for the whole stream, as soon as every watcher is synced and has been told all; never
  // on a stream without watchers.
  void request_progress(StreamId id);
  // The stream takes again.
  void resume(StreamId id);
  // Ends the stream: its last item is CLOSED for all, with `code`; what was queued is dropped.
  void close(StreamId id, Code code);
  void close_all(Code code);

  // The changes of a batch that has been published up to `revision`. Slices are used during the
  // call only.
  Status apply(std::span<const Change> changes, int64_t revision);
  // PROGRESS for each synced watcher that wants it and was told nothing since the last tick.
  void progress_tick();
  // Hands each stream what is queued for it. Called once a turn, after everything above.
  void flush();

  // Work for the reader pool: run with watch::catch_up(), the result comes back by catch_up_done().
  // Each task that was taken must come back, if only with an error.
  std::vector<CatchUpTask> take_tasks();
  void catch_up_done(CatchUpResult result);
  // A snapshot was installed: the store now stands at `revision`. Every watcher goes on from its
  // own next revision; results of tasks that are out will be dropped.
  void restored(int64_t revision);

  int64_t revision() const { return revision_; }
  size_t stream_count() const;
  size_t watcher_count() const;
  size_t unsynced_count() const;  // with victims

 private:
  struct Waiting {
    StreamId stream;
    uint64_t watch;
    uint64_t generation;
  };
  Stream* find(StreamId id);
  void queue(Stream& stream, Item item);
  void mark_dirty(Stream& stream);
  Status tell(const Change& change);
  void tell(Watcher& watcher, const Change& change, const Bytes& event);
  void remove_overflowed();
  void join(Stream& stream, Watcher& watcher);
  void make_victim(Stream& stream, Watcher& watcher);
  void make_unsynced(Stream& stream, Watcher& watcher);
  void leave_state(Stream& stream, Watcher& watcher);
  void accept(Stream& stream, Watcher& watcher, CatchUpResult& result);
  void close_watcher(Stream& stream, Watcher& watcher, Code code, int64_t compact_revision);
  bool told_everything(const Stream& stream) const;
  void flush(Stream& stream);

  History* const history_;
  int64_t revision_;
  uint64_t next_generation_ = 1;
  uint64_t turn_ = 0;  // of apply()
  size_t tasks_out_ = 0;
  std::map<StreamId, std::unique_ptr<Stream>> streams_;
  std::unique_ptr<WatcherGroup> synced_;
  std::deque<Waiting> unsynced_;  // waiting for a task; an entry of another generation is stale
  std::vector<StreamId> dirty_;   // to be flushed
  std::set<StreamId> progress_wanted_;
  std::vector<Watcher*> overflowed_;  // became victims in the running apply(), still in synced_
};

}  // namespace quorate::watch
