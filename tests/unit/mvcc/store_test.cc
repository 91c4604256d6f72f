// SPDX-License-Identifier: Apache-2.0
#include "mvcc/store.h"

#include <catch2/catch.hpp>

#include "mvcc/hash.h"
#include "unit/mvcc/store_fixture.h"

namespace quorate::mvcc {
namespace {

TEST_CASE_METHOD(StoreFixture, "a new store stands at revision 1 and was never compacted",
                 "[mvcc]") {
  CHECK(store->revision() == 1);
  CHECK(store->compact_revision() == -1);
  CHECK(range(kAllKeys).empty());
  CHECK(store->check_compact(0).ok());
}

TEST_CASE_METHOD(StoreFixture, "a put counts versions and keeps the create revision", "[mvcc]") {
  CHECK(put("k", "a") == 2);
  CHECK(put("k", "b", 9) == 3);
  CHECK(store->find("k") == KeyMeta{{3, 0}, 2, 2, 9});
  const Record record = parse_record(store->read({3, 0}).value()).value();
  CHECK(record == Record{"k", 2, 3, 2, "b", 9});
  erase("k");
  CHECK_FALSE(store->find("k").exists());
  CHECK(put("k", "c") == 5);
  CHECK(store->find("k") == KeyMeta{{5, 0}, 5, 1, 0});
}

TEST_CASE_METHOD(StoreFixture, "a transaction has one revision and sees its own writes", "[mvcc]") {
  put("a", "1");
  const int64_t revision = txn([&](WriteTxn& txn) {
    CHECK(txn.revision() == 2);
    CHECK(txn.put("b", "2", 0) == KeyMeta{});
    CHECK(txn.revision() == 3);
    std::vector<Deleted> deleted;
    CHECK(txn.delete_range(KeyRange::from_client("a", {}), &deleted) == 1);
    CHECK(deleted.at(0).previous.revision == Revision{2, 0});
    std::string now, before;
    RangeQuery query;
    query.range = kAllKeys;
    CHECK(txn.range(query, 0, now)->count == 1);
    CHECK(text(now) == "b=2");
    CHECK(txn.range(query, 2, before)->count == 1);
    CHECK(text(before) == "a=1");
    CHECK_FALSE(txn.find("a").exists());
  });
  CHECK(revision == 3);
  REQUIRE(store->changes().size() == 2);
  CHECK(store->changes()[0].key == "b");
  CHECK(store->changes()[1].tombstone);
  CHECK(store->changes()[1].revision == Revision{3, 1});
  CHECK(store->changes()[1].previous == Revision{2, 0});
}

TEST_CASE_METHOD(StoreFixture, "a transaction that changes nothing makes no revision", "[mvcc]") {
  put("a", "1");
  CHECK(erase("nothing") == 2);
  CHECK(store->changes().empty());
  CHECK(store->revision() == 2);
}

TEST_CASE_METHOD(StoreFixture, "readers see a batch only when it has ended", "[mvcc]") {
  store->begin_batch();
  WriteTxn one = store->begin();
  std::string runs;
  one.end();
  ReadTxn before(store->read_source());
  REQUIRE(before.begin(0, kNever).ok());
  CHECK(before.current() == 1);
  WriteTxn two = store->begin();
  two.put("k", "v", 0);
  CHECK(two.end() == 2);
  store->end_batch({1, 1});
  CHECK_FALSE(before.get("k").value().has_value());
  CHECK(range(KeyRange::from_client("k", {})) == "k=v");
}

TEST_CASE_METHOD(StoreFixture, "old revisions are read from buffers and engine alike", "[mvcc]") {
  put("k", "1");
  flush();
  put("k", "2");
  freeze();
  put("k", "3");
  for (int round = 0; round < 2; ++round) {
    CHECK(range(KeyRange::from_client("k", {}), 2) == "k=1");
    CHECK(range(KeyRange::from_client("k", {}), 3) == "k=2");
    CHECK(range(KeyRange::from_client("k", {})) == "k=3");
    CHECK(range(KeyRange::from_client("k", {}), 1).empty());
    CHECK(range(KeyRange::from_client("k", {}), 5) == "future_revision");
    if (round == 0) commit();
  }
}

TEST_CASE_METHOD(StoreFixture, "limit cuts, more says so, count does not care", "[mvcc]") {
  for (const char* key : {"a", "b", "c", "d"}) put(key, key);
  RangeQuery query;
  query.range = KeyRange::from_client("b", kZero);
  query.limit = 2;
  CHECK(get(query) == "b=b c=c");
  CHECK(last.count == 3);
  CHECK(last.more);
  query.limit = 3;
  CHECK(get(query) == "b=b c=c d=d");
  CHECK_FALSE(last.more);
  query.count_only = true;
  CHECK(get(query).empty());
  CHECK(last.count == 3);
  CHECK_FALSE(last.more);
  CHECK(range(KeyRange::from_client("c", "a")).empty());
  CHECK(last.count == 0);
}

TEST_CASE_METHOD(StoreFixture, "ranges are sorted by every target, after the filters", "[mvcc]") {
  put("c", "1");
  put("a", "3");
  put("b", "2");
  put("c", "0");
  RangeQuery query;
  query.range = kAllKeys;
  query.sort_order = SortOrder::kDescend;
  CHECK(get(query) == "c=0 b=2 a=3");
  query.sort_target = SortTarget::kVersion;
  CHECK(get(query).substr(0, 3) == "c=0");
  query.sort_target = SortTarget::kCreate;
  CHECK(get(query) == "b=2 a=3 c=0");
  query.sort_order = SortOrder::kNone;
  query.sort_target = SortTarget::kMod;
  CHECK(get(query) == "a=3 b=2 c=0");
  query.sort_target = SortTarget::kValue;
  CHECK(get(query) == "c=0 b=2 a=3");
  query.max_mod_revision = 4;
  CHECK(get(query) == "b=2 a=3");
  CHECK(last.count == 3);
  query.min_create_revision = 4;
  query.limit = 1;
  CHECK(get(query) == "b=2");
  CHECK_FALSE(last.more);
}

TEST_CASE_METHOD(StoreFixture, "a target without an order and a limit sorts the first keys only",
                 "[mvcc]") {
  put("a", "9");
  put("b", "8");
  put("c", "7");
  put("d", "1");
  RangeQuery query;
  query.range = kAllKeys;
  query.sort_target = SortTarget::kValue;
  query.limit = 2;
  CHECK(get(query) == "c=7 b=8");
  CHECK(last.more);
  CHECK(last.count == 4);
}

TEST_CASE_METHOD(StoreFixture, "a pull goes on piece by piece, over a freeze and a compaction",
                 "[mvcc]") {
  for (char key = 'a'; key <= 'j'; ++key) put(Slice(&key, 1), std::string(100, key));
  RangeQuery query;
  query.range = kAllKeys;
  ReadTxn txn(store->read_source());
  REQUIRE(txn.begin(0, kNever).ok());
  std::string whole, pieces;
  CHECK(txn.range(query, whole, 500).error().code() == Code::kUseRangeOpen);
  RangeScan lengths = txn.scan(query, RangeScan::Want::kLengths);
  REQUIRE(txn.step(lengths, pieces, UINT64_MAX).value());
  CHECK(lengths.outcome().pairs == 10);
  CHECK(pieces.empty());
  RangeScan scan = txn.scan(query);
  for (bool done = false; !done;) {
    const size_t before = pieces.size();
    done = txn.step(scan, pieces, 300).value();
    CHECK(pieces.size() - before <= 300);
    erase(Slice(pieces.data() + 4, 1));
    flush();
    if (store->check_compact(store->revision()).ok()) compact(store->revision());
    sweep();
    txn.rest();
  }
  CHECK(pieces.size() == lengths.outcome().kv_bytes);
  CHECK(records(pieces).size() == 10);
}

TEST_CASE_METHOD(StoreFixture, "a record larger than the credit still comes, alone", "[mvcc]") {
  put("a", std::string(1000, 'a'));
  put("b", std::string(1000, 'b'));
  RangeQuery query;
  query.range = kAllKeys;
  ReadTxn txn(store->read_source());
  REQUIRE(txn.begin(0, kNever).ok());
  RangeScan scan = txn.scan(query);
  std::string out;
  CHECK_FALSE(txn.step(scan, out, 1).value());
  CHECK(records(out).size() == 1);
  CHECK(txn.step(scan, out, 1).value());
  CHECK(records(out).size() == 2);
}

TEST_CASE_METHOD(StoreFixture, "a compaction refuses older reads and drops what nobody needs",
                 "[mvcc]") {
  put("k", "1");
  put("k", "2");
  put("k", "3");
  flush();
  compact(3);
  CHECK(range(KeyRange::from_client("k", {}), 2) == "compacted");
  CHECK(range(KeyRange::from_client("k", {}), 3) == "k=2");
  CHECK(store->check_compact(3).code() == Code::kCompacted);
  CHECK(store->check_compact(5).code() == Code::kFutureRevision);
  CHECK_FALSE(store->compaction_written());
  sweep();
  CHECK_FALSE(store->compaction_written());  // it is not the engine's yet
  flush();
  CHECK(disk.content()->at(number(storage::Bucket::kKey)).size() == 2);
  CHECK(store->applied().compact_finished == 3);
  CHECK(store->compaction_written());
  crash();
  CHECK(store->compact_revision() == 3);
  CHECK(store->compaction_written());
  CHECK(range(KeyRange::from_client("k", {}), 2) == "compacted");
}

TEST_CASE_METHOD(StoreFixture, "a pin holds back the sweep, and its deadline lets it go",
                 "[mvcc]") {
  put("k", "1");
  put("k", "2");
  ReadTxn txn(store->read_source());
  REQUIRE(txn.begin(2, 100).ok());
  compact(3);
  sweep();
  CHECK(store->applied().compact_finished == 1);
  CHECK(txn.get("k").value().has_value());
  CHECK_FALSE(store->sweep(101, 100));
  CHECK(store->applied().compact_finished == 3);
  CHECK(txn.get("k").status().code() == Code::kTimeout);
}

TEST_CASE_METHOD(StoreFixture, "a compaction that a crash cut is run again", "[mvcc]") {
  put("k", "1");
  put("k", "2");
  compact(3);
  flush();
  crash();
  CHECK(store->applied().compact_scheduled == 3);
  CHECK(store->applied().compact_finished == -1);
  sweep();
  flush();
  CHECK(disk.content()->at(number(storage::Bucket::kKey)).size() == 1);
}

TEST_CASE_METHOD(StoreFixture, "a restart finds revisions, leases and the applied entry",
                 "[mvcc]") {
  put("a", "1", 7);
  put("b", "2", 8);
  put("a", "3", 9);
  erase("b");
  store->begin_batch();
  store->put_small(storage::Bucket::kLease, "id", "ttl");
  store->set_conf_state({{1, 2}, {}, {}, {}, false});
  store->end_batch({4, ++index});
  const storage::Applied applied = store->applied();
  flush();
  crash();
  CHECK(store->applied() == applied);
  CHECK(store->revision() == 5);
  CHECK(leased == std::vector<std::pair<std::string, int64_t>>{{"a", 9}});
  CHECK(range(kAllKeys) == "a=3");
  CHECK(range(kAllKeys, 4) == "a=3 b=2");
  std::string small;
  REQUIRE(store
              ->scan_bucket(storage::Bucket::kLease,
                            [&](Slice key, Slice value) {
                              small += std::string(key) + "=" + std::string(value);
                            })
              .ok());
  CHECK(small == "id=ttl");
  CHECK(put("c", "4") == 6);
}

TEST_CASE_METHOD(StoreFixture, "a damaged record refuses the start with its revision", "[mvcc]") {
  put("k", "v");
  flush();
  store.reset();
  disk.tamper(storage::Bucket::kKey, std::string(storage::RecordKey({2, 0}, false).slice()),
              "\x0b");
  storage::OpenedEngine opened;
  opened.engine = engine;
  const auto result = Store::open(opened, nullptr);
  CHECK_THAT(result.status().to_string(), Catch::Contains("revision 2/0"));
}

TEST_CASE_METHOD(StoreFixture, "a lost record is an error, not an empty answer", "[mvcc]") {
  put("k", "v");
  flush();
  auto lost = std::make_shared<test::TestEngineDisk::Buckets>(*disk.content());
  lost->at(number(storage::Bucket::kKey)).clear();
  disk.set_content(lost);
  engine->drop_idle_views();
  ReadTxn txn(store->read_source());
  REQUIRE(txn.begin(0, kNever).ok());
  CHECK(txn.get("k").status().code() == Code::kCorrupt);
}

TEST_CASE_METHOD(StoreFixture, "the state hash hangs on the changes, not on freezes", "[mvcc]") {
  StoreFixture other;
  for (StoreFixture* one : {static_cast<StoreFixture*>(this), &other}) {
    one->put("a", "1");
    if (one == &other) one->flush();
    one->put("b", "2", 5);
    one->erase("a");
    one->compact(3);
    if (one == &other) one->sweep();
  }
  CHECK(store->applied().state_hash == other.store->applied().state_hash);
  put("a", "1");
  other.put("a", "2");
  CHECK(store->applied().state_hash != other.store->applied().state_hash);
}

TEST_CASE_METHOD(StoreFixture, "a freeze is due after a while with changes, later without",
                 "[mvcc]") {
  CHECK(store->freeze_due_in_ns(5) == UINT64_MAX);
  txn([](WriteTxn&) {});
  CHECK(store->freeze_due_in_ns(5) == kIdleFreezeAfterNs);
  put("k", "v");
  CHECK(store->freeze_due_in_ns(10) == kFreezeAfterNs);
  CHECK(store->freeze_due_in_ns(10 + kFreezeAfterNs) == 0);
  freeze();
  put("k", "v");
  CHECK(store->freeze_due_in_ns(20) == UINT64_MAX);
  commit();
  CHECK(store->freeze_due_in_ns(20) == kFreezeAfterNs);
  flush();
  index += kIdleFreezeEntries;
  txn([](WriteTxn&) {});
  CHECK(store->freeze_due_in_ns(30) == 0);
}

TEST_CASE_METHOD(StoreFixture, "history comes in order from engine and buffers, and resumes",
                 "[mvcc]") {
  put("a", "1");
  put("b", "2");
  flush();
  erase("a");
  freeze();
  put("b", "3");
  ReadTxn txn(store->read_source());
  REQUIRE(txn.begin(3, kNever).ok());
  Revision resume{3, 0};
  std::string seen;
  for (bool more = true; more;) {
    more = txn.history(resume, 5, 1,
                       [&](Revision revision, bool tombstone, Slice record) {
                         seen += std::to_string(revision.main) + (tombstone ? "-" : "+") +
                                 std::string(parse_record(record)->key) + " ";
                         return true;
                       })
               .value();
  }
  CHECK(seen == "3+b 4-a 5+b ");
  CHECK(parse_record(**txn.before("b", 5)).value().value == "2");
  CHECK_FALSE(txn.before("b", 3).value().has_value());
}

uint32_t hash_kv(Store& store, int64_t revision) {
  HashKv hash(store.read_source());
  REQUIRE(hash.begin(revision, kNever).ok());
  while (!hash.step().value()) {
  }
  CHECK(hash.result().compact_revision == store.compact_revision());
  return hash.result().hash;
}

TEST_CASE_METHOD(StoreFixture, "HashKV is the same before, during and after a sweep", "[mvcc]") {
  put("a", "1");
  put("b", "1");
  put("a", "2");
  erase("b");
  put("c", "1");
  compact(5);
  const uint32_t before = hash_kv(*store, 6);
  CHECK(hash_kv(*store, 0) == before);
  store->sweep(0, 1);
  CHECK(hash_kv(*store, 6) == before);
  sweep();
  CHECK(hash_kv(*store, 6) == before);
  flush();
  crash();
  CHECK(hash_kv(*store, 6) == before);
  put("a", "3");
  CHECK(hash_kv(*store, 0) != before);
  CHECK(hash_kv(*store, 6) == before);
}

}  // namespace
}  // namespace quorate::mvcc
