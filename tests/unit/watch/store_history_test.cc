// SPDX-License-Identifier: Apache-2.0
#include "watch/store_history.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "support/test_engine.h"

namespace quorate::watch {
namespace {

// A store with one change a batch, and the two histories over it.
struct StoreBench {
  test::TestEngineDisk disk;
  std::unique_ptr<mvcc::Store> store;
  raft::Index index = 0;

  StoreBench() {
    storage::OpenedEngine opened;
    opened.engine = std::make_shared<storage::Engine>(*disk.open(), 1, 1);
    opened.is_new = true;
    auto made = mvcc::Store::open(opened, [](Slice, int64_t) {});
    REQUIRE(made.status().ok());
    store = *std::move(made);
  }
  void put(Slice key, Slice value) {
    store->begin_batch();
    mvcc::WriteTxn txn = store->begin();
    txn.put(key, value, 0);
    txn.end();
    store->end_batch({1, ++index});
  }
  void remove(Slice key) {
    store->begin_batch();
    mvcc::WriteTxn txn = store->begin();
    std::vector<mvcc::Deleted> deleted;
    txn.delete_range(KeyRange::from_client(key, {}), &deleted);
    txn.end();
    store->end_batch({1, ++index});
  }
  // swept: what it drops is gone already.
  void compact(int64_t revision, bool swept) {
    store->begin_batch();
    store->compact(revision);
    store->end_batch({1, ++index});
    while (swept && store->sweep(0, 1000)) {
    }
  }
};

CatchUpResult caught_up(History& history, const std::string& key, int64_t from, int64_t to) {
  WatchSpec spec;
  spec.key = key;
  spec.prev_kv = true;
  return catch_up(history, {1, 2, 3, from, to, std::make_shared<const WatchSpec>(spec)});
}

TEST_CASE("the pool and the apply loop read the same past", "[watch]") {
  StoreBench bench;
  bench.put("a", "1");
  bench.put("b", "1");
  bench.put("a", "2");
  bench.remove("a");
  ReadHistory pool(bench.store->read_source(), UINT64_MAX);
  ApplyHistory own(bench.store.get());
  const CatchUpResult one = caught_up(pool, "a", 2, 5);
  const CatchUpResult two = caught_up(own, "a", 2, 5);
  REQUIRE(one.status.ok());
  REQUIRE(one.events.size() == 3);
  CHECK(one.events == two.events);
  CHECK(one.next == 6);
  CHECK(one.read_revision == 5);
  // The tombstone's event: type, the key with its revision, the pair before.
  CHECK(one.events[2].slice().substr(0, 9) == Slice("\x08\x01\x12\x05\x0a\x01\x61\x18\x05", 9));
  CHECK(one.events[2].size() > 9);
}

TEST_CASE("a live change brings the pair that it replaced", "[watch]") {
  StoreBench bench;
  bench.put("a", "1");
  bench.put("a", "2");
  ApplyHistory own(bench.store.get());
  const auto changes = bench.store->changes();
  REQUIRE(changes.size() == 1);
  const auto previous = own.previous(changes[0]);
  REQUIRE(previous.has_value());
  CHECK(previous->find("1") != Slice::npos);
}

TEST_CASE("what is below the compact revision is gone, what is at it is not", "[watch]") {
  StoreBench bench;
  for (const char* value : {"1", "2", "3", "4"}) bench.put("a", value);  // revisions 2 to 5
  bench.compact(4, GENERATE(false, true));
  ReadHistory pool(bench.store->read_source(), UINT64_MAX);
  const CatchUpResult below = caught_up(pool, "a", 3, 5);
  CHECK(below.status.code() == Code::kCompacted);
  CHECK(below.compact_revision == 4);
  CHECK(below.events.empty());
  const CatchUpResult at = caught_up(pool, "a", 4, 5);
  REQUIRE(at.status.ok());
  REQUIRE(at.events.size() == 2);
  // The pair before revision 4 is compacted, that before 5 is not.
  CHECK(at.events[0].slice().find('\x1a') == Slice::npos);
  CHECK(at.events[1].slice().find('\x1a') != Slice::npos);
}

TEST_CASE("a long past comes in pieces of whole revisions", "[watch]") {
  StoreBench bench;
  for (int i = 0; i < 1500; ++i) bench.put("a", "x");
  ReadHistory pool(bench.store->read_source(), UINT64_MAX);
  const CatchUpResult first = caught_up(pool, "a", 2, 1501);
  CHECK(first.events.size() == kCatchUpRevisionsMax);
  CHECK(first.next == 1002);
  const CatchUpResult second = caught_up(pool, "a", first.next, 1501);
  CHECK(second.events.size() == 500);
  CHECK(second.next == 1502);
}

}  // namespace
}  // namespace quorate::watch
