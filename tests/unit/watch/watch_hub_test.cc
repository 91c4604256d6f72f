// SPDX-License-Identifier: Apache-2.0
#include "watch/watch_hub.h"

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/coding.h"
#include "base/random.h"
#include "mvcc/record.h"
#include "mvcc/store.h"
#include "schemas/api.capnp.h"
#include "schemas/segment.h"

namespace quorate::watch {
namespace {

// A store that remembers everything: what the hub is tested against.
class FakeHistory final : public History {
 public:
  struct Kept {
    mvcc::Revision revision;
    bool tombstone;
    std::string key, record, previous;
  };

  // One revision that puts or (value empty) deletes each key.
  void change(const std::vector<std::pair<std::string, std::string>>& keys) {
    ++revision_;
    uint32_t sub = 0;
    for (const auto& [key, value] : keys) {
      const bool tombstone = value.empty();
      std::string& now = newest_[key];
      Kept kept{{revision_, sub++}, tombstone, key, "", now};
      mvcc::Record record;
      record.key = key;
      if (!tombstone) {
        record.mod_revision = revision_;
        record.value = value;
      }
      kept.record = mvcc::encode_record(record);
      now = tombstone ? std::string() : kept.record;
      kept_.push_back(std::move(kept));
    }
  }
  void compact(int64_t revision) { compacted_ = revision; }
  Change as_change(const Kept& kept) const {
    return {kept.revision, kept.tombstone, kept.key, kept.record, {}};
  }
  // The changes after `revision`, as a batch.
  std::vector<Change> since(int64_t revision) const {
    std::vector<Change> changes;
    for (const Kept& kept : kept_) {
      if (kept.revision.main > revision) changes.push_back(as_change(kept));
    }
    return changes;
  }
  const std::deque<Kept>& kept() const { return kept_; }

  Status begin(int64_t from) override {
    if (failing) return Status(Code::kIoError, "broken");
    return from < compacted_ ? Status(Code::kCompacted, "") : Status();
  }
  int64_t revision() const override { return revision_; }
  int64_t compact_revision() const override { return compacted_; }
  Status scan(int64_t from, int64_t to, const std::function<bool(const Change&)>& visit) override {
    for (const Kept& kept : kept_) {
      if (kept.revision.main < from || kept.revision.main > to) continue;
      if (!visit(as_change(kept))) break;
    }
    return Status();
  }
  Result<Slice> previous(const Change& change) override {
    for (const Kept& kept : kept_) {
      if (kept.revision == change.revision) return Slice(kept.previous);
    }
    return Slice();
  }

  bool failing = false;

 private:
  std::deque<Kept> kept_;
  std::map<std::string, std::string> newest_;
  int64_t revision_ = 1;
  int64_t compacted_ = -1;
};

// "+a=1@5", "-a@6", with "<0" behind for the previous value.
std::string event_text(Slice event) {
  bool is_delete = false;
  std::string text, previous;
  while (!event.empty()) {
    const char tag = event[0];
    event.remove_prefix(1);
    uint64_t number = 0;
    REQUIRE(take_varint(event, number));
    if (tag == 8) {
      is_delete = number == 1;
      continue;
    }
    Slice bytes;
    REQUIRE(take_bytes(event, number, bytes));
    const auto record = mvcc::parse_record(bytes);
    REQUIRE(record.has_value());
    if (tag == 0x1a) {
      previous = "<" + std::string(record->value);
      continue;
    }
    REQUIRE(tag == 0x12);
    text = std::string(record->key) + (is_delete ? "" : "=" + std::string(record->value)) + "@" +
           std::to_string(record->mod_revision);
  }
  return (is_delete ? "-" : "+") + text + previous;
}

// One stream's other end: takes, or is busy.
struct Taker {
  bool busy = false;
  int calls = 0;
  std::vector<std::string> items;
  std::vector<quorate_buf> buffers;  // of the last call

  static quorate_status on_watch(void* user, const quorate_watch_item* items, size_t count) {
    return static_cast<Taker*>(user)->take(items, count);
  }
  std::vector<std::string> taken() { return std::exchange(items, {}); }

 private:
  quorate_status take(const quorate_watch_item* given, size_t count) {
    ++calls;
    const bool ends = given[count - 1].watch == QUORATE_WATCH_ALL &&
                      given[count - 1].kind == QUORATE_WATCH_CLOSED;
    if (busy && !ends) return QUORATE_BUSY;
    buffers.clear();
    for (size_t i = 0; i < count; ++i) items.push_back(text(given[i]));
    return QUORATE_OK;
  }
  std::string text(const quorate_watch_item& item) {
    const std::string who =
        item.watch == QUORATE_WATCH_ALL ? "all" : "w" + std::to_string(item.watch);
    const std::string at = " r" + std::to_string(item.revision);
    switch (item.kind) {
      case QUORATE_WATCH_CREATED: return who + " created" + at;
      case QUORATE_WATCH_PROGRESS: return who + " progress" + at;
      case QUORATE_WATCH_CLOSED:
        return who + " closed " + std::string(code_name(static_cast<Code>(item.code))) +
               (item.compact_revision != 0 ? " c" + std::to_string(item.compact_revision) : "") +
               at;
      default: break;
    }
    std::string events = who + at;
    for (uint32_t i = 0; i < item.event_count; ++i) {
      buffers.push_back(item.events[i]);
      events += " " + event_text(from_c(item.events[i].bytes));
    }
    return events;
  }
};

WatchSpec spec(std::string key, std::string end = "", int64_t start = 0) {
  WatchSpec spec;
  spec.key = std::move(key);
  spec.range_end = std::move(end);
  spec.start_revision = start;
  return spec;
}

using Items = std::vector<std::string>;

// A hub over a history, with one stream (1) unless a test opens more.
struct Bench {
  FakeHistory history;
  WatchHub hub{&history, 1};
  Taker taker;

  Bench() { hub.open(1, Taker::on_watch, &taker); }

  // One batch with one revision.
  void change(const std::vector<std::pair<std::string, std::string>>& keys) {
    const int64_t before = history.revision();
    history.change(keys);
    const auto changes = history.since(before);
    REQUIRE(hub.apply(changes, history.revision()).ok());
  }
  void put(const std::string& key, const std::string& value) { change({{key, value}}); }
  // Runs what the pool would run, until nothing is left.
  void catch_up() {
    for (auto tasks = hub.take_tasks(); !tasks.empty(); tasks = hub.take_tasks()) {
      for (const CatchUpTask& task : tasks) hub.catch_up_done(watch::catch_up(history, task));
      hub.flush();
    }
  }
  Items flushed() {
    hub.flush();
    return taker.taken();
  }
};

// ---------------------------------------------------------------- creating

TEST_CASE("a watcher is told that it was created, then of each change from then on", "[watch]") {
  Bench bench;
  bench.put("a", "0");
  bench.hub.add(1, 7, spec("a"));
  bench.put("a", "1");
  bench.put("b", "1");
  CHECK(bench.flushed() == Items{"w7 created r2", "w7 r3 +a=1@3"});
  bench.change({{"a", ""}});
  CHECK(bench.flushed() == Items{"w7 r5 -a@5"});
}

TEST_CASE("a watcher of a range hears of what lies in it, in order, one item a batch", "[watch]") {
  Bench bench;
  bench.hub.add(1, 1, spec("b", "d"));
  bench.hub.add(1, 2, spec("c", std::string(1, '\0')));
  bench.change({{"a", "1"}, {"b", "1"}, {"c", "1"}, {"d", "1"}});
  CHECK(bench.flushed() ==
        Items{"w1 created r1", "w2 created r1", "w1 r2 +b=1@2 +c=1@2", "w2 r2 +c=1@2 +d=1@2"});
}

TEST_CASE("a batch of several revisions is one item for a watcher", "[watch]") {
  Bench bench;
  bench.hub.add(1, 1, spec("a"));
  bench.history.change({{"a", "1"}});
  bench.history.change({{"b", "1"}});
  bench.history.change({{"a", "2"}});
  REQUIRE(bench.hub.apply(bench.history.since(1), 4).ok());
  CHECK(bench.flushed() == Items{"w1 created r1", "w1 r4 +a=1@2 +a=2@4"});
}

TEST_CASE("a stream gets all of a turn in one call", "[watch]") {
  Bench bench;
  for (uint64_t watch = 0; watch < 500; ++watch) bench.hub.add(1, watch, spec("a"));
  bench.put("a", "1");
  CHECK(bench.flushed().size() == 1000);
  CHECK(bench.taker.calls == 1);
}

TEST_CASE("an event is encoded once, and shared by all who get it", "[watch]") {
  Bench bench;
  bench.hub.add(1, 1, spec("a"));
  bench.hub.add(1, 2, spec("a", "b"));
  WatchSpec with_previous = spec("a");
  with_previous.prev_kv = true;
  bench.hub.add(1, 3, with_previous);
  bench.put("a", "1");
  bench.flushed();
  REQUIRE(bench.taker.buffers.size() == 3);
  CHECK(bench.taker.buffers[0].owner != bench.taker.buffers[1].owner);
  int equal = 0;
  for (const auto& buffer : bench.taker.buffers) {
    equal += buffer.owner == bench.taker.buffers[0].owner ? 1 : 0;
  }
  CHECK(equal == 2);
}

TEST_CASE("a watcher without a range, before the beginning, or twice, is refused", "[watch]") {
  Bench bench;
  bench.hub.add(1, 1, spec("b", "b"));
  bench.hub.add(1, 2, spec("a", "", -1));
  bench.hub.add(1, 3, spec("a"));
  bench.hub.add(1, 3, spec("a"));
  bench.hub.refuse(1, 4, Code::kPermissionDenied);
  CHECK(bench.flushed() == Items{"w1 closed watch_empty_range r1", "w2 closed compacted r1",
                                 "w3 created r1", "w3 closed watch_duplicate_id r1",
                                 "w4 closed permission_denied r1"});
  bench.put("a", "1");
  CHECK(bench.flushed() == Items{"w3 r2 +a=1@2"});
}

TEST_CASE("a removed watcher is closed once and hears nothing more", "[watch]") {
  Bench bench;
  bench.hub.add(1, 1, spec("a"));
  bench.hub.remove(1, 1);
  bench.hub.remove(1, 1);
  bench.hub.remove(1, 9);
  bench.put("a", "1");
  CHECK(bench.flushed() == Items{"w1 created r1", "w1 closed cancelled r1"});
  bench.hub.add(1, 1, spec("a"));  // the number is free again
  CHECK(bench.flushed() == Items{"w1 created r2"});
}

TEST_CASE("filters drop events, and a revision of which nothing is left sends nothing", "[watch]") {
  Bench bench;
  WatchSpec no_put = spec("a"), no_delete = spec("a");
  no_put.no_put = true;
  no_delete.no_delete = true;
  bench.hub.add(1, 1, no_put);
  bench.hub.add(1, 2, no_delete);
  bench.flushed();
  bench.put("a", "1");
  CHECK(bench.flushed() == Items{"w2 r2 +a=1@2"});
  bench.change({{"a", ""}});
  CHECK(bench.flushed() == Items{"w1 r3 -a@3"});
}

TEST_CASE("the previous pair comes when it is asked for and there is one", "[watch]") {
  Bench bench;
  WatchSpec asks = spec("a");
  asks.prev_kv = true;
  bench.hub.add(1, 1, asks);
  bench.flushed();
  bench.put("a", "1");
  bench.put("a", "2");
  bench.change({{"a", ""}});
  CHECK(bench.flushed() == Items{"w1 r2 +a=1@2", "w1 r3 +a=2@3<1", "w1 r4 -a@4<2"});
  asks.start_revision = 2;
  bench.hub.add(1, 2, asks);
  bench.catch_up();
  CHECK(bench.flushed() == Items{"w2 created r4", "w2 r4 +a=1@2 +a=2@3<1 -a@4<2"});
}

// ---------------------------------------------------------------- starting elsewhere

TEST_CASE("a watcher from the past gets all since then, then what is new", "[watch]") {
  Bench bench;
  bench.put("a", "1");
  bench.put("b", "1");
  bench.put("a", "2");
  bench.hub.add(1, 1, spec("a", "", 3));
  bench.put("a", "3");  // before it has caught up
  CHECK(bench.hub.unsynced_count() == 1);
  bench.catch_up();
  CHECK(bench.hub.unsynced_count() == 0);
  bench.put("a", "4");
  CHECK(bench.flushed() == Items{"w1 created r4", "w1 r5 +a=2@4 +a=3@5", "w1 r6 +a=4@6"});
}

TEST_CASE("a catch-up that ends short of the present is ended by apply itself", "[watch]") {
  Bench bench;
  bench.put("a", "1");
  bench.hub.add(1, 1, spec("a", "", 2));
  const auto tasks = bench.hub.take_tasks();
  REQUIRE(tasks.size() == 1);
  const CatchUpResult early = watch::catch_up(bench.history, tasks[0]);
  bench.put("a", "2");
  bench.hub.catch_up_done(early);
  CHECK(bench.hub.unsynced_count() == 0);
  bench.put("a", "3");
  CHECK(bench.flushed() == Items{"w1 created r2", "w1 r2 +a=1@2", "w1 r3 +a=2@3", "w1 r4 +a=3@4"});
}

TEST_CASE("a catch-up far behind the present goes round again", "[watch]") {
  Bench bench;
  for (int i = 0; i < 3500; ++i) bench.put("a", "x");
  bench.hub.add(1, 1, spec("a", "", 2));
  int rounds = 0;
  for (auto tasks = bench.hub.take_tasks(); !tasks.empty(); tasks = bench.hub.take_tasks()) {
    ++rounds;
    bench.hub.catch_up_done(watch::catch_up(bench.history, tasks.at(0)));
  }
  CHECK(rounds == 3);
  const Items items = bench.flushed();
  REQUIRE(items.size() == 5);  // created, three from the pool, one by apply
  CHECK(items.back().find("@3501") != std::string::npos);
}

TEST_CASE("a watcher from the future hears nothing before it, progress included", "[watch]") {
  Bench bench;
  WatchSpec later = spec("a", "", 4);
  later.progress_notify = true;
  bench.hub.add(1, 1, later);
  bench.put("a", "1");
  bench.hub.progress_tick();
  bench.hub.request_progress(1);
  bench.put("a", "2");
  CHECK(bench.flushed() == Items{"w1 created r1", "all progress r3"});
  bench.put("a", "3");
  CHECK(bench.flushed() == Items{"w1 r4 +a=3@4"});
}

TEST_CASE("a watcher below the compact revision is created, then closed with it", "[watch]") {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.put("a", "x");
  bench.history.compact(4);
  bench.hub.add(1, 1, spec("a", "", 3));
  bench.hub.add(1, 2, spec("a", "", 4));
  bench.catch_up();
  CHECK(bench.taker.taken() == Items{"w1 created r6", "w2 created r6", "w1 closed compacted c4 r0",
                                     "w2 r6 +a=x@4 +a=x@5 +a=x@6"});
  CHECK(bench.hub.watcher_count() == 1);
}

TEST_CASE("an engine that fails closes the watcher that needed it", "[watch]") {
  Bench bench;
  bench.put("a", "1");
  bench.hub.add(1, 1, spec("a", "", 1));
  bench.history.failing = true;
  bench.catch_up();
  CHECK(bench.taker.taken() == Items{"w1 created r2", "w1 closed io_error r2"});
}

TEST_CASE("a late result for a watcher that was made anew is dropped", "[watch]") {
  Bench bench;
  bench.put("a", "1");
  bench.hub.add(1, 1, spec("a", "", 2));
  const auto tasks = bench.hub.take_tasks();
  bench.hub.remove(1, 1);
  bench.hub.add(1, 1, spec("a"));
  bench.hub.catch_up_done(watch::catch_up(bench.history, tasks.at(0)));
  CHECK(bench.flushed() == Items{"w1 created r2", "w1 closed cancelled r2", "w1 created r2"});
}

TEST_CASE("no more than so many catch-ups are out at once, and each gets its turn", "[watch]") {
  Bench bench;
  bench.put("a", "1");
  for (uint64_t watch = 0; watch < 100; ++watch) bench.hub.add(1, watch, spec("a", "", 2));
  const auto first = bench.hub.take_tasks();
  CHECK(first.size() == kCatchUpTasksMax);
  CHECK(bench.hub.take_tasks().empty());
  for (const auto& task : first) bench.hub.catch_up_done(watch::catch_up(bench.history, task));
  CHECK(bench.hub.take_tasks().size() == 100 - kCatchUpTasksMax);
}

// ---------------------------------------------------------------- progress

TEST_CASE("a quiet watcher that wants progress gets it, one that had events waits", "[watch]") {
  Bench bench;
  WatchSpec wants = spec("a"), other = spec("b");
  wants.progress_notify = other.progress_notify = true;
  bench.hub.add(1, 1, wants);
  bench.hub.add(1, 2, other);
  bench.hub.add(1, 3, spec("c"));
  bench.flushed();
  bench.put("a", "1");
  bench.hub.progress_tick();
  CHECK(bench.flushed() == Items{"w1 r2 +a=1@2", "w2 progress r2"});
  bench.hub.progress_tick();
  CHECK(bench.flushed() == Items{"w1 progress r2", "w2 progress r2"});
}

TEST_CASE("an old watcher whose filter matches nothing still gets progress", "[watch]") {
  Bench bench;
  for (int i = 0; i < 10; ++i) bench.put("a", "x");
  WatchSpec old = spec("zzz", "", 1);
  old.progress_notify = true;
  bench.hub.add(1, 1, old);
  bench.hub.progress_tick();  // unsynced: nothing yet
  CHECK(bench.flushed() == Items{"w1 created r11"});
  bench.catch_up();
  bench.hub.progress_tick();
  CHECK(bench.flushed() == Items{"w1 progress r11"});
}

TEST_CASE("progress of a stream waits until all its watchers have been told all", "[watch]") {
  Bench bench;
  bench.put("a", "1");
  bench.hub.add(1, 1, spec("a", "", 2));
  bench.hub.request_progress(1);
  CHECK(bench.flushed() == Items{"w1 created r2"});
  bench.catch_up();
  CHECK(bench.flushed() == Items{"w1 r2 +a=1@2", "all progress r2"});
  CHECK(bench.flushed().empty());
}

TEST_CASE("a stream without watchers gets no progress", "[watch]") {
  Bench bench;
  bench.hub.request_progress(1);
  CHECK(bench.flushed().empty());
  bench.hub.add(1, 1, spec("a"));
  bench.hub.request_progress(1);
  bench.hub.remove(1, 1);
  CHECK(bench.flushed() == Items{"w1 created r1", "w1 closed cancelled r1"});
}

// ---------------------------------------------------------------- slow streams

TEST_CASE("what a busy stream did not take it gets again, in order, with what came since",
          "[watch]") {
  Bench bench;
  bench.hub.add(1, 1, spec("a"));
  bench.taker.busy = true;
  CHECK(bench.flushed().empty());
  bench.put("a", "1");
  CHECK(bench.flushed().empty());
  CHECK(bench.taker.calls == 1);  // not asked again before it resumes
  bench.taker.busy = false;
  bench.hub.resume(1);
  CHECK(bench.flushed() == Items{"w1 created r1", "w1 r2 +a=1@2"});
}

TEST_CASE("a stream that stays busy makes victims, which miss nothing", "[watch]") {
  Bench bench;
  Taker other;
  bench.hub.open(2, Taker::on_watch, &other);
  bench.hub.add(1, 1, spec("a"));
  bench.hub.add(2, 1, spec("a"));
  bench.flushed();
  other.taken();
  bench.taker.busy = true;
  for (int i = 0; i < 300; ++i) {
    bench.put("a", "x");
    bench.hub.flush();
  }
  CHECK(other.taken().size() == 300);  // nobody else waits
  CHECK(bench.hub.unsynced_count() == 1);
  CHECK(bench.hub.take_tasks().empty());  // no use before it resumes
  bench.taker.busy = false;
  bench.hub.resume(1);
  bench.hub.flush();
  CHECK(bench.taker.items.size() == kStreamItemsMax);
  bench.catch_up();
  CHECK(bench.hub.unsynced_count() == 0);
  int64_t next = 2;
  for (const std::string& item : bench.taker.items) {
    for (size_t at = item.find('@'); at != std::string::npos; at = item.find('@', at + 1)) {
      CHECK(std::stoll(item.substr(at + 1)) == next++);
    }
  }
  CHECK(next == 302);
}

TEST_CASE("a busy stream is bounded by the bytes of its events too", "[watch]") {
  Bench bench;
  bench.hub.add(1, 1, spec("a"));
  bench.flushed();
  bench.taker.busy = true;
  for (int i = 0; i < 10; ++i) {
    bench.put("a", std::string(1 << 20, 'x'));
    bench.hub.flush();
  }
  CHECK(bench.hub.unsynced_count() == 1);
}

TEST_CASE("a catch-up for a stream that has filled up meanwhile adds nothing to it", "[watch]") {
  Bench bench;
  bench.put("b", "1");
  bench.hub.add(1, 1, spec("a"));
  bench.hub.add(1, 2, spec("b", "", 2));
  bench.flushed();
  const auto tasks = bench.hub.take_tasks();
  bench.taker.busy = true;
  for (int i = 0; i < 200; ++i) {
    bench.put("a", "x");
    bench.hub.flush();
  }
  bench.hub.catch_up_done(watch::catch_up(bench.history, tasks.at(0)));
  bench.taker.busy = false;
  bench.hub.resume(1);
  CHECK(bench.flushed().size() == kStreamItemsMax);
  bench.catch_up();
  CHECK(bench.taker.taken().back() == "w2 r202 +b=1@2");
  CHECK(bench.hub.unsynced_count() == 0);
}

TEST_CASE("a closed stream is told so last, busy or not, and its callbacks end", "[watch]") {
  Bench bench;
  bench.hub.add(1, 1, spec("a"));
  bench.taker.busy = true;
  bench.put("a", "1");
  bench.hub.flush();
  bench.hub.close(1, Code::kStopped);
  bench.hub.close(1, Code::kStopped);
  bench.put("a", "2");
  bench.hub.resume(1);
  CHECK(bench.flushed() == Items{"all closed stopped r2"});
  CHECK(bench.hub.stream_count() == 0);
  CHECK(bench.hub.watcher_count() == 0);
}

TEST_CASE("calls for a stream that is gone are ignored", "[watch]") {
  Bench bench;
  bench.put("a", "1");
  bench.hub.add(1, 1, spec("a", "", 2));
  const auto tasks = bench.hub.take_tasks();
  bench.hub.close_all(Code::kStopped);
  bench.hub.catch_up_done(watch::catch_up(bench.history, tasks.at(0)));
  bench.hub.add(1, 2, spec("a"));
  bench.hub.refuse(1, 2, Code::kCompacted);
  bench.hub.remove(1, 2);
  bench.hub.request_progress(1);
  CHECK(bench.flushed() == Items{"all closed stopped r2"});
}

// ---------------------------------------------------------------- an installed snapshot

TEST_CASE("an installed snapshot sends every watcher back to its own next revision", "[watch]") {
  Bench bench;
  bench.hub.add(1, 1, spec("a"));
  bench.hub.add(1, 2, spec("a", "", 100));
  bench.put("a", "1");
  bench.flushed();
  for (int i = 0; i < 5; ++i) bench.history.change({{"a", "x"}});  // not told one by one
  bench.hub.restored(bench.history.revision());
  CHECK(bench.hub.unsynced_count() == 1);
  bench.catch_up();
  bench.put("a", "2");
  CHECK(bench.flushed() == Items{"w1 r7 +a=x@3 +a=x@4 +a=x@5 +a=x@6 +a=x@7", "w1 r8 +a=2@8"});
}

TEST_CASE("a watcher whose next revision the snapshot no longer has is closed", "[watch]") {
  Bench bench;
  bench.hub.add(1, 1, spec("a"));
  bench.flushed();
  for (int i = 0; i < 5; ++i) bench.history.change({{"a", "x"}});
  bench.history.compact(5);
  bench.hub.restored(bench.history.revision());
  bench.catch_up();
  CHECK(bench.taker.taken() == Items{"w1 closed compacted c5 r0"});
}

// ---------------------------------------------------------------- the promises, at random

// What one watcher was told, checked as it comes.
struct Told {
  WatchSpec spec;
  int64_t from = 0;
  bool created = false;
  std::vector<std::string> events;
  int64_t progress = 0;  // everything up to here was promised to have come
};

TEST_CASE("every watcher is told all, in order, once, and progress is never ahead", "[watch]") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    Bench bench;
    std::map<uint64_t, Told> told;
    uint64_t next_watch = 1;
    std::vector<CatchUpTask> out;
    const auto key = [&] { return std::string(1, static_cast<char>('a' + random.below(5))); };
    const auto read_items = [&] {
      for (const std::string& item : bench.taker.taken()) {
        if (item.rfind("all progress r", 0) == 0) {
          for (auto& [watch, each] : told) {
            if (each.created) each.progress = std::stoll(item.substr(14));
          }
          continue;
        }
        const uint64_t watch = std::stoull(item.substr(1));
        REQUIRE(told.count(watch) == 1);
        Told& each = told[watch];
        const size_t space = item.find(' ');
        if (item.compare(space + 1, 7, "created") == 0) each.created = true;
        if (item.compare(space + 1, 8, "progress") == 0) {
          each.progress = std::stoll(item.substr(space + 11));
        }
        for (size_t at = item.find_first_of("+-", space); at != std::string::npos;
             at = item.find_first_of("+-", at + 1)) {
          const std::string event = item.substr(at, item.find(' ', at) - at);
          const int64_t revision = std::stoll(event.substr(event.find('@') + 1));
          REQUIRE(revision > each.progress);  // else progress was ahead
          each.events.push_back(event);
        }
      }
    };
    for (int step = 0; step < 600; ++step) {
      switch (random.below(10)) {
        case 0: {
          const uint64_t watch = next_watch++;
          const int64_t now = bench.history.revision();
          Told each;
          each.spec = random.one_in(2) ? spec(key()) : spec(key(), std::string(1, '\0'));
          each.spec.start_revision =
              random.one_in(3) ? 0
                               : static_cast<int64_t>(random.below(static_cast<uint64_t>(now) + 4));
          each.spec.no_put = random.one_in(6);
          each.spec.progress_notify = random.one_in(2);
          each.from = each.spec.start_revision == 0 ? now + 1 : each.spec.start_revision;
          bench.hub.add(1, watch, each.spec);
          told[watch] = each;
          break;
        }
        case 1: bench.taker.busy = true; break;
        case 2:
        case 3:
          bench.taker.busy = false;
          bench.hub.resume(1);
          break;
        case 4:
          for (auto& task : bench.hub.take_tasks()) out.push_back(std::move(task));
          break;
        case 5:
          if (!out.empty()) {
            const size_t which = random.below(out.size());
            bench.hub.catch_up_done(watch::catch_up(bench.history, out[which]));
            out.erase(out.begin() + static_cast<long>(which));
          }
          break;
        case 6: bench.hub.request_progress(1); break;
        case 7: bench.hub.progress_tick(); break;
        default: {
          std::vector<std::pair<std::string, std::string>> keys;
          for (char name = 'a'; name < 'f'; ++name) {
            if (random.one_in(3)) {
              keys.emplace_back(std::string(1, name), random.one_in(4) ? "" : std::to_string(step));
            }
          }
          if (keys.empty()) break;
          bench.change(keys);
          // Many writes, so that a busy stream overflows.
          for (int i = 0; random.one_in(8) && i < 140; ++i) {
            bench.put(key(), "f");
            bench.hub.flush();
          }
          break;
        }
      }
      if (random.one_in(2)) bench.hub.flush();
      read_items();
    }
    bench.taker.busy = false;
    bench.hub.resume(1);
    bench.hub.flush();
    for (auto& task : out) bench.hub.catch_up_done(watch::catch_up(bench.history, task));
    bench.catch_up();
    bench.hub.flush();
    read_items();
    for (const auto& [watch, each] : told) {
      std::vector<std::string> expected;
      for (const auto& kept : bench.history.kept()) {
        if (kept.revision.main < each.from || !each.spec.wants(kept.tombstone) ||
            !each.spec.range().contains(kept.key)) {
          continue;
        }
        expected.push_back(event_text(encode_event(bench.history.as_change(kept), {}).slice()));
      }
      INFO("seed " << seed << " watcher " << watch);
      REQUIRE(each.events == expected);
    }
  }
}

// ---------------------------------------------------------------- the request

TEST_CASE("a watch request comes back field by field, an empty key as the byte 0", "[watch]") {
  schema::SegmentBuilder builder;
  auto create = builder.start<schema::WatchCreate>();
  create.setStartRevision(-4);
  create.setProgressNotify(true);
  create.setNoPut(true);
  create.setPrevKv(true);
  const auto spec = decode_watch(builder.finish());
  REQUIRE(spec.has_value());
  CHECK(spec->key == std::string(1, '\0'));
  CHECK(spec->start_revision == -4);
  CHECK(spec->progress_notify);
  CHECK(spec->no_put);
  CHECK_FALSE(spec->no_delete);
  CHECK(spec->prev_kv);
}

TEST_CASE("what is no watch request is refused", "[watch]") {
  CHECK(decode_watch("").status().code() == Code::kDamagedRequest);
  CHECK(decode_watch("123").status().code() == Code::kDamagedRequest);
  CHECK(decode_watch(std::string(64, '\xff')).status().code() == Code::kDamagedRequest);
}

}  // namespace
}  // namespace quorate::watch
