// SPDX-License-Identifier: Apache-2.0
#include "watch/stream.h"

#include <utility>

namespace quorate::watch {

Watcher* Stream::find(uint64_t watch) {
  const auto found = watchers_.find(watch);
  return found == watchers_.end() ? nullptr : &found->second;
}

size_t Stream::queue(Item item) {
  for (const Bytes& event : item.events) queued_bytes_ += event.size();
  items_.push_back(std::move(item));
  return items_.size() - 1;
}

void Stream::add_event(size_t place, const Bytes& event, int64_t revision) {
  items_[place].events.push_back(event);
  items_[place].revision = revision;
  queued_bytes_ += event.size();
}

bool Stream::deliver() {
  if (busy_) return false;
  if (items_.empty()) return true;
  busy_ = offer(items_) == QUORATE_BUSY;
  if (busy_) return false;
  items_.clear();
  queued_bytes_ = 0;
  return true;
}

void Stream::end(Code code, int64_t revision) {
  Item closed;
  closed.watch = QUORATE_WATCH_ALL;
  closed.kind = QUORATE_WATCH_CLOSED;
  closed.code = code;
  closed.revision = revision;
  offer({std::move(closed)});
}

quorate_status Stream::offer(const std::vector<Item>& items) {
  size_t event_count = 0;
  for (const Item& item : items) event_count += item.events.size();
  std::vector<quorate_buf> events;
  events.reserve(event_count);
  std::vector<quorate_watch_item> batch;
  batch.reserve(items.size());
  for (const Item& item : items) {
    const size_t first = events.size();
    for (const Bytes& event : item.events) events.push_back(event.lend());
    batch.push_back({item.watch, item.revision, item.compact_revision, item.kind,
                     static_cast<quorate_status>(item.code), events.data() + first,
                     static_cast<uint32_t>(item.events.size()), 0});
  }
  return on_watch_(user_, batch.data(), batch.size());
}

}  // namespace quorate::watch
