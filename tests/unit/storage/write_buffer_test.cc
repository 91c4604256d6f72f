// SPDX-License-Identifier: Apache-2.0
#include "storage/write_buffer.h"

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <optional>

#include "base/random.h"
#include "storage/commit_loop.h"
#include "storage/read_view.h"
#include "support/test_engine.h"
#include "support/test_env.h"

namespace quorate::storage {
namespace {

void append(RecordLog& log, Revision revision, bool tombstone, Slice record) {
  char* to = log.append(revision, tombstone, record.size());
  std::copy(record.begin(), record.end(), to);
}
void append(WriteBuffer& buffer, Revision revision, bool tombstone, Slice record) {
  char* to = buffer.append_record(revision, tombstone, record.size());
  std::copy(record.begin(), record.end(), to);
}

TEST_CASE("a record is seen by others only once it is published", "[storage]") {
  RecordLog log;
  append(log, {2, 0}, false, "a");
  CHECK(log.find({2, 0}) == nullptr);
  REQUIRE(log.find_own({2, 0}) != nullptr);
  CHECK(log.find_own({2, 0})->record() == "a");
  log.publish();
  REQUIRE(log.find({2, 0}) != nullptr);
  CHECK(log.find({2, 1}) == nullptr);
  CHECK(log.find({1, 0}) == nullptr);
}

TEST_CASE("records keep their place and content over many blocks and chunks", "[storage]") {
  RecordLog log;
  std::vector<const char*> places;
  for (int64_t i = 0; i < 3000; ++i) {
    append(log, {i + 2, 7}, i % 5 == 0, std::string(static_cast<size_t>(i % 400), 'x'));
    places.push_back(log.find_own({i + 2, 7})->record().data());
  }
  log.publish();
  REQUIRE(log.visible() == 3000);
  for (int64_t i = 0; i < 3000; ++i) {
    const RecordLog::Entry* entry = log.find({i + 2, 7});
    REQUIRE(entry != nullptr);
    CHECK(entry->record().data() == places[static_cast<size_t>(i)]);
    CHECK(entry->record().size() == static_cast<size_t>(i % 400));
    CHECK((entry->tombstone != 0) == (i % 5 == 0));
    CHECK(entry == &log.at(log.lower_bound({i + 2, 0})));
  }
}

TEST_CASE("a record larger than a chunk and an empty one both fit", "[storage]") {
  RecordLog log;
  append(log, {2, 0}, false, std::string(3 << 20, 'b'));
  append(log, {2, 1}, true, "");
  log.publish();
  CHECK(log.find({2, 0})->record() == std::string(3 << 20, 'b'));
  CHECK(log.find({2, 1})->record().empty());
  CHECK(log.find({2, 1})->key() == RecordKey({2, 1}, true).slice());
  CHECK(log.bytes() >= 3u << 20);
}

TEST_CASE("a batch holds records, small changes, dropped revisions, and the applied record last",
          "[storage]") {
  WriteBuffer buffer;
  CHECK_FALSE(buffer.has_changes());
  buffer.put_small(Bucket::kLease, "l", "1");
  append(buffer, {2, 0}, false, "record");
  buffer.delete_small(Bucket::kLease, "l");
  buffer.drop({1, 3}, true);
  buffer.records()->publish();
  CHECK(buffer.has_changes());
  Applied applied;
  applied.entry = {3, 9};
  const auto frozen = buffer.freeze(1, 5, applied);
  CHECK_FALSE(buffer.has_changes());
  const auto ops = frozen->ops();
  REQUIRE(ops.size() == 5);
  CHECK(from_c(ops[0].key) == RecordKey({2, 0}, false).slice());
  CHECK(ops[0].flags == QUORATE_OP_APPEND);
  CHECK(from_c(ops[1].value) == "1");
  CHECK(ops[2].kind == QUORATE_OP_DELETE);
  CHECK(ops[2].bucket == number(Bucket::kLease));
  CHECK(from_c(ops[3].key) == RecordKey({1, 3}, true).slice());
  CHECK(from_c(ops[4].key) == "applied");
  CHECK(decode_applied(from_c(ops[4].value)).value() == applied);
}

// Stands in for the store: appends, freezes, takes commit-done, crashes; and keeps a sorted map of
// what must be there.
class Harness : public CommitSink {
 public:
  explicit Harness(uint64_t seed) : random_(seed) { start(); }
  ~Harness() override { stop(); }

  void step() {
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2: return write_batch();
      case 3: return change_small();
      case 4: return compact();
      case 5:
      case 6: return freeze();
      case 7: env_.run_one(); return take_dones();
      case 8:
        env_.run_one();  // the engine is ahead of the read view
        return;
      case 9: return keep_view();
      case 10:
        if (!kept_.empty()) check(kept_[random_.below(kept_.size())]);
        return;
      default:
        if (random_.one_in(10)) crash();
        check(view_now());
    }
  }

 private:
  struct Stored {
    bool tombstone;
    std::string bytes;
    friend bool operator==(const Stored&, const Stored&) = default;
  };
  struct Model {
    std::map<Revision, Stored> records;
    std::map<std::string, std::string> leases;
    raft::Index index = 0;
    int64_t revision = 1;
  };
  struct View {
    std::shared_ptr<const ReadView> view;
    int64_t revision;  // picked before the view was taken
    std::map<Revision, Stored> records;
  };

  void start() {
    engine_ = std::make_shared<Engine>(*disk_.open(), 1, ++epoch_);
    executor_ = env_.make_executor("commit");
    loop_ = std::make_unique<CommitLoop>(executor_.get(), &env_.clock(), this, engine_, 0);
    buffer_.emplace();
    frozen_ = nullptr;
    written_ = 0;
    batch_ = 0;
    publish();
  }
  void stop() {
    kept_.clear();
    executor_.reset();
    loop_.reset();
    current_.set(nullptr);
    engine_.reset();
    CHECK(disk_.open_reads() == 0);
  }

  void publish() {
    current_.set(std::make_shared<ReadView>(
        ReadView{engine_, written_, frozen_, buffer_->records(), nullptr}));
  }
  void write_batch() {
    const uint64_t revisions = 1 + random_.below(4);
    for (uint64_t i = 0; i < revisions; ++i) {
      ++model_.revision;
      const uint32_t changes = 1 + static_cast<uint32_t>(random_.below(3));
      for (uint32_t sub = 0; sub < changes; ++sub) {
        const Stored stored{random_.one_in(4),
                            std::to_string(model_.revision) + std::string(random_.below(90), 'v')};
        const Revision revision{model_.revision, sub};
        append(*buffer_, revision, stored.tombstone, stored.bytes);
        model_.records[revision] = stored;
      }
    }
    ++model_.index;
    buffer_->records()->publish();
  }
  void change_small() {
    const std::string key(1, static_cast<char>('a' + random_.below(5)));
    if (random_.one_in(3)) {
      buffer_->delete_small(Bucket::kLease, key);
      model_.leases.erase(key);
    } else {
      buffer_->put_small(Bucket::kLease, key, std::to_string(model_.index));
      model_.leases[key] = std::to_string(model_.index);
    }
    ++model_.index;
  }
  void compact() {
    for (int i = 0; i < 5 && !model_.records.empty(); ++i) {
      auto at = model_.records.lower_bound(
          {static_cast<int64_t>(random_.below(static_cast<uint64_t>(model_.revision) + 1)), 0});
      if (at == model_.records.end()) continue;
      buffer_->drop(at->first, at->second.tombstone);
      for (View& view : kept_) view.records.erase(at->first);
      model_.records.erase(at);
    }
  }
  void freeze() {
    if (frozen_ != nullptr) return;
    frozen_ = buffer_->records();
    Applied applied;
    applied.entry = {1, model_.index};
    applied.revision = model_.revision;
    in_flight_.push_back(model_);
    loop_->commit(buffer_->freeze(epoch_, ++batch_, applied));
    publish();
  }
  void take_dones() {
    for (const CommitDone& done : dones_) {
      if (done.epoch != epoch_) continue;
      written_ = done.batch;
      frozen_ = nullptr;
      publish();
    }
    dones_.clear();
  }
  View view_now() { return {current_.get(), model_.revision, model_.records}; }
  void keep_view() {
    kept_.push_back(view_now());
    if (kept_.size() > 6) kept_.pop_front();
  }
  void check(const View& view) {
    RecordReader reader(view.view);
    for (const auto& [revision, stored] : view.records) {
      Result<Slice> found = reader.get(revision, stored.tombstone);
      REQUIRE(found.status().to_string() == "ok");
      REQUIRE(*found == stored.bytes);
    }
    check_scan(view, reader);
  }
  void check_scan(const View& view, RecordReader& reader) {
    std::map<Revision, Stored> seen;
    Revision resume{0, 0}, last{0, 0};
    bool more = true;
    while (more) {
      const Result<bool> result =
          reader.scan(resume, {view.revision + 1, 0}, 1 + random_.below(7), resume,
                      [&](Revision revision, bool tombstone, Slice key, Slice record) {
                        CHECK(last < revision);
                        CHECK(key == RecordKey(revision, tombstone).slice());
                        last = revision;
                        seen[revision] = {tombstone, std::string(record)};
                        return !random_.one_in(5);
                      });
      REQUIRE(result.has_value());
      more = *result;
    }
    for (const auto& [revision, stored] : view.records) {
      REQUIRE(seen.contains(revision));
      REQUIRE(seen[revision] == stored);
    }
  }
  // Everything that was not written is gone; what was is whole, with its index.
  void crash() {
    stop();
    dones_.clear();
    model_ = durable_;
    in_flight_.clear();
    const auto content = disk_.content();
    CHECK((*content)[number(Bucket::kLease)] ==
          TestEngineDisk::Bucket(model_.leases.begin(), model_.leases.end()));
    TestEngineDisk::Bucket records;
    for (const auto& [revision, stored] : model_.records)
      records[std::string(RecordKey(revision, stored.tombstone).slice())] = stored.bytes;
    CHECK((*content)[number(Bucket::kKey)] == records);
    const auto& meta = (*content)[number(Bucket::kMeta)];
    if (const auto applied = meta.find("applied"); applied != meta.end()) {
      CHECK(decode_applied(applied->second).value().entry.index == model_.index);
      CHECK(decode_applied(applied->second).value().revision == model_.revision);
    } else {
      CHECK(model_.index == 0);
    }
    start();
  }

  void commit_done(const CommitDone& done) override {
    dones_.push_back(done);
    durable_ = in_flight_.front();
    CHECK(done.durable == durable_.index);
    in_flight_.pop_front();
  }
  void engine_failed(const Status& status) override { FAIL(status.to_string()); }

  using TestEngineDisk = test::TestEngineDisk;
  Random random_;
  TestEngineDisk disk_;
  test::TestEnv env_;
  uint64_t epoch_ = 0;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<CommitLoop> loop_;
  std::optional<WriteBuffer> buffer_;
  std::shared_ptr<const RecordLog> frozen_;
  CurrentReadView current_;
  uint64_t written_ = 0;
  uint64_t batch_ = 0;
  Model model_;
  Model durable_;
  std::deque<Model> in_flight_;
  std::vector<CommitDone> dones_;
  std::deque<View> kept_;
};

TEST_CASE("buffers and engine together are a sorted map, whatever is frozen, written or lost",
          "[storage]") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    Harness harness(seed);
    for (int i = 0; i < 150; ++i) harness.step();
  }
}

}  // namespace
}  // namespace quorate::storage
