// SPDX-License-Identifier: Apache-2.0
#include "mvcc/index.h"

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <set>

#include "base/random.h"

namespace quorate::mvcc {
namespace {

constexpr uint64_t kNever = UINT64_MAX;

TEST_CASE("the pins' lowest is the lowest of those that are held", "[mvcc]") {
  Pins pins;
  CHECK(pins.lowest(0) == Pins::kNone);
  Pin a, b, c;
  pins.pin(a, 7, kNever);
  pins.pin(b, 3, kNever);
  pins.pin(c, 5, kNever);
  CHECK(pins.lowest(0) == 3);
  b.unpin();
  CHECK(pins.lowest(0) == 5);
  a.unpin();
  c.unpin();
  CHECK(pins.count() == 0);
}

TEST_CASE("a pin is lost once its deadline has passed and somebody looks", "[mvcc]") {
  Pins pins;
  Pin late, longer;
  pins.pin(late, 3, 100);
  pins.pin(longer, 4, 200);
  CHECK(pins.lowest(100) == 3);
  CHECK(late.holds());
  CHECK(pins.lowest(101) == 4);
  CHECK_FALSE(late.holds());
  late.unpin();
  CHECK(pins.count() == 1);
  pins.pin(late, 9, 300);
  CHECK(late.holds());
}

TEST_CASE("pins in any order are a multiset", "[mvcc]") {
  Pins pins;
  Random random(1);
  std::vector<std::unique_ptr<Pin>> held;
  std::multiset<int64_t> model;
  for (int i = 0; i < 20'000; ++i) {
    if (held.empty() || random.below(20) < 11) {
      held.push_back(std::make_unique<Pin>());
      pins.pin(*held.back(), static_cast<int64_t>(random.below(50)), kNever);
      model.insert(held.back()->revision());
    } else {
      const size_t at = random.below(held.size());
      model.erase(model.find(held[at]->revision()));
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    }
    REQUIRE(pins.lowest(0) == (model.empty() ? Pins::kNone : *model.begin()));
  }
}

std::vector<Dropped> swept(Index& index, int64_t at) {
  std::vector<Dropped> dropped;
  std::string cursor;
  while (!index.sweep(at, cursor, 1, dropped)) {
  }
  return dropped;
}

// k: put at 2, put at 4, deleted at 6, put at 8.
void fill(Index& index) {
  index.lock();
  index.put("k", {2, 0}, 0);
  index.put("k", {4, 0}, 5);
  std::vector<KeyIndex*> live;
  index.live_own(KeyRange::from_client("k", {}), live);
  index.tombstone(live.at(0), {6, 0});
  index.put("k", {8, 0}, 0);
  index.set_compacted(8);
  index.unlock(8);
}

TEST_CASE("a key's generations say when it was there", "[mvcc]") {
  Index index;
  fill(index);
  CHECK(index.newest("k", 1).revision.none());
  CHECK(index.newest("k", 3) == Dropped{{2, 0}, false});
  CHECK(index.newest("k", 4) == Dropped{{4, 0}, false});
  CHECK(index.newest("k", 7) == Dropped{{6, 0}, true});
  CHECK(index.find_own("k") == KeyMeta{{8, 0}, 8, 1, 0});
  CHECK_FALSE(index.find_own("j").exists());
}

TEST_CASE("a compaction keeps the newest put at its revision", "[mvcc]") {
  Index index;
  fill(index);
  CHECK(swept(index, 3).empty());
  CHECK(swept(index, 4) == std::vector<Dropped>{{{2, 0}, false}});
  CHECK(index.newest("k", 5).revision == Revision{4, 0});
}

TEST_CASE("a tombstone exactly at the compact revision stays until the next compaction", "[mvcc]") {
  Index index;
  fill(index);
  CHECK(swept(index, 6) == std::vector<Dropped>{{{2, 0}, false}, {{4, 0}, false}});
  CHECK(index.newest("k", 6) == Dropped{{6, 0}, true});
  CHECK(swept(index, 7) == std::vector<Dropped>{{{6, 0}, true}});
  CHECK(index.newest("k", 7).revision.none());
}

TEST_CASE("a key whose tombstone is swept leaves the index", "[mvcc]") {
  Index index;
  index.lock();
  index.put("gone", {2, 0}, 0);
  index.put("here", {2, 1}, 0);
  std::vector<KeyIndex*> live;
  index.live_own(KeyRange::from_client("gone", {}), live);
  index.tombstone(live.at(0), {3, 0});
  index.set_compacted(4);
  index.unlock(4);
  CHECK(swept(index, 4).size() == 2);
  CHECK(index.keys() == 1);
}

TEST_CASE("a read picks its revision and pins it, or is refused", "[mvcc]") {
  Index index;
  fill(index);
  Pin pin;
  CHECK(index.begin_read(pin, 9, kNever).error().code() == Code::kFutureRevision);
  CHECK(index.begin_read(pin, 7, kNever).error().code() == Code::kCompacted);
  CHECK_FALSE(pin.pinned());
  CHECK(index.begin_read(pin, 0, kNever)->at == 8);
  CHECK(index.sweep_limit(0) == 7);
  pin.unpin();
  CHECK(index.begin_read(pin, -4, kNever, Index::Protect::kHistory)->at == 8);
  CHECK(index.sweep_limit(0) == 8);
}

// The index against a map from key to its history.
class Model {
 public:
  struct Step {
    Revision revision;
    bool tombstone;
    int64_t create, version, lease;
  };
  using Keys = std::map<std::string, std::vector<Step>>;

  explicit Model(uint64_t seed) : random_(seed), index_(std::make_unique<Index>()) {}

  void step() {
    const uint64_t dice = random_.below(100);
    if (dice < 50) return put();
    if (dice < 65) return erase();
    if (dice < 90) return check_range();
    if (dice < 96) return check_key();
    if (dice < 98) return compact();
    if (random_.one_in(20)) reload();
  }

 private:
  std::string any_key() { return std::to_string(random_.below(300)); }
  int64_t any_revision() {
    const auto span = static_cast<uint64_t>(revision_ - std::max<int64_t>(compacted_, 0) + 1);
    return std::max<int64_t>(compacted_, 0) + static_cast<int64_t>(random_.below(span));
  }
  void put() {
    const std::string key = any_key();
    const auto lease = static_cast<int64_t>(random_.below(3));
    std::vector<Step>& steps = keys_[key];
    const bool alive = !steps.empty() && !steps.back().tombstone;
    const Revision revision{++revision_, static_cast<uint32_t>(random_.below(3))};
    index_->lock();
    const KeyMeta before = index_->put(key, revision, lease);
    index_->unlock(revision_);
    CHECK(before.exists() == alive);
    if (alive) {
      CHECK(before == KeyMeta{steps.back().revision, steps.back().create, steps.back().version,
                              steps.back().lease});
      steps.push_back({revision, false, before.create_revision, before.version + 1, lease});
    } else {
      steps.push_back({revision, false, revision.main, 1, lease});
    }
  }
  void erase() {
    const std::string from = any_key(), to = any_key();
    std::vector<KeyIndex*> victims;
    index_->live_own(KeyRange::from_client(from, to), victims);
    std::vector<std::string> expected;
    for (auto& [key, steps] : keys_)
      if (key >= from && key < to && !steps.back().tombstone) expected.push_back(key);
    REQUIRE(victims.size() == expected.size());
    if (victims.size() > 20) return;
    ++revision_;
    index_->lock();
    for (uint32_t sub = 0; sub < victims.size(); ++sub) {
      REQUIRE(victims[sub]->key() == expected[sub]);
      index_->tombstone(victims[sub], {revision_, sub});
      keys_[expected[sub]].push_back({{revision_, sub}, true, 0, 0, 0});
    }
    index_->unlock(revision_);
  }
  static const Step* newest(const std::vector<Step>& steps, int64_t at) {
    const Step* found = nullptr;
    for (const Step& step : steps)
      if (step.revision.main <= at) found = &step;
    return found;
  }
  void check_range() {
    const std::string from = any_key(), to = random_.one_in(5) ? std::string(1, '\0') : any_key();
    const KeyRange range = KeyRange::from_client(from, to);
    const int64_t at = any_revision();
    std::vector<Revision> expected;
    for (const auto& [key, steps] : keys_) {
      const Step* step = newest(steps, at);
      if (key >= from && (range.open || key < to) && step && !step->tombstone)
        expected.push_back(step->revision);
    }
    std::vector<Revision> seen;
    std::string cursor;
    int64_t count = 0;
    while (!index_->slice(range, at, cursor, 1 + random_.below(40), &seen, count, false)) {
    }
    REQUIRE(seen == expected);
    REQUIRE(count == static_cast<int64_t>(expected.size()));
  }
  void check_key() {
    const std::string key = any_key();
    const int64_t at = any_revision();
    const auto found = keys_.find(key);
    const Step* step = found == keys_.end() ? nullptr : newest(found->second, at);
    const Dropped newest = index_->newest(key, at);
    REQUIRE(newest.revision == (step ? step->revision : Revision{}));
    REQUIRE(newest.tombstone == (step && step->tombstone));
  }
  void compact() {
    const int64_t at = any_revision();
    if (at <= compacted_) return;
    compacted_ = at;
    index_->lock();
    index_->set_compacted(at);
    index_->unlock(revision_);
    std::vector<Dropped> dropped, expected;
    std::string cursor;
    while (!index_->sweep(at, cursor, 1 + random_.below(50), dropped)) {
    }
    for (auto at_key = keys_.begin(); at_key != keys_.end();) {
      std::vector<Step> kept;
      const Step* last = newest(at_key->second, at);
      for (const Step& step : at_key->second) {
        const bool keep = step.revision.main > at ||
                          (&step == last && (!step.tombstone || step.revision.main == at));
        if (keep) kept.push_back(step);
        if (!keep) expected.push_back({step.revision, step.tombstone});
      }
      at_key->second = kept;
      at_key = kept.empty() ? keys_.erase(at_key) : std::next(at_key);
    }
    REQUIRE(dropped == expected);
    REQUIRE(index_->keys() == keys_.size());
  }
  void reload() {
    std::vector<Index::Loaded> records;
    for (const auto& [key, steps] : keys_)
      for (const Step& step : steps)
        records.push_back(
            {key, step.revision, step.tombstone, step.create, step.version, step.lease});
    std::sort(records.begin(), records.end(),
              [](const auto& a, const auto& b) { return a.revision < b.revision; });
    index_ = std::make_unique<Index>();
    index_->load(records, revision_, compacted_);
    std::map<std::string, int64_t> leased, expected;
    index_->leased_keys([&](Slice key, int64_t lease) { leased[std::string(key)] = lease; });
    for (const auto& [key, steps] : keys_)
      if (steps.back().lease != 0) expected[key] = steps.back().lease;
    REQUIRE(leased == expected);
  }

  Random random_;
  std::unique_ptr<Index> index_;
  Keys keys_;
  int64_t revision_ = 1;
  int64_t compacted_ = kNeverCompacted;
};

TEST_CASE("the index answers as a sorted map of histories does, over 100,000 operations",
          "[mvcc]") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    INFO("seed " << seed);
    Model model(seed);
    for (int i = 0; i < 20'000; ++i) model.step();
  }
}

}  // namespace
}  // namespace quorate::mvcc
