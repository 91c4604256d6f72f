// SPDX-License-Identifier: Apache-2.0
#include "storage/commit_loop.h"

#include <catch2/catch.hpp>

#include "support/test_engine.h"
#include "support/test_env.h"

namespace quorate::storage {
namespace {

class Committing : public CommitSink {
 public:
  explicit Committing(bool durable = true) : disk(durable) {
    engine = std::make_shared<Engine>(*disk.open(), 1, 7);
    executor = env.make_executor("commit");
    loop = std::make_unique<CommitLoop>(executor.get(), &env.clock(), this, engine, 0);
  }
  ~Committing() override { executor.reset(); }

  void commit(uint64_t batch, raft::Index index, uint64_t epoch = 7) {
    WriteBuffer buffer;
    buffer.put_small(Bucket::kAlarm, "batch", std::to_string(batch));
    Applied applied;
    applied.entry = {1, index};
    loop->commit(buffer.freeze(epoch, batch, applied));
  }
  std::string written() {
    const auto& bucket = (*disk.content())[number(Bucket::kAlarm)];
    return bucket.contains("batch") ? bucket.at("batch") : "nothing";
  }

  test::TestEngineDisk disk;
  test::TestEnv env;
  std::shared_ptr<Engine> engine;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<CommitLoop> loop;
  std::vector<CommitDone> dones;
  std::vector<std::string> failures;
  std::shared_ptr<Engine> switched;
  int timed = 0;

 private:
  void commit_done(const CommitDone& done) override { dones.push_back(done); }
  void commit_took(uint64_t) override { ++timed; }
  void engine_switched(const std::shared_ptr<Engine>& next) override { switched = next; }
  void engine_failed(const Status& status) override { failures.push_back(status.to_string()); }
};

TEST_CASE("a written batch is reported with its index, and timed", "[storage]") {
  Committing committing;
  committing.commit(1, 10);
  committing.commit(2, 20);
  committing.env.run_until_idle();
  CHECK(committing.written() == "2");
  REQUIRE(committing.dones.size() == 2);
  CHECK(committing.dones[0].batch == 1);
  CHECK(committing.dones[1].batch == 2);
  CHECK(committing.dones[1].durable == 20);
  CHECK(committing.timed == 2);
  CHECK(committing.engine->written_batch() == 2);
}

TEST_CASE("an engine that fails stops everything behind it, and says so once", "[storage]") {
  Committing committing;
  committing.commit(1, 10);
  committing.env.run_until_idle();
  committing.disk.fail_writes(QUORATE_IO_ERROR);
  committing.commit(2, 20);
  committing.env.run_until_idle();
  committing.disk.fail_writes(QUORATE_OK);
  committing.commit(3, 30);
  committing.env.run_until_idle();
  CHECK(committing.written() == "1");
  CHECK(committing.dones.size() == 1);
  REQUIRE(committing.failures.size() == 1);
  CHECK_THAT(committing.failures[0], Catch::Contains("io_error: the storage engine refused"));
}

TEST_CASE("a batch of another epoch is dropped", "[storage]") {
  Committing committing;
  committing.commit(1, 10, 6);
  committing.env.run_until_idle();
  CHECK(committing.written() == "nothing");
  CHECK(committing.dones.empty());
}

TEST_CASE("a switch comes behind what was frozen before, and drops what comes later of the old",
          "[storage]") {
  Committing committing;
  test::TestEngineDisk next_disk;
  auto next = std::make_shared<Engine>(*next_disk.open(), 2, 8);
  std::string at_switch;
  committing.commit(1, 10);
  committing.loop->switch_to({next, 500, [&] {
                                at_switch = committing.written();
                                return Status();
                              }});
  committing.commit(2, 20);
  committing.commit(1, 501, 8);
  committing.env.run_until_idle();
  CHECK(at_switch == "1");
  CHECK(committing.written() == "1");
  CHECK((*next_disk.content())[number(Bucket::kAlarm)].at("batch") == "1");
  CHECK(committing.switched == next);
  REQUIRE(committing.dones.size() == 3);
  CHECK(committing.dones[1].epoch == 8);
  CHECK(committing.dones[1].batch == 0);
  CHECK(committing.dones[1].durable == 500);
  CHECK(committing.dones[2].durable == 501);
}

TEST_CASE("a switch that fails stops the member, and the old engine stays", "[storage]") {
  Committing committing;
  test::TestEngineDisk next_disk;
  committing.loop->switch_to({std::make_shared<Engine>(*next_disk.open(), 2, 8), 500,
                              [] { return Status(Code::kIoError, "no"); }});
  committing.commit(1, 10);
  committing.env.run_until_idle();
  CHECK(committing.switched == nullptr);
  CHECK(committing.written() == "nothing");
  REQUIRE(committing.failures.size() == 1);
  CHECK_THAT(committing.failures[0], Catch::Contains("cannot be made the live one"));
}

TEST_CASE("an engine says that it is closed, once its last view is given back", "[storage]") {
  test::TestEngineDisk disk;
  bool closed = false;
  auto engine = std::make_shared<Engine>(*disk.open(), 1, 1);
  engine->when_closed([&] { closed = true; });
  EngineView view = *engine->view(0);
  engine.reset();
  CHECK_FALSE(closed);
  view.give_back();
  CHECK(closed);
}

TEST_CASE("without durability only a checkpoint moves the durable index", "[storage]") {
  Committing committing(false);
  committing.commit(1, 10);
  committing.loop->checkpointed(10);
  committing.loop->checkpointed(4);
  committing.env.run_until_idle();
  REQUIRE(committing.dones.size() == 2);
  CHECK(committing.dones[0].applied == 10);
  CHECK(committing.dones[0].durable == 0);
  CHECK(committing.dones[1].durable == 10);
}

TEST_CASE("a pooled engine view is used again only while it is new enough", "[storage]") {
  Committing committing;
  committing.commit(1, 10);
  committing.env.run_until_idle();
  { const EngineView view = *committing.engine->view(1); }
  CHECK(committing.disk.open_reads() == 1);
  { const EngineView again = *committing.engine->view(1); }
  CHECK(committing.disk.open_reads() == 1);
  committing.commit(2, 20);
  committing.env.run_until_idle();
  EngineView newer = *committing.engine->view(2);
  CHECK(newer.batch() == 2);
  CHECK(committing.disk.open_reads() == 1);
  const auto value = newer.read().get(number(Bucket::kAlarm), "batch");
  CHECK(value.value() == Slice("2"));
  newer.give_back();
  committing.engine->drop_idle_views();
  CHECK(committing.disk.open_reads() == 0);
}

}  // namespace
}  // namespace quorate::storage
