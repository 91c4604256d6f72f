// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "cases.h"
#include "mvcc/index.h"

namespace quorate::interleave {
namespace {

using mvcc::Index;
using mvcc::Pin;
using mvcc::Pins;

// The index with a history that is known in full: what is visible at a revision is a look-up.
class IndexScene : public Scene {
 protected:
  // revision 2: puts a, b, c; 3: b again.
  IndexScene() {
    batch(2, {"a", "b", "c"}, {});
    batch(3, {"b"}, {});
  }

  void change(int64_t revision, const std::vector<std::string>& puts,
              const std::vector<std::string>& deletes) {
    uint32_t sub = 0;
    for (const std::string& key : puts) {
      index.put(key, {revision, sub}, 0);
      history_[key][revision] = {revision, sub++};
    }
    for (const std::string& key : deletes) {
      std::vector<mvcc::KeyIndex*> live;
      index.live_own(KeyRange::from_client(key, ""), live);
      index.tombstone(live.at(0), {revision, sub++});
      history_[key][revision] = Revision();
    }
  }
  // As apply does it: the changes of one batch, published when the lock is let go.
  void batch(int64_t revision, const std::vector<std::string>& puts,
             const std::vector<std::string>& deletes, int64_t compact_at = 0) {
    index.lock();
    change(revision, puts, deletes);
    if (compact_at != 0) index.set_compacted(compact_at);
    index.unlock(revision);
    done_ = revision;
  }
  void sweep(uint64_t now_ns = 1) {
    const int64_t at = index.sweep_limit(now_ns);
    if (at < 0) return;
    std::string cursor;
    std::vector<mvcc::Dropped> dropped;
    while (!index.sweep(at, cursor, 2, dropped)) {
    }
  }
  std::vector<mvcc::Revision> model(int64_t at) const {
    std::vector<mvcc::Revision> visible;
    for (const auto& [key, changes] : history_) {
      auto newest = changes.upper_bound(at);
      if (newest == changes.begin()) continue;
      --newest;
      if (!newest->second.none()) visible.push_back(newest->second);
    }
    return visible;
  }
  // A read in slices of one key. revision 0: the present, which is never refused.
  void read(int64_t revision, uint64_t deadline_ns = UINT64_MAX) {
    const int64_t done_before = done_;
    Pin pin;
    const Result<Index::Begun> begun = index.begin_read(pin, revision, deadline_ns);
    if (!begun) {
      expect(revision != 0, "a read of the present was refused");
      expect(begun.error().code() == Code::kCompacted, "a read of a past revision was refused");
      expect(compacts_, "a read was refused as compacted, and nothing was");
      return;
    }
    expect(revision == 0 ? begun->at == begun->current : begun->at == revision,
           "a read begins at another revision than it was asked for");
    expect(begun->current >= done_before, "a batch that was over is not seen");
    expect(begun->at >= begun->compacted, "a read begins below what is compacted");
    std::vector<mvcc::Revision> found;
    int64_t count = 0;
    std::string cursor;
    const KeyRange all = KeyRange::from_client(Slice("\0", 1), Slice("\0", 1));
    while (!index.slice(all, begun->at, cursor, 1, &found, count, false)) {
    }
    const mvcc::Dropped newest = index.newest("b", begun->at);
    if (!pin.holds()) {
      expect(deadline_ns != UINT64_MAX, "a pin without a deadline was lost");
      return;
    }
    const std::vector<mvcc::Revision> expected = model(begun->at);
    if (found != expected)
      fail("a range is not what the store held at revision " + std::to_string(begun->at) + ": " +
           std::to_string(found.size()) + " keys of " + std::to_string(expected.size()));
    expect(count == static_cast<int64_t>(expected.size()), "count and keys disagree");
    expect(newest.revision.none() || newest.revision.main <= begun->at,
           "a change from the future was seen");
  }
  void check() override {
    expect(index.pins().count() == 0, "a pin was left behind");
    read(0);
  }

  using Revision = mvcc::Revision;
  Index index;
  int64_t done_ = 0;       // the last batch that is over
  bool compacts_ = false;  // some operation compacts
  std::map<std::string, std::map<int64_t, Revision>> history_;
};

class BatchAndReads final : public IndexScene {
  std::vector<Operation> operations() override {
    return {{"batch",
             [this] {
               batch(4, {"a", "d"}, {"c"});
             }},
            {"read", [this] { read(0); }},
            {"read", [this] { read(0); }}};
  }
};

class TwoBatches final : public IndexScene {
  std::vector<Operation> operations() override {
    return {{"batches",
             [this] {
               batch(4, {"a", "d"}, {"c"});
               batch(5, {"c"}, {"d"});
             }},
            {"read", [this] { read(0); }}};
  }
};

// The compact revision is the newest one: a read of the present that saw one without the other
// would be refused.
class CompactAndRead final : public IndexScene {
 public:
  CompactAndRead() { compacts_ = true; }
  std::vector<Operation> operations() override {
    return {{"compact",
             [this] {
               batch(4, {"a"}, {"c"}, 4);
               sweep();
             }},
            {"read", [this] { read(0); }}};
  }
};

class CompactAndOldRead final : public IndexScene {
 public:
  CompactAndOldRead() { compacts_ = true; }
  std::vector<Operation> operations() override {
    return {{"compact",
             [this] {
               batch(4, {"a"}, {"c"}, 3);
               sweep();
               sweep();
             }},
            {"old read", [this] { read(2); }},
            {"old read", [this] { read(3); }}};
  }
};

class Deadline final : public IndexScene {
 public:
  Deadline() { compacts_ = true; }
  std::vector<Operation> operations() override {
    return {{"compact",
             [this] {
               batch(4, {"a"}, {"c"}, 4);
               sweep(200);
             }},
            {"late read", [this] { read(3, 100); }},
            {"read", [this] { read(3); }}};
  }
};

// What the lowest pin is, while others come and go.
class ThreePins final : public Scene {
  std::vector<Operation> operations() override {
    return {{"pin 3", [this] { hold(3); }},
            {"pin 2", [this] { hold(2); }},
            {"lowest", [this] {
               // Held all the while, or at some time.
               const std::set<int64_t> sure = held_;
               const int64_t lowest = pins_.lowest(1);
               std::set<int64_t> kept;
               std::set_intersection(sure.begin(), sure.end(), held_.begin(), held_.end(),
                                     std::inserter(kept, kept.end()));
               for (const int64_t pin : kept)
                 expect(lowest <= pin, "a pin that was held is passed over");
               expect(lowest == Pins::kNone || started_.contains(lowest),
                      "a pin that nobody holds holds things up");
             }}};
  }
  void hold(int64_t revision) {
    Pin pin;
    started_.insert(revision);
    pins_.pin(pin, revision, UINT64_MAX);
    held_.insert(revision);
    yield_point("holding");
    held_.erase(revision);
    pin.unpin();
  }
  void check() override {
    expect(pins_.count() == 0, "a pin was left behind");
    expect(pins_.lowest(1) == Pins::kNone, "a pin that is gone is still the lowest");
  }

  Pins pins_;
  std::set<int64_t> held_, started_;
};

// A pin whose deadline has passed is lost once, whoever lets go of it meanwhile.
class LostPin final : public Scene {
  std::vector<Operation> operations() override {
    return {{"late pin",
             [this] {
               Pin pin;
               pins_.pin(pin, 2, 100);
               pin.unpin();
               pins_.pin(pin, 3, UINT64_MAX);
               expect(pin.holds(), "a new pin begins lost");
             }},
            {"other pin",
             [this] {
               Pin pin;
               pins_.pin(pin, 4, UINT64_MAX);
               expect(pin.holds(), "a pin without a deadline was lost");
             }},
            {"lowest", [this] {
               const int64_t lowest = pins_.lowest(200);
               expect(lowest != 2, "a pin outlives its deadline");
             }}};
  }
  void check() override { expect(pins_.count() == 0, "a pin was left behind"); }

  Pins pins_;
};

template <typename T>
Case scene(const char* name) {
  return {name, [] { return std::make_unique<T>(); }};
}

}  // namespace

std::vector<Case> index_cases() {
  return {scene<BatchAndReads>("index.batch-and-two-reads"),
          scene<TwoBatches>("index.two-batches-and-a-read"),
          scene<CompactAndRead>("index.compact-and-read"),
          scene<CompactAndOldRead>("index.compact-and-two-old-reads"),
          scene<Deadline>("index.compact-and-a-late-read"),
          scene<ThreePins>("index.three-pins"),
          scene<LostPin>("index.a-pin-is-lost")};
}

}  // namespace quorate::interleave
