// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "base/crc32c.h"
#include "base/random.h"
#include "mvcc/hash.h"
#include "unit/mvcc/store_fixture.h"

namespace quorate::mvcc {
namespace {

// The store beside the simplest model of it: the whole state at every revision, and every change
// ever made.
class StoreModel {
 public:
  explicit StoreModel(uint64_t seed) : random_(seed) { now_.states.push_back({}); }

  void step() {
    switch (random_.below(16)) {
      case 0: return flush();
      case 1: return compact();
      case 2: fixture_.store->sweep(0, 1 + random_.below(5)); return;
      case 3:
        if (random_.one_in(6)) crash();
        return;
      case 4: return check_hash();
      case 5: return check_history();
      case 6:
      case 7:
      case 8:
      case 9: return check_range(random_revision());
      default: return write_batch();
    }
  }

 private:
  struct Value {
    std::string value;
    int64_t create, mod, version, lease;
    Revision revision;
  };
  using State = std::map<std::string, Value>;
  struct Logged {
    bool tombstone;
    std::string key, record;
  };
  struct History {
    std::vector<State> states;  // states[i]: at revision i + 1
    std::map<Revision, Logged> log;
    int64_t compacted = kNeverCompacted;
    int64_t revision() const { return static_cast<int64_t>(states.size()); }
    const State& at(int64_t revision) const { return states[static_cast<size_t>(revision - 1)]; }
  };

  std::string any_key() { return std::string(1, static_cast<char>('a' + random_.below(12))); }
  KeyRange any_range(std::string& from, std::string& to) {
    from = any_key();
    to = random_.one_in(4) ? "" : random_.one_in(4) ? std::string(1, '\0') : any_key();
    return KeyRange::from_client(from, to);
  }
  int64_t random_revision() {
    return static_cast<int64_t>(random_.below(static_cast<uint64_t>(now_.revision()) + 2));
  }

  void write_batch() {
    fixture_.store->begin_batch();
    for (uint64_t i = 1 + random_.below(3); i > 0; --i) write_txn();
    fixture_.store->end_batch({1, ++fixture_.index});
  }
  void write_txn() {
    WriteTxn txn = fixture_.store->begin();
    State next = now_.states.back();
    const int64_t revision = now_.revision() + 1;
    uint32_t sub = 0;
    std::string written;
    for (uint64_t i = 1 + random_.below(4); i > 0; --i) {
      if (random_.one_in(4)) {
        std::string from, to;
        const KeyRange range = any_range(from, to);
        std::vector<Deleted> deleted;
        txn.delete_range(range, &deleted);
        size_t at = 0;
        for (auto victim = next.begin(); victim != next.end();) {
          if (!range.contains(victim->first)) {
            ++victim;
            continue;
          }
          REQUIRE(at < deleted.size());
          REQUIRE(deleted[at].key == victim->first);
          REQUIRE(deleted[at].previous.revision == victim->second.revision);
          REQUIRE(deleted[at++].previous.lease == victim->second.lease);
          now_.log[{revision, sub++}] = {true, victim->first, encode_record({victim->first})};
          victim = next.erase(victim);
        }
        REQUIRE(at == deleted.size());
      } else {
        const std::string key = any_key();
        if (written.find(key) != std::string::npos) continue;
        written += key;
        const auto found = next.find(key);
        const auto lease = static_cast<int64_t>(random_.below(3));
        const std::string value(random_.below(30), static_cast<char>('A' + random_.below(26)));
        const KeyMeta before = txn.put(key, value, lease);
        REQUIRE(before.exists() == (found != next.end()));
        const int64_t create = found == next.end() ? revision : found->second.create;
        const int64_t version = found == next.end() ? 1 : found->second.version + 1;
        next[key] = {value, create, revision, version, lease, {revision, sub}};
        now_.log[{revision, sub++}] = {
            false, key, encode_record({key, create, revision, version, value, lease})};
      }
      check_own(txn, next);
    }
    const bool changed = sub > 0;
    if (changed) now_.states.push_back(next);
    REQUIRE(txn.end() == now_.revision());
  }
  void check_own(WriteTxn& txn, const State& state) {
    RangeQuery query;
    query.range = kAllKeys;
    std::string runs;
    REQUIRE(txn.range(query, 0, runs)->count == static_cast<int64_t>(state.size()));
    compare(runs, in_key_order(state, query.range));
  }

  using Row = std::pair<std::string, Value>;
  static std::vector<Row> in_key_order(const State& state, const KeyRange& range) {
    std::vector<Row> rows;
    for (const Row row : state)
      if (range.contains(row.first)) rows.push_back(row);
    return rows;
  }
  static void compare(const std::string& runs, const std::vector<Row>& rows) {
    const std::vector<Record> records = StoreFixture::records(runs);
    REQUIRE(records.size() == rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const Value& value = rows[i].second;
      REQUIRE(records[i] == Record{rows[i].first, value.create, value.mod, value.version,
                                   value.value, value.lease});
    }
  }

  void check_range(int64_t revision) {
    std::string from, to;
    RangeQuery query;
    query.range = any_range(from, to);
    query.limit = static_cast<int64_t>(random_.below(6)) - 1;
    query.sort_order = static_cast<SortOrder>(random_.below(3));
    query.sort_target = static_cast<SortTarget>(random_.below(5));
    query.count_only = random_.one_in(8);
    int64_t* const bounds[] = {&query.min_mod_revision, &query.max_mod_revision,
                               &query.min_create_revision, &query.max_create_revision};
    if (random_.one_in(3)) *bounds[random_.below(4)] = random_revision();

    ReadTxn txn(fixture_.store->read_source());
    const Status begun = txn.begin(revision, kNever);
    if (revision > now_.revision()) {
      REQUIRE(begun.code() == Code::kFutureRevision);
      return;
    }
    const int64_t at = revision == 0 ? now_.revision() : revision;
    if (at < now_.compacted) {
      REQUIRE(begun.code() == Code::kCompacted);
      return;
    }
    REQUIRE(begun.ok());
    REQUIRE(txn.current() == now_.revision());
    REQUIRE(txn.at() == at);

    std::string runs;
    RangeScan scan = txn.scan(query);
    for (bool done = false; !done;) done = txn.step(scan, runs, random_.below(80)).value();
    bool more = false;
    const std::vector<Row> expected = answer(now_.at(at), query, more);
    compare(runs, expected);
    REQUIRE(scan.outcome().more == more);
    REQUIRE(scan.outcome().pairs == expected.size());
    REQUIRE(scan.outcome().kv_bytes == runs.size());
    REQUIRE(scan.outcome().count ==
            static_cast<int64_t>(in_key_order(now_.at(at), query.range).size()));
  }
  // The rules of a range, said once more in the plainest way.
  static std::vector<Row> answer(const State& state, const RangeQuery& query, bool& more) {
    if (query.count_only) return {};
    std::vector<Row> rows = in_key_order(state, query.range);
    const auto limit = static_cast<size_t>(std::max<int64_t>(query.limit, 0));
    const bool whole = query.sort_order != SortOrder::kNone || query.filters();
    if (!whole && limit > 0 && rows.size() > limit + 1) rows.resize(limit + 1);
    std::erase_if(rows, [&](const Row& row) {
      const Value& v = row.second;
      return (query.min_mod_revision != 0 && v.mod < query.min_mod_revision) ||
             (query.max_mod_revision != 0 && v.mod > query.max_mod_revision) ||
             (query.min_create_revision != 0 && v.create < query.min_create_revision) ||
             (query.max_create_revision != 0 && v.create > query.max_create_revision);
    });
    const auto less = [&](const Row& a, const Row& b) {
      switch (query.sort_target) {
        case SortTarget::kVersion: return a.second.version < b.second.version;
        case SortTarget::kCreate: return a.second.create < b.second.create;
        case SortTarget::kMod: return a.second.mod < b.second.mod;
        case SortTarget::kValue: return a.second.value < b.second.value;
        default: return a.first < b.first;
      }
    };
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      return query.sort_order == SortOrder::kDescend ? less(b, a) : less(a, b);
    });
    more = limit > 0 && rows.size() > limit;
    if (more) rows.resize(limit);
    return rows;
  }

  void check_history() {
    const int64_t from = std::max<int64_t>({random_revision(), now_.compacted, 1});
    if (from > now_.revision()) return;
    ReadTxn txn(fixture_.store->read_source());
    REQUIRE(txn.begin(from, kNever).ok());
    auto expected = now_.log.lower_bound({from, 0});
    Revision resume{from, 0};
    for (bool more = true; more;) {
      more = txn.history(resume, now_.revision(), 1 + random_.below(4),
                         [&](Revision revision, bool tombstone, Slice record) {
                           // Exactly at the compact revision a swept put may be gone.
                           while (expected->first < revision && expected->first.main == from)
                             ++expected;
                           REQUIRE(expected->first == revision);
                           REQUIRE(expected->second.tombstone == tombstone);
                           REQUIRE(expected->second.record == record);
                           ++expected;
                           return true;
                         })
                 .value();
    }
    REQUIRE(expected == now_.log.end());
  }

  void check_hash() {
    const int64_t asked = random_revision();
    HashKv hash(fixture_.store->read_source());
    const Status begun = hash.begin(asked, kNever);
    if (!begun.ok()) {
      REQUIRE((asked > now_.revision() || asked < now_.compacted));
      return;
    }
    while (!hash.step().value()) {
      if (random_.one_in(2)) fixture_.store->sweep(0, 2);
    }
    const int64_t at = asked == 0 ? now_.revision() : asked;
    REQUIRE(hash.result().hash_revision == at);
    REQUIRE(hash.result().compact_revision == now_.compacted);
    REQUIRE(hash.result().hash == expected_hash(at));
  }
  uint32_t expected_hash(int64_t at) {
    uint32_t hash = crc32c("key");
    for (const auto& [revision, logged] : now_.log) {
      if (revision.main > at) break;
      if (revision.main <= now_.compacted) {
        const State& state = now_.at(now_.at(at).empty() ? now_.compacted : at);
        const auto found = state.find(logged.key);
        if (logged.tombstone || found == state.end() || found->second.revision != revision)
          continue;
      }
      hash = crc32c(storage::RecordKey(revision, logged.tombstone).slice(), hash);
      hash = crc32c(logged.record, hash);
    }
    return hash;
  }

  void compact() {
    const int64_t revision = random_revision();
    const Status allowed = fixture_.store->check_compact(revision);
    REQUIRE(allowed.ok() == (revision > now_.compacted && revision <= now_.revision()));
    if (!allowed.ok() || random_.one_in(2)) return;
    fixture_.compact(revision);
    now_.compacted = revision;
  }
  void flush() {
    if (fixture_.frozen != nullptr) {
      fixture_.commit();
      durable_ = frozen_;
      if (random_.one_in(2)) return;
    }
    fixture_.freeze();
    frozen_ = now_;
  }
  void crash() {
    if (durable_.states.empty()) return;
    fixture_.crash();
    now_ = durable_;
    REQUIRE(fixture_.store->revision() == now_.revision());
    REQUIRE(fixture_.store->compact_revision() == now_.compacted);
    for (int64_t at = std::max<int64_t>(now_.compacted, 1); at <= now_.revision(); ++at) {
      std::string runs;
      RangeQuery query;
      query.range = kAllKeys;
      ReadTxn txn(fixture_.store->read_source());
      REQUIRE(txn.begin(at, kNever).ok());
      REQUIRE(txn.range(query, runs, UINT64_MAX).has_value());
      compare(runs, in_key_order(now_.at(at), query.range));
    }
  }

  Random random_;
  StoreFixture fixture_;
  History now_, frozen_, durable_;
};

TEST_CASE("the store answers as a list of maps does, over compactions, freezes and crashes",
          "[mvcc]") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    StoreModel model(seed);
    for (int i = 0; i < 200; ++i) model.step();
  }
}

}  // namespace
}  // namespace quorate::mvcc
