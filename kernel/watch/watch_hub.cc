// SPDX-License-Identifier: Apache-2.0
#include "watch/watch_hub.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "mvcc/store.h"
#include "watch/watcher_group.h"

namespace quorate::watch {
namespace {

Item make_item(uint64_t watch, uint32_t kind, int64_t revision, Code code = Code::kOk) {
  Item item;
  item.watch = watch;
  item.kind = kind;
  item.revision = revision;
  item.code = code;
  return item;
}

}  // namespace

WatchHub::WatchHub(History* history, int64_t revision)
    : history_(history), revision_(revision), synced_(std::make_unique<WatcherGroup>()) {}
WatchHub::~WatchHub() = default;

Stream* WatchHub::find(StreamId id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

void WatchHub::mark_dirty(Stream& stream) {
  if (!std::exchange(stream.dirty, true)) dirty_.push_back(stream.id());
}

void WatchHub::queue(Stream& stream, Item item) {
  stream.queue(std::move(item));
  mark_dirty(stream);
}

void WatchHub::open(StreamId id, quorate_on_watch on_watch, void* user) {
  const bool fresh = streams_.emplace(id, std::make_unique<Stream>(id, on_watch, user)).second;
  QUORATE_CHECK(fresh, "a stream id was used twice");
}

void WatchHub::add(StreamId id, uint64_t watch, WatchSpec spec) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  if (stream->find(watch) != nullptr) return refuse(id, watch, Code::kWatchDuplicateId);
  if (spec.range().empty()) return refuse(id, watch, Code::kWatchEmptyRange);
  if (spec.start_revision < 0) return refuse(id, watch, Code::kCompacted);

  Watcher& watcher = stream->watchers()[watch];
  watcher.stream = id;
  watcher.watch = watch;
  watcher.next = spec.start_revision == 0 ? revision_ + 1 : spec.start_revision;
  watcher.spec = std::make_shared<const WatchSpec>(std::move(spec));
  queue(*stream, make_item(watch, QUORATE_WATCH_CREATED, revision_));
  if (watcher.next > revision_) {
    join(*stream, watcher);
  } else {
    make_unsynced(*stream, watcher);
  }
}

void WatchHub::refuse(StreamId id, uint64_t watch, Code code) {
  Stream* stream = find(id);
  if (stream != nullptr) {
    queue(*stream, make_item(watch, QUORATE_WATCH_CLOSED, revision_, code));
  }
}

void WatchHub::remove(StreamId id, uint64_t watch) {
  Stream* stream = find(id);
  Watcher* watcher = stream != nullptr ? stream->find(watch) : nullptr;
  if (watcher != nullptr) close_watcher(*stream, *watcher, Code::kCancelled, 0);
}

void WatchHub::request_progress(StreamId id) {
  Stream* stream = find(id);
  if (stream != nullptr && !stream->watchers().empty()) progress_wanted_.insert(id);
}

void WatchHub::resume(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  stream->resume();
  mark_dirty(*stream);
}

void WatchHub::close(StreamId id, Code code) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  for (auto& [watch, watcher] : found->second->watchers()) {
    leave_state(*found->second, watcher);
  }
  found->second->end(code, revision_);
  progress_wanted_.erase(id);
  streams_.erase(found);
}

void WatchHub::close_all(Code code) {
  while (!streams_.empty()) close(streams_.begin()->first, code);
}

// ---------------------------------------------------------------- where a watcher stands

void WatchHub::leave_state(Stream& stream, Watcher& watcher) {
  if (watcher.state == WatcherState::kSynced && watcher.generation != 0) synced_->remove(&watcher);
  if (watcher.state == WatcherState::kVictim) --stream.victims;
  watcher.generation = next_generation_++;
}

void WatchHub::join(Stream& stream, Watcher& watcher) {
  leave_state(stream, watcher);
  watcher.state = WatcherState::kSynced;
  synced_->add(&watcher);
}

void WatchHub::make_unsynced(Stream& stream, Watcher& watcher) {
  leave_state(stream, watcher);
  watcher.state = WatcherState::kUnsynced;
  unsynced_.push_back({stream.id(), watcher.watch, watcher.generation});
}

void WatchHub::make_victim(Stream& stream, Watcher& watcher) {
  leave_state(stream, watcher);
  watcher.state = WatcherState::kVictim;
  ++stream.victims;
}

void WatchHub::close_watcher(Stream& stream, Watcher& watcher, Code code,
                             int64_t compact_revision) {
  Item item =
      make_item(watcher.watch, QUORATE_WATCH_CLOSED, compact_revision != 0 ? 0 : revision_, code);
  item.compact_revision = compact_revision;
  queue(stream, std::move(item));
  leave_state(stream, watcher);
  stream.watchers().erase(watcher.watch);
}

// ---------------------------------------------------------------- live changes

Status WatchHub::apply(std::span<const Change> changes, int64_t revision) {
  QUORATE_CHECK(revision >= revision_, "the store's revision went back");
  ++turn_;
  Status status;
  for (const Change& change : changes) {
    status = tell(change);
    if (!status.ok()) break;
  }
  remove_overflowed();
  revision_ = revision;
  return status;
}

Status WatchHub::tell(const Change& change) {
  Bytes plain, with_previous;  // each encoded once, for all
  Status status;
  synced_->visit(change.key, [&](Watcher* watcher) {
    if (!status.ok() || watcher->state != WatcherState::kSynced) return;
    if (change.revision.main < watcher->next || !watcher->spec->wants(change.tombstone)) return;
    Bytes& event = watcher->spec->prev_kv ? with_previous : plain;
    if (event.empty()) {
      Result<Slice> previous = Slice();
      if (watcher->spec->prev_kv) previous = history_->previous(change);
      status = previous.status();
      if (!status.ok()) return;
      event = encode_event(change, *previous);
    }
    tell(*watcher, change, event);
  });
  return status;
}

void WatchHub::tell(Watcher& watcher, const Change& change, const Bytes& event) {
  Stream& stream = *find(watcher.stream);
  if (watcher.item_turn != turn_) {
    // Only here, between whole revisions, may a watcher fall behind: its first change of a batch
    // is also its first of that revision.
    if (stream.full()) {
      watcher.next = change.revision.main;
      watcher.state = WatcherState::kVictim;
      overflowed_.push_back(&watcher);
      return;
    }
    watcher.item_index =
        stream.queue(make_item(watcher.watch, QUORATE_WATCH_EVENTS, change.revision.main));
    watcher.item_turn = turn_;
    watcher.told_lately = true;
    mark_dirty(stream);
  }
  stream.add_event(watcher.item_index, event, change.revision.main);
}

// The group must not change while it is walked, so this comes after.
void WatchHub::remove_overflowed() {
  for (Watcher* watcher : overflowed_) {
    watcher->state = WatcherState::kSynced;
    make_victim(*find(watcher->stream), *watcher);
  }
  overflowed_.clear();
}

// ---------------------------------------------------------------- catching up

std::vector<CatchUpTask> WatchHub::take_tasks() {
  std::vector<CatchUpTask> tasks;
  while (tasks_out_ < kCatchUpTasksMax && !unsynced_.empty()) {
    const Waiting waiting = unsynced_.front();
    unsynced_.pop_front();
    Stream* stream = find(waiting.stream);
    Watcher* watcher = stream != nullptr ? stream->find(waiting.watch) : nullptr;
    if (watcher == nullptr || watcher->generation != waiting.generation) continue;
    if (stream->busy()) {
      make_victim(*stream, *watcher);
      continue;
    }
    watcher->state = WatcherState::kCatchingUp;
    ++tasks_out_;
    tasks.push_back({waiting.stream, waiting.watch, waiting.generation, watcher->next, revision_,
                     watcher->spec});
  }
  return tasks;
}

void WatchHub::catch_up_done(CatchUpResult result) {
  QUORATE_CHECK(tasks_out_ > 0, "a catch-up came back that was not out");
  --tasks_out_;
  Stream* stream = find(result.stream);
  Watcher* watcher = stream != nullptr ? stream->find(result.watch) : nullptr;
  if (watcher == nullptr || watcher->generation != result.generation) return;
  if (stream->full()) return make_victim(*stream, *watcher);
  accept(*stream, *watcher, result);
  // The last stretch is read here, where nothing new can come in between.
  watcher = stream->find(result.watch);
  if (watcher != nullptr && watcher->state == WatcherState::kCatchingUp &&
      revision_ - watcher->next < kJoinRevisionsMax) {
    result = catch_up(*history_, {stream->id(), watcher->watch, watcher->generation, watcher->next,
                                  revision_, watcher->spec});
    accept(*stream, *watcher, result);
    watcher = stream->find(result.watch);
  }
  if (watcher != nullptr && watcher->state == WatcherState::kCatchingUp) {
    make_unsynced(*stream, *watcher);
  }
}

// Puts what was read into the queue. The watcher joins, stays catching up, or is closed.
void WatchHub::accept(Stream& stream, Watcher& watcher, CatchUpResult& result) {
  if (!result.status.ok()) {
    return close_watcher(stream, watcher, result.status.code(), result.compact_revision);
  }
  QUORATE_CHECK(result.next >= watcher.next && result.next <= revision_ + 1,
                "a catch-up read what it was not asked for");
  if (!result.events.empty()) {
    Item item = make_item(watcher.watch, QUORATE_WATCH_EVENTS, result.read_revision);
    item.events = std::move(result.events);
    queue(stream, std::move(item));
    watcher.told_lately = true;
  }
  watcher.next = result.next;
  if (watcher.next > revision_) join(stream, watcher);
}

void WatchHub::restored(int64_t revision) {
  QUORATE_CHECK(revision >= revision_, "a snapshot took the store back");
  const int64_t told = std::exchange(revision_, revision);
  for (auto& [id, stream] : streams_) {
    for (auto& [watch, watcher] : stream->watchers()) {
      if (watcher.state == WatcherState::kVictim) continue;
      if (watcher.state == WatcherState::kSynced) watcher.next = std::max(watcher.next, told + 1);
      if (watcher.state == WatcherState::kSynced && watcher.next > revision_) continue;
      make_unsynced(*stream, watcher);
    }
  }
}

// ---------------------------------------------------------------- progress and delivery

void WatchHub::progress_tick() {
  for (auto& [id, stream] : streams_) {
    for (auto& [watch, watcher] : stream->watchers()) {
      const bool quiet = !std::exchange(watcher.told_lately, false);
      if (!watcher.spec->progress_notify || !quiet || stream->busy()) continue;
      if (watcher.state != WatcherState::kSynced || watcher.next > revision_ + 1) continue;
      queue(*stream, make_item(watch, QUORATE_WATCH_PROGRESS, revision_));
    }
  }
}

bool WatchHub::told_everything(const Stream& stream) const {
  return std::all_of(stream.watchers().begin(), stream.watchers().end(), [&](const auto& each) {
    return each.second.state == WatcherState::kSynced && each.second.next <= revision_ + 1;
  });
}

void WatchHub::flush() {
  for (auto id = progress_wanted_.begin(); id != progress_wanted_.end();) {
    Stream& stream = *find(*id);
    const bool dropped = stream.watchers().empty();
    const bool ready = !dropped && !stream.busy() && told_everything(stream);
    if (ready) {
      queue(stream, make_item(QUORATE_WATCH_ALL, QUORATE_WATCH_PROGRESS, revision_));
    }
    id = dropped || ready ? progress_wanted_.erase(id) : std::next(id);
  }
  for (StreamId id : std::exchange(dirty_, {})) {
    if (Stream* stream = find(id)) flush(*stream);
  }
}

void WatchHub::flush(Stream& stream) {
  stream.dirty = false;
  if (!stream.deliver() || stream.victims == 0) return;
  for (auto& [watch, watcher] : stream.watchers()) {
    if (watcher.state == WatcherState::kVictim) make_unsynced(stream, watcher);
  }
}

size_t WatchHub::stream_count() const {
  return streams_.size();
}

size_t WatchHub::watcher_count() const {
  size_t count = 0;
  for (const auto& [id, stream] : streams_) count += stream->watchers().size();
  return count;
}

size_t WatchHub::unsynced_count() const {
  return watcher_count() - synced_->size();
}

}  // namespace quorate::watch
