// SPDX-License-Identifier: Apache-2.0
#include "wal/wal_loop.h"

#include "fixture.h"

namespace quorate::wal::test {
namespace {

class Told final : public WalSink, public WalObserver {
 public:
  void wal_synced(const raft::Durable& durable, std::vector<raft::AppendDone> done,
                  std::vector<raft::Message> replies) override {
    CHECK(durable.sequence() == done.back().sequence);
    ++calls;
    for (const raft::AppendDone& d : done) {
      text += "done " + std::to_string(d.sequence) + " term " + std::to_string(d.term) + " last " +
              std::to_string(d.last.term) + ":" + std::to_string(d.last.index);
      if (d.snapshot) text += " snapshot " + std::to_string(d.snapshot->index);
      text += "\n";
    }
    for (const raft::Message& m : replies) text += "reply to " + std::to_string(m.to) + "\n";
  }
  void wal_failed(const Status& status) override {
    text += "failed: " + std::string(code_name(status.code())) + "\n";
  }
  void wal_sync_observed(uint64_t, uint64_t bytes) override { observed_bytes += bytes; }

  int calls = 0;
  uint64_t observed_bytes = 0;
  std::string text;
};

struct LoopFixture : Fixture {
  LoopFixture() {
    create();
    start();
  }
  ~LoopFixture() { stop(); }

  void start() {
    executor = env.make_executor("wal");
    pool = env.make_pool("readers", 1);
    loop = std::make_unique<WalLoop>(env, executor.get(), pool.get(), std::move(wal), &told, &told,
                                     logger());
  }
  void stop() {
    executor.reset();
    pool.reset();
    loop.reset();
  }
  void append(std::vector<raft::Entry> entries, raft::NodeId reply_to = 0) {
    raft::Append append = append_of(std::move(entries));
    append.sequence = ++sequence;
    append.term = 5;
    if (reply_to != 0) {
      raft::Message reply;
      reply.to = reply_to;
      append.replies.hold(std::move(reply), append.sequence);
    }
    loop->append(std::move(append));
  }
  void append_synced(std::vector<raft::Entry> entries) {
    append(std::move(entries));
    env.run_until_idle();
  }
  size_t count(std::string_view prefix) {
    const auto names = disk().list(options.dir);
    size_t count = 0;
    for (const std::string& name : *names) count += name.starts_with(prefix) ? 1 : 0;
    return count;
  }

  Told told;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Pool> pool;
  std::unique_ptr<WalLoop> loop;
  uint64_t sequence = 0;
};

TEST_CASE("appends that gathered are told after one sync, in order, with their replies", "[wal]") {
  LoopFixture f;
  f.env.run_until_idle();
  const uint64_t syncs = f.disk().calls(SimDisk::Op::kSync);
  f.append(entries(1, 1, 2), 3);
  f.append(entries(2, 2, 2), 4);
  CHECK(f.told.text.empty());
  f.env.run_until_idle();
  CHECK(f.told.text == "done 1 term 5 last 1:2\ndone 2 term 5 last 2:2\nreply to 3\nreply to 4\n");
  CHECK(f.told.calls == 1);
  CHECK(f.disk().calls(SimDisk::Op::kSync) == syncs + 1);
  CHECK(f.told.observed_bytes == kBlockBytes);
}

TEST_CASE("a commit index alone is told without a sync", "[wal]") {
  LoopFixture f;
  f.append_synced(entries(1, 1, 1));
  const uint64_t syncs = f.disk().calls(SimDisk::Op::kSync);
  raft::Append append;
  append.sequence = 2;
  append.hard_state = raft::HardState{1, 0, 1};
  f.loop->append(append);
  f.env.run_until_idle();
  CHECK(f.told.text.ends_with("done 2 term 0 last 0:0\n"));
  CHECK(f.disk().calls(SimDisk::Op::kSync) == syncs);
  f.env.advance_ms(100);
  f.stop();
  f.kill_and_reopen();
  CHECK(f.found.hard_state.commit == 1);
}

TEST_CASE("an idle loop marks the end", "[wal]") {
  LoopFixture f;
  f.append_synced(entries(1, 1, 3));
  f.env.advance_ms(100);
  f.stop();
  f.kill_and_reopen();
  CHECK(f.found_log() == "1:1 1:2 1:3");
  CHECK(f.sink.lines.empty());
}

TEST_CASE("lone appends, one after the other, pay for no marks", "[wal]") {
  LoopFixture f;
  f.env.advance_ms(100);
  const uint64_t writes = f.disk().calls(SimDisk::Op::kWrite);
  for (raft::Index i = 1; i <= 10; ++i) {
    f.append_synced(entries(1, i, i));
    f.env.advance_ms(20);
  }
  CHECK(f.disk().calls(SimDisk::Op::kWrite) == writes + 10);
  f.env.advance_ms(1000);
  CHECK(f.disk().calls(SimDisk::Op::kWrite) == writes + 11);
}

TEST_CASE("a clean stop marks the end for good", "[wal]") {
  LoopFixture f;
  f.append_synced(entries(1, 1, 3));
  f.append(entries(1, 4, 4));
  f.executor->stop();
  f.pool->stop();
  REQUIRE(f.loop->close().ok());
  f.stop();
  f.power_cut(2);
  f.reopen();
  CHECK(f.found_log() == "1:1 1:2 1:3");
  CHECK(f.sink.lines.empty());
}

TEST_CASE("a failed sync is told once, promises nothing, and ends the loop", "[wal]") {
  LoopFixture f;
  f.env.run_until_idle();
  f.disk().fail(SimDisk::Op::kSync, 1, Code::kIoError);
  f.append(entries(1, 1, 1), 3);
  f.env.run_until_idle();
  f.append(entries(1, 2, 2), 3);
  f.env.run_until_idle();
  CHECK(f.told.text == "failed: io_error\n");
  CHECK(f.loop->close().code() == Code::kIoError);
}

TEST_CASE("spares are prepared in the background, one of them named, and used", "[wal]") {
  LoopFixture f;
  f.env.run_until_idle();
  CHECK(f.count("spare-") == kSparesMade - 1);
  CHECK(f.segment_files().size() == 2);
  for (raft::Index i = 1; i <= 40; ++i) f.append_synced(entries(1, i, i, 3000));
  CHECK(f.count("spare-") == kSparesMade - 1);
  CHECK(f.segment_files().size() == 4);
}

TEST_CASE("a segment that cannot be named in advance ends the loop, and is no damage", "[wal]") {
  for (const auto op : {SimDisk::Op::kRename, SimDisk::Op::kSyncDir})
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      LoopFixture f;
      f.append_synced(entries(1, 1, 14, 3000));
      f.disk().fail(op, 1, Code::kIoError);
      f.append_synced(entries(1, 15, 20, 3000));  // takes the next segment
      CHECK(f.told.text.ends_with("last 1:20\nfailed: io_error\n"));
      CHECK(f.loop->close().code() == Code::kIoError);
      f.stop();
      f.power_cut(seed);
      f.reopen();
      CHECK(f.found.log.last().index == 20);
    }
}

TEST_CASE("a log that is faster than the pool names its segment itself", "[wal]") {
  LoopFixture f;
  f.env.run_until_idle();
  raft::Index last = 0;
  const auto fill_segment = [&] {
    for (int i = 0; i < 15; ++i, ++last) f.append_synced(entries(1, last + 1, last + 1, 3000));
  };
  fill_segment();
  ++last;
  f.append(entries(1, last, last, 3000));  // takes the named one; another is to be named
  f.env.run_until_idle();
  f.env.set_pools_run(false);
  fill_segment();
  fill_segment();
  CHECK(f.told.text.ends_with("last 1:" + std::to_string(last) + "\n"));
  f.env.set_pools_run(true);
  f.env.run_until_idle();
  fill_segment();
  f.stop();
  f.power_cut(1);
  f.reopen();
  CHECK(f.found.log.last().index == last);
}

TEST_CASE("the log goes on while spares are still being made", "[wal]") {
  LoopFixture f;
  f.env.set_pools_run(false);
  for (raft::Index i = 1; i <= 40; ++i) f.append_synced(entries(1, i, i, 3000));
  CHECK(f.sequence == 40);
  CHECK(f.told.text.find("done 40") != std::string::npos);
  f.env.set_pools_run(true);
  f.env.run_until_idle();
  CHECK(f.count("spare-") == kSparesMade - 1);
}

TEST_CASE("released segments become spares, and steady work writes no new file", "[wal]") {
  LoopFixture f;
  raft::Index last = 0;
  const auto write_segments = [&](int segments) {
    for (int i = 0; i < 15 * segments; ++i) {
      ++last;
      f.append_synced(entries(1, last, last, 3000));
      f.loop->release(last, last);
    }
    f.env.run_until_idle();
  };
  write_segments(5);
  CHECK(f.segment_files().size() <= 3);
  CHECK(f.count("spare-") <= kSparesMax);
  const uint64_t before = f.disk().written_bytes();
  const uint64_t observed = f.told.observed_bytes;
  write_segments(10);
  CHECK(f.disk().written_bytes() - before < (f.told.observed_bytes - observed) * 3);
  CHECK(f.segment_files().size() <= 3);
  f.stop();
  f.kill_and_reopen();
  CHECK(f.found.log.last().index == last);
}

TEST_CASE("a disk too full for spares is told, and tried again later", "[wal]") {
  LoopFixture f;
  f.disk().set_capacity(f.options.segment_bytes + 100);
  f.env.run_until_idle();
  CHECK(f.count("spare-") == 0);
  REQUIRE_FALSE(f.sink.lines.empty());
  CHECK(f.sink.lines[0].find("no spare segment can be prepared: no_space") != std::string::npos);
  f.append_synced(entries(1, 1, 1));
  CHECK(f.told.text == "done 1 term 5 last 1:1\n");
  f.disk().set_capacity(~uint64_t{0});
  f.env.advance_ms(6000);
  CHECK(f.count("spare-") == kSparesMade - 1);
}

TEST_CASE("a segment that cannot be retired ends the loop, and is no damage", "[wal]") {
  LoopFixture f;
  for (raft::Index i = 1; i <= 50; ++i) f.append_synced(entries(1, i, i, 3000));
  f.disk().fail(SimDisk::Op::kSyncDir, 1, Code::kIoError);
  f.loop->release(50, 50);
  f.env.run_until_idle();
  CHECK(f.told.text.ends_with("failed: io_error\n"));
  CHECK(f.segment_files().size() == 4);
  CHECK(f.loop->close().code() == Code::kIoError);
  f.stop();
  f.kill_and_reopen();
  CHECK(f.found.log.last().index == 50);
}

}  // namespace
}  // namespace quorate::wal::test
