// SPDX-License-Identifier: Apache-2.0
// Whole members with different engines, one of which lags further than the log reaches.
#include <catch2/catch.hpp>

#include "test_cluster.h"

extern "C" const quorate_plugin* quorate_static_backend_lmdb(void);
extern "C" const quorate_plugin* quorate_static_backend_rocksdb(void);

namespace quorate::test {
namespace {

// The log reaches back some 100 KiB. The last member is the one that lags.
class SmallLog : public TestCluster {
 public:
  explicit SmallLog(const std::vector<std::string>& engines, uint64_t seed = 1)
      : TestCluster(engines.size(), seed) {
    for (size_t i = 0; i < engines.size(); ++i) {
      TestMember& member = *members[i];
      member.more_plugins = {{"backend_lmdb", quorate_static_backend_lmdb()},
                             {"backend_rocksdb", quorate_static_backend_rocksdb()}};
      member.config.backend.name = engines[i];
      member.config.wal_segment_bytes = 64 << 10;
      member.config.wal_keep_bytes_max = 128 << 10;
      member.config.log_memory_bytes_max = 32 << 10;
    }
    start();
  }

  TestMember& late() { return *members.back(); }
  // The leader, which is not the one that lags.
  TestMember& other_leader() {
    REQUIRE(run_until([&] { return leader_at() + 1 < members.size(); }));
    return *members[leader_at()];
  }
  void cut_off() {
    for (size_t i = 0; i + 1 < members.size(); ++i)
      network.cut_both(url_of(i), url_of(members.size() - 1));
  }
  // Writes 1 MB by and by, so that the engines take it and the log lets go of it.
  void write_much() {
    TestMember& leader = other_leader();
    for (int i = 0; i < 100; ++i) {
      leader.put("k" + std::to_string(next_++), std::string(10'000, 'v'));
      world.advance_ms(20);
    }
  }
  bool has_generation(uint64_t generation) {
    return late().machine.files().exists(
        storage::generation_dir(late().config.data_dir, generation));
  }

 private:
  int next_ = 0;
};

TEST_CASE("a member that lags behind the log gets a snapshot from one with another engine",
          "[snapshots]") {
  for (const std::vector<std::string>& engines :
       {std::vector<std::string>{"lmdb", "lmdb", "rocksdb"},
        {"rocksdb", "rocksdb", "lmdb"},
        {"lmdb", "rocksdb", "memory"}}) {
    CAPTURE(engines);
    SmallLog cluster(engines);
    cluster.late().kill();
    cluster.write_much();
    REQUIRE(cluster.network.snapshots() == 0);
    cluster.begin(2);
    CHECK(cluster.same_content());
    CHECK(cluster.network.snapshots() == 1);
    CHECK(cluster.late().failure.ok());
    CHECK(cluster.has_generation(2));
    CHECK_FALSE(cluster.has_generation(1));

    // It goes on from the log, and comes back with what it installed.
    for (int i = 0; i < 20; ++i) cluster.other_leader().put("more" + std::to_string(i), "v");
    CHECK(cluster.same_content());
    cluster.late().kill();
    cluster.other_leader().put("while it was away", "v");
    cluster.begin(2);
    CHECK(cluster.same_content());
    CHECK(cluster.network.snapshots() == 1);
    CHECK(cluster.late().count("k", "l") == 100);
  }
}

TEST_CASE("a member that is cut off is caught up while it runs, and its watcher misses nothing",
          "[snapshots]") {
  SmallLog cluster({"lmdb", "lmdb", "rocksdb"});
  cluster.cut_off();
  cluster.other_leader();
  TestMember& late = cluster.late();
  const uint64_t stream = late.open_watches();
  const Bytes watch = watch_request("k", "l", 0);
  late.services()->watch_add(late.services()->ctx, stream, 1, to_c(watch.slice()));
  for (uint64_t round = 1; round <= 3; ++round) {
    cluster.write_much();
    cluster.network.heal();
    CHECK(cluster.same_content());
    CHECK(cluster.network.snapshots() >= round);
    CHECK(late.failure.ok());
    cluster.cut_off();
    cluster.other_leader();
  }
  size_t events = 0;
  int64_t last = 0;
  for (const WatchItem& item : late.watched) {
    CHECK(item.kind != QUORATE_WATCH_CLOSED);
    if (item.kind != QUORATE_WATCH_EVENTS) continue;
    CHECK(item.revision >= last);
    last = item.revision;
    events += item.events.size();
  }
  CHECK(events == 300);
}

TEST_CASE("a crash at any moment of catching up by a snapshot leaves a member that comes back",
          "[snapshots]") {
  SmallLog cluster({"lmdb", "lmdb", "memory"});
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    cluster.late().kill();
    cluster.write_much();
    cluster.begin(2);
    cluster.world.advance_ms(seed * 7);
    cluster.crash(2, seed);
    cluster.begin(2);
    REQUIRE(cluster.same_content());
    REQUIRE(cluster.late().failure.ok());
  }
  CHECK(cluster.network.snapshots() >= 12);
}

}  // namespace
}  // namespace quorate::test
