// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>

#include "mvcc/hash.h"
#include "unit/mvcc/store_fixture.h"

namespace quorate::mvcc {
namespace {

// Reads whole ranges and histories for as long as the writer goes on. Every transaction of the
// writer puts all keys with one value, so whoever sees two values in one range saw half a batch.
class ReaderJob final : public Job {
 public:
  ReaderJob(ReadSource source, std::atomic<bool>& stop, std::atomic<int>& wrong,
            std::atomic<int>& reads)
      : source_(source), stop_(stop), wrong_(wrong), reads_(reads) {}

  Next step() override {
    check_range();
    check_history();
    return stop_ ? Next::kDone : Next::kMore;
  }

 private:
  void check_range() {
    ReadTxn txn(source_);
    if (!txn.begin(0, kNever).ok()) return fail();
    RangeQuery query;
    query.range = kAllKeys;
    RangeScan scan = txn.scan(query);
    std::string runs;
    for (bool done = false; !done;) {
      Result<bool> stepped = txn.step(scan, runs, 100);
      if (!stepped) return fail();
      done = *stepped;
      txn.rest();
    }
    std::vector<Record> records;
    if (!StoreFixture::parse_runs(runs, records)) return fail();
    for (const Record& record : records)
      if (record.value != records.front().value || record.mod_revision != txn.at()) fail();
    ++reads_;
  }
  void check_history() {
    ReadTxn txn(source_);
    const int64_t from = std::max<int64_t>(source_.stores->get()->index.published() - 5, 1);
    // Compacted meanwhile is an answer too.
    if (!txn.begin(from, kNever).ok()) return;
    Revision resume{from + 1, 0}, last{from, UINT32_MAX};
    for (bool more = true; more;) {
      Result<bool> result =
          txn.history(resume, txn.current(), 7, [&](Revision revision, bool, Slice) {
            const bool follows = revision == Revision{last.main, last.sub + 1} ||
                                 revision == Revision{last.main + 1, 0};
            if (!follows) fail();
            last = revision;
            return true;
          });
      if (!result) return fail();
      more = *result;
    }
    if (last.main != txn.current()) fail();
  }
  void fail() { ++wrong_; }

  const ReadSource source_;
  std::atomic<bool>& stop_;
  std::atomic<int>& wrong_;
  std::atomic<int>& reads_;
};

TEST_CASE_METHOD(StoreFixture, "readers see whole batches while apply writes, freezes and sweeps",
                 "[mvcc][threads]") {
  const std::unique_ptr<Env> env = make_posix_env();
  const std::unique_ptr<Pool> pool = env->make_pool("reader", 2);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, reads{0};
  const auto put_all = [&](int round) {
    txn([&](WriteTxn& txn) {
      for (char key = 'a'; key < 'i'; ++key) txn.put(Slice(&key, 1), std::to_string(round), 0);
    });
  };
  put_all(0);
  for (int i = 0; i < 2; ++i)
    pool->submit(std::make_unique<ReaderJob>(store->read_source(), stop, wrong, reads));
  for (int round = 1; round <= 600 || reads < 50; ++round) {
    put_all(round);
    if (round % 3 == 0 && frozen == nullptr) freeze();
    if (round % 3 == 1 && frozen != nullptr) commit();
    if (round % 50 == 0) compact(store->revision() - 20);
    store->sweep(0, 3);
  }
  stop = true;
  pool->stop();
  CHECK(wrong == 0);
  CHECK(reads >= 50);
}

}  // namespace
}  // namespace quorate::mvcc
