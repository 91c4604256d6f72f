// SPDX-License-Identifier: Apache-2.0
// A store on the test engine, with the verbs of apply and commit.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mvcc/store.h"
#include "support/test_engine.h"

namespace quorate::mvcc {

constexpr uint64_t kNever = UINT64_MAX;
constexpr Slice kZero("\0", 1);
const KeyRange kAllKeys = KeyRange::from_client(kZero, kZero);

class StoreFixture {
 public:
  StoreFixture() { open(); }

  void open() {
    storage::OpenedEngine opened;
    opened.engine = engine = std::make_shared<storage::Engine>(*disk.open(), 1, ++epoch);
    const auto& meta = disk.content()->at(number(storage::Bucket::kMeta));
    opened.is_new = !meta.contains("applied");
    if (!opened.is_new) opened.applied = storage::decode_applied(meta.at("applied")).value();
    opened.durable = opened.applied.entry.index;
    leased.clear();
    Result<std::unique_ptr<Store>> result =
        Store::open(opened, [&](Slice key, int64_t lease) { leased.emplace_back(key, lease); });
    REQUIRE(result.status().to_string() == "ok");
    store = *std::move(result);
    index = opened.applied.entry.index;
  }
  // What was not committed is lost.
  void crash() {
    frozen.reset();
    store.reset();
    open();
  }

  template <typename Work>
  int64_t txn(Work&& work) {
    store->begin_batch();
    WriteTxn txn = store->begin();
    work(txn);
    const int64_t revision = txn.end();
    store->end_batch({1, ++index});
    return revision;
  }
  int64_t put(Slice key, Slice value, int64_t lease = 0) {
    return txn([&](WriteTxn& txn) { txn.put(key, value, lease); });
  }
  int64_t erase(Slice key, Slice end = {}) {
    return txn([&](WriteTxn& txn) { txn.delete_range(KeyRange::from_client(key, end), nullptr); });
  }
  void compact(int64_t revision) {
    store->begin_batch();
    REQUIRE(store->check_compact(revision).ok());
    store->compact(revision);
    store->end_batch({1, ++index});
  }
  void sweep() {
    while (store->sweep(0, 3)) {
    }
  }
  void freeze() { frozen = store->freeze(); }
  void commit() {
    REQUIRE(engine->write(frozen->ops(), frozen->batch()).ok());
    store->commit_done({epoch, frozen->batch(), index, index});
    frozen.reset();
  }
  void flush() {
    freeze();
    commit();
  }

  // "k=v k2=v2" of a range at `revision`, or the code's name.
  std::string get(const RangeQuery& query, int64_t revision = 0) {
    ReadTxn txn(store->read_source());
    if (Status status = txn.begin(revision, kNever); !status.ok())
      return std::string(code_name(status.code()));
    std::string runs;
    const Result<RangeOutcome> outcome = txn.range(query, runs, UINT64_MAX);
    REQUIRE(outcome.status().to_string() == "ok");
    CHECK(outcome->kv_bytes == runs.size());
    last = *outcome;
    return text(runs);
  }
  std::string range(const KeyRange& keys, int64_t revision = 0) {
    RangeQuery query;
    query.range = keys;
    return get(query, revision);
  }

  static std::vector<Record> records(Slice runs) {
    std::vector<Record> records;
    REQUIRE(parse_runs(runs, records));
    return records;
  }
  // Without an assertion, for threads other than the test's.
  static bool parse_runs(Slice runs, std::vector<Record>& records) {
    while (!runs.empty()) {
      const char tag = runs.front();
      runs.remove_prefix(1);
      uint64_t size = 0;
      Slice bytes;
      if (tag != kRangeTag || !take_varint(runs, size) || !take_bytes(runs, size, bytes))
        return false;
      Result<Record> record = parse_record(bytes);
      if (!record) return false;
      records.push_back(*record);
    }
    return true;
  }
  static std::string text(Slice runs) {
    std::string text;
    for (const Record& record : records(runs)) {
      if (!text.empty()) text += ' ';
      text += std::string(record.key) + "=" + std::string(record.value);
    }
    return text;
  }

  test::TestEngineDisk disk;
  uint64_t epoch = 0;
  std::shared_ptr<storage::Engine> engine;
  std::unique_ptr<Store> store;
  std::unique_ptr<storage::FrozenBuffer> frozen;
  raft::Index index = 0;
  RangeOutcome last;
  std::vector<std::pair<std::string, int64_t>> leased;
};

}  // namespace quorate::mvcc
