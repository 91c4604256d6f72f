// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/wire.h"
#include "sim/workload.h"
#include "support/requests.h"

namespace quorate::sim {
namespace {

constexpr uint64_t kOpenAgainNs = 200'000'000;
constexpr uint64_t kProgressNs = 700'000'000;
constexpr uint64_t kResumeNs = 30'000'000;

}  // namespace

Watcher::Watcher(Workload& workload, size_t number, uint64_t seed)
    : workload_(workload), number_(number), random_(seed) {
  switch (random_.below(3)) {
    case 0:  // everything
      key_ = std::string(1, '\0');
      end_ = test::kOpenEnd;
      break;
    case 1:  // one key
      key_ = "h" + std::to_string(random_.below(workload.config_.keys));
      break;
    default:  // a few keys
      key_ = workload.key(random_.below(workload.config_.keys));
      end_ = "l";
  }
}

void Watcher::start() {
  from_now_ = random_.one_in(3);
  open();
}

void Watcher::open() {
  stream_ = 0;
  const auto again = [this] { workload_.timers_.after(kOpenAgainNs, [this] { open(); }); };
  member_ = random_.below(workload_.cluster_.size());
  SimMember& member = workload_.cluster_.member(member_);
  if (!member.is_ready()) return again();
  stream_ = member.open_watch(this);
  if (stream_ == 0) return again();
  created_ = false;
  if (!from_now_) {
    place_ = 0;
    const std::vector<Event>& events = workload_.oracle_.events();
    while (place_ < events.size() && events[place_].revision < next_) ++place_;
  }
  ++watch_;
  member.add_watch(stream_, watch_,
                   test::watch_request(key_, end_, from_now_ ? 0 : next_, random_.one_in(4)));
  if (random_.one_in(2)) {
    workload_.timers_.after(kProgressNs, [this, stream = stream_, process = member.process()] {
      SimMember& then = workload_.cluster_.member(member_);
      if (stream == stream_ && then.runs() && then.process() == process) then.progress(stream);
    });
  }
  // Nobody watches at one place for ever.
  if (random_.one_in(3)) {
    workload_.timers_.after(random_.below(5'000'000'000),
                            [this, stream = stream_, process = member.process()] {
                              SimMember& then = workload_.cluster_.member(member_);
                              if (stream == stream_ && then.runs() && then.process() == process)
                                then.close_watch(stream);
                            });
  }
}

void Watcher::ended() {
  stream_ = 0;
  workload_.timers_.after(kOpenAgainNs, [this] { open(); });
}

void Watcher::broken(const std::string& sentence) {
  workload_.verdicts_.add(
      Checker::kWatch, workload_.env_.clock().now_ns(),
      fmt::format("watcher {} at member {} (key \"{}\", waits for revision {}): {}", number_,
                  member_, key_, next_, sentence));
}

bool Watcher::items(const quorate_watch_item* items, size_t count) {
  bool is_last = false;
  for (size_t i = 0; i < count; ++i)
    is_last |= items[i].watch == QUORATE_WATCH_ALL && items[i].kind == QUORATE_WATCH_CLOSED;
  if (!is_last && random_.one_in(12)) {
    workload_.timers_.after(
        random_.below(kResumeNs),
        [this, stream = stream_, process = workload_.cluster_.member(member_).process()] {
          SimMember& then = workload_.cluster_.member(member_);
          if (stream == stream_ && then.runs() && then.process() == process) then.resume(stream);
        });
    return false;
  }
  for (size_t i = 0; i < count; ++i) take(items[i]);
  return true;
}

void Watcher::take(const quorate_watch_item& item) {
  if (item.watch != watch_ && item.watch != QUORATE_WATCH_ALL)
    return broken("it got an item of another watch");
  switch (item.kind) {
    case QUORATE_WATCH_CREATED:
      if (created_) broken("it was created twice");
      created_ = true;
      if (from_now_) {
        from_now_ = false;
        next_ = item.revision + 1;
        const std::vector<Event>& events = workload_.oracle_.events();
        place_ = events.size();
        while (place_ > 0 && events[place_ - 1].revision >= next_) --place_;
      }
      break;
    case QUORATE_WATCH_EVENTS: {
      if (!created_) broken("it got events before it was created");
      for (uint32_t e = 0; e < item.event_count; ++e)
        take_event(from_c(item.events[e].bytes), item.revision);
      break;
    }
    case QUORATE_WATCH_PROGRESS:
      expect_none_before(item.revision, "progress");
      next_ = std::max(next_, item.revision + 1);
      break;
    case QUORATE_WATCH_CLOSED:
      if (item.watch == QUORATE_WATCH_ALL) break;
      if (item.compact_revision != 0) {
        if (item.compact_revision <= next_)
          broken(
              fmt::format("it was ended for a compaction at revision {}", item.compact_revision));
        next_ = item.compact_revision;
      }
      workload_.timers_.after(1'000'000, [this, stream = stream_, member = member_] {
        if (stream == stream_) workload_.cluster_.member(member).close_watch(stream);
      });
      break;
    default: broken("it got an item of an unknown kind");
  }
}

void Watcher::take_event(Slice bytes, int64_t revision) {
  const std::optional<WireEvent> got = parse_event(bytes);
  if (!got) return broken("it got an event that is no protobuf message");
  ++events_;
  if (got->kv.mod_revision > revision)
    broken(fmt::format("an event of revision {} came with the header's revision {}",
                       got->kv.mod_revision, revision));
  const std::vector<Event>& events = workload_.oracle_.events();
  while (place_ < events.size() && !in_range(events[place_].key, key_, end_)) ++place_;
  if (place_ == events.size())
    return broken(
        fmt::format("it got the revision {} of \"{}\", which nobody applied or which it "
                    "had been told",
                    got->kv.mod_revision, got->kv.key));
  const Event& due = events[place_];
  if (due.revision != got->kv.mod_revision || due.key != got->kv.key ||
      due.tombstone != got->tombstone || due.value != got->kv.value)
    return broken(fmt::format("it got revision {} of \"{}\" where revision {} of \"{}\" was due",
                              got->kv.mod_revision, got->kv.key, due.revision, due.key));
  if (!due.tombstone &&
      (due.version != got->kv.version || due.create_revision != got->kv.create_revision ||
       due.lease != got->kv.lease))
    broken(fmt::format("revision {} of \"{}\" came with other fields", due.revision, due.key));
  ++place_;
  next_ = due.revision + 1;  // an item holds whole revisions
}

std::optional<int64_t> Watcher::due(int64_t revision) const {
  if (from_now_) return revision;
  const std::vector<Event>& events = workload_.oracle_.events();
  for (size_t i = place_; i < events.size() && events[i].revision <= revision; ++i)
    if (events[i].revision >= next_ && in_range(events[i].key, key_, end_))
      return events[i].revision;
  return std::nullopt;
}

void Watcher::expect_none_before(int64_t revision, const char* what) {
  const std::vector<Event>& events = workload_.oracle_.events();
  for (size_t i = place_; i < events.size() && events[i].revision <= revision; ++i)
    if (in_range(events[i].key, key_, end_))
      return broken(fmt::format("{} to revision {} came before revision {} of \"{}\"", what,
                                revision, events[i].revision, events[i].key));
}

}  // namespace quorate::sim
