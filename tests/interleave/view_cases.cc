// SPDX-License-Identifier: Apache-2.0
// The whole store: apply, the commit loop and readers, each with its part of what they share.
#include <map>
#include <string>

#include "cases.h"
#include "mvcc/store.h"
#include "support/test_engine.h"

namespace quorate::interleave {
namespace {

using mvcc::ReadTxn;
using mvcc::Store;

// One key, "k", which holds "v<revision>" at each revision, so a read is right if its value is that
// of the revision it began at.
class StoreScene : public Scene {
 protected:
  StoreScene() {
    open(1);
    put();  // 2
    flush();
    put();  // 3
  }
  void open(uint64_t epoch) {
    storage::OpenedEngine opened;
    engine = opened.engine = std::make_shared<storage::Engine>(*disk.open(), epoch, epoch);
    if (epoch > 1) {
      const auto& meta = disk.content()->at(number(storage::Bucket::kMeta));
      opened.applied = *storage::decode_applied(meta.at("applied"));
    }
    Result<std::unique_ptr<Store>> result = Store::open(opened, nullptr);
    if (!result) fail(result.error().to_string());
    store = *std::move(result);
  }

  // Apply.
  void put(int64_t compact_at = 0) {
    store->begin_batch();
    mvcc::WriteTxn txn = store->begin();
    const int64_t next = store->revision() + 1;
    txn.put("k", "v" + std::to_string(next), 0);
    txn.end();
    if (compact_at != 0) store->compact(compact_at);
    store->end_batch({1, ++index_});
    done_ = next;
  }
  void freeze() { frozen = store->freeze(); }
  // The commit loop, and apply when it hears of it.
  void write() {
    const Status status = engine->write(frozen->ops(), frozen->batch());
    if (!status.ok()) fail(status.to_string());
  }
  void commit_done() {
    store->commit_done({engine->epoch(), frozen->batch(), index_, index_});
    frozen.reset();
  }
  void flush() {
    freeze();
    write();
    commit_done();
  }
  void sweep() {
    while (store->sweep(1, 4)) {
    }
  }

  // A reader.
  void look(ReadTxn& txn) {
    const Result<std::optional<Slice>> found = txn.get("k");
    if (!found)
      fail("a read at revision " + std::to_string(txn.at()) +
           " failed: " + found.error().to_string());
    if (!found->has_value()) fail("the key is gone at revision " + std::to_string(txn.at()));
    const Result<mvcc::Record> record = mvcc::parse_record(**found);
    if (!record || record->value != "v" + std::to_string(txn.at()))
      fail("a read at revision " + std::to_string(txn.at()) + " got another's value");
  }
  void read(int64_t revision = 0, bool rests = true) {
    const int64_t done_before = done_;
    ReadTxn txn(store->read_source());
    const Status status = txn.begin(revision, UINT64_MAX);
    if (!status.ok()) {
      if (revision == 0 || status.code() != Code::kCompacted)
        fail("a read was refused: " + status.to_string());
      return;
    }
    expect(revision != 0 || txn.at() >= done_before, "a write that was answered is not read");
    look(txn);
    if (!rests) return;
    txn.rest();
    look(txn);
  }
  // All records from the first on, as a watcher that catches up reads them.
  void read_history() {
    ReadTxn txn(store->read_source());
    const Status status = txn.begin(0, UINT64_MAX, mvcc::Index::Protect::kHistory);
    expect(status.ok(), "a read of the history was refused");
    mvcc::Revision resume{txn.compacted() + 1, 0};
    int64_t next = std::max<int64_t>(resume.main, 2);
    const Result<bool> more =
        txn.history(resume, txn.at(), 100, [&](mvcc::Revision revision, bool, Slice) {
          if (revision.main != next)
            fail("the history leaps to revision " + std::to_string(revision.main) + " from " +
                 std::to_string(next));
          ++next;
          return true;
        });
    if (!more) fail(more.error().to_string());
    expect(next == txn.at() + 1, "the history ends early");
  }
  void check() override { read(); }

  test::TestEngineDisk disk;
  std::shared_ptr<storage::Engine> engine;
  std::unique_ptr<Store> store;
  std::unique_ptr<storage::FrozenBuffer> frozen;
  raft::Index index_ = 0;
  int64_t done_ = 0;
};

class FreezeAndRead final : public StoreScene {
  std::vector<Operation> operations() override {
    return {{"put, freeze, put",
             [this] {
               put();
               freeze();
               put();
             }},
            {"read", [this] { read(); }}};
  }
};

class CommitAndRead final : public StoreScene {
  std::vector<Operation> operations() override {
    return {{"freeze, commit, put",
             [this] {
               flush();
               put();
             }},
            {"read", [this] { read(); }}};
  }
};

// The commit loop writes while apply goes on.
class WriteBesideApply final : public StoreScene {
 public:
  WriteBesideApply() { freeze(); }
  std::vector<Operation> operations() override {
    return {
        {"write", [this] { write(); }}, {"put", [this] { put(); }}, {"read", [this] { read(); }}};
  }
};

// Engine views come from a pool, and go back to it.
class PooledViews final : public StoreScene {
  std::vector<Operation> operations() override {
    return {{"commit", [this] { flush(); }},
            {"read",
             [this] {
               read(2, false);
               read(0, false);
             }},
            {"read", [this] { read(0, false); }}};
  }
};

class CompactAndRead final : public StoreScene {
  std::vector<Operation> operations() override {
    return {{"compact, sweep, commit",
             [this] {
               put(4);
               sweep();
               flush();
             }},
            {"old read", [this] { read(3); }}};
  }
};

class CommitAndHistory final : public StoreScene {
  std::vector<Operation> operations() override {
    return {{"put, commit, put",
             [this] {
               put();
               flush();
               put();
             }},
            {"catch-up", [this] { read_history(); }}};
  }
};

// A snapshot's store takes the place of the old one, which readers may still hold.
class TakeOver final : public StoreScene {
 public:
  TakeOver() {
    flush();
    old_ = std::move(store);
    put_into_disk();
    std::swap(old_, store);  // readers begin on the old one
  }
  std::vector<Operation> operations() override {
    return {{"install",
             [this] {
               new_->take_over(*store);
               std::swap(store, new_);
               engine = new_engine_;
               put();
             }},
            {"reads", [this] { read_from(source_); }}};
  }

 private:
  void put_into_disk() {
    std::shared_ptr<storage::Engine> live = engine;
    open(2);
    put();  // 4, which the old store lacks
    new_ = std::move(store);
    new_engine_ = engine;
    engine = live;
    source_ = old_->read_source();
    done_ = 3;
  }
  void read_from(const mvcc::ReadSource& source) {
    ReadTxn txn(source);
    expect(txn.begin(0, UINT64_MAX).ok(), "a read of the present was refused");
    look(txn);
    const int64_t first = txn.at();
    txn.end();
    ReadTxn again(source);
    expect(again.begin(0, UINT64_MAX).ok(), "a read of the present was refused");
    look(again);
    expect(again.at() >= first, "reads went back");
  }
  void check() override { read_from(source_); }

  std::unique_ptr<Store> old_, new_;
  std::shared_ptr<storage::Engine> new_engine_;
  mvcc::ReadSource source_;
};

template <typename T>
Case scene(const char* name) {
  return {name, [] { return std::make_unique<T>(); }};
}

}  // namespace

std::vector<Case> view_cases() {
  return {scene<FreezeAndRead>("view.freeze-and-read"),
          scene<CommitAndRead>("view.commit-and-read"),
          scene<WriteBesideApply>("view.write-beside-apply"),
          scene<PooledViews>("view.pooled-views"),
          scene<CompactAndRead>("view.compact-and-old-read"),
          scene<CommitAndHistory>("view.commit-and-catch-up"),
          scene<TakeOver>("view.a-snapshot-takes-over")};
}

}  // namespace quorate::interleave
