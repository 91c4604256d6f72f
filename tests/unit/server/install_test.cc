// SPDX-License-Identifier: Apache-2.0
// The installation of a snapshot, as the apply loop lives through it: the test is the raft loop,
// the commit loop and the pool's loader.
#include <catch2/catch.hpp>
#include <map>

#include "base/coding.h"
#include "mvcc/read_txn.h"
#include "server/apply_loop.h"
#include "server/internal_entry.h"
#include "support/requests.h"
#include "support/test_engine.h"
#include "support/test_env.h"

namespace quorate::server {
namespace {

using test::compact_request;
using test::grant_request;
using test::put_request;
using test::TestEngineDisk;
using test::watch_request;

raft::Entry entry(raft::Index index, const Bytes& request) {
  return {1, index, raft::EntryType::kNormal,
          apply::encode_entry({.kind = apply::EntryKind::kClient, .user = {}}, request.slice())};
}

// Puts of key k: entry i makes revision i + 1 with the value "v<i>".
std::vector<raft::Entry> puts(raft::Index first, raft::Index last) {
  std::vector<raft::Entry> entries;
  for (raft::Index i = first; i <= last; ++i)
    entries.push_back(entry(i, put_request("k", "v" + std::to_string(i))));
  return entries;
}

class InstalledMember : public ApplyOutput {
 public:
  InstalledMember() {
    executor = env.make_executor("apply");
    pool = env.make_pool("reader", 1);
    engine = open(disk_, 1);
    loop = std::make_unique<ApplyLoop>(executor.get(),
                                       ApplyLoop::Parts{.clock = &env.clock(),
                                                        .pool = pool.get(),
                                                        .output = this,
                                                        .state = &state,
                                                        .pending = &pending,
                                                        .config = &config,
                                                        .connected_since = {},
                                                        .logger = {}},
                                       load(engine, 0));
  }
  ~InstalledMember() override {
    pool.reset();
    executor.reset();
    loop->close_streams();
    loop.reset();
  }

  void apply(std::vector<raft::Entry> entries) {
    loop->post(Committed{std::move(entries)});
    env.run_until_idle();
  }
  // What the engine holds once everything is frozen.
  std::shared_ptr<const TestEngineDisk::Buckets> content() {
    env.advance_ms(200);
    return disk_.content();
  }
  // Opens a store with this content, as the pool does.
  std::unique_ptr<LoadedState> load_content(
      const std::shared_ptr<const TestEngineDisk::Buckets>& content, uint64_t epoch) {
    next_disk_.set_content(content);
    next = open(next_disk_, epoch);
    return load(next, 20);
  }

  void install(const std::shared_ptr<const TestEngineDisk::Buckets>& content,
               raft::Index index = 20) {
    loop->post(InstallSnapshot{{1, index}});
    env.run_until_idle();
    REQUIRE(asked_for == raft::EntryId{1, index});
    loop->post(SnapshotLoaded{Status(), load_content(content, asked_epoch), next});
    env.run_until_idle();
    REQUIRE(switched == next);
    switched.reset();
    next.reset();
    engine.reset();
    loop->post(EngineCommitted{{asked_epoch, 0, index, index}});
    env.run_until_idle();
  }

  std::string value(int64_t revision = 0) {
    mvcc::ReadTxn txn(loop->read_source());
    if (!txn.begin(revision, UINT64_MAX).ok()) return "refused";
    const auto record = txn.get("k");
    REQUIRE(record.has_value());
    return record->has_value() ? std::string(mvcc::parse_record(**record)->value) : "none";
  }

  uint64_t watch(int64_t start) {
    loop->post(WatchOpen{7, on_watch, this});
    loop->post(WatchAdd{7, 1, watch_request("k", "", start)});
    env.run_until_idle();
    return 7;
  }

  test::TestEnv env;
  MemberState state;
  PendingCalls pending{1};
  Config config;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Pool> pool;
  std::shared_ptr<storage::Engine> engine, next, switched;
  std::unique_ptr<ApplyLoop> loop;

  raft::EntryId asked_for, installed;
  uint64_t asked_epoch = 0;
  std::vector<raft::Index> applied;
  std::vector<raft::Index> conf_applied;
  std::vector<uint64_t> frozen_epochs;
  std::vector<uint64_t> members_told;
  Status failure;
  std::vector<int64_t> watched;  // revisions of the events
  Code closed = Code::kOk;
  int64_t compact_revision = 0;

 private:
  std::shared_ptr<storage::Engine> open(TestEngineDisk& disk, uint64_t epoch) {
    auto opened = std::make_shared<storage::Engine>(*disk.open(), epoch, epoch);
    engines_[epoch] = opened;
    return opened;
  }
  static std::unique_ptr<LoadedState> load(const std::shared_ptr<storage::Engine>& engine,
                                           raft::Index index) {
    storage::OpenedEngine opened;
    opened.engine = engine;
    storage::EngineView view = *engine->view(0);
    const auto bytes = view.read().get(number(storage::Bucket::kMeta), storage::kAppliedKey);
    if (bytes->has_value()) opened.applied = *storage::decode_applied(**bytes);
    view.give_back();
    CHECK(opened.applied.entry.index == index);
    auto state = load_state(opened, Logger());
    REQUIRE(state.has_value());
    return std::move(*state);
  }

  void raft(RaftEvent event) override {
    if (const auto* done = std::get_if<Applied>(&event)) applied.push_back(done->index);
    if (const auto* conf = std::get_if<ConfApplied>(&event)) conf_applied.push_back(conf->index);
  }
  void freeze(std::unique_ptr<storage::FrozenBuffer> buffer) override {
    frozen_epochs.push_back(buffer->epoch());
    if (holds_freezes) return held.push_back(std::move(buffer));
    commit(*buffer);
  }
  void load_snapshot(raft::EntryId snapshot, uint64_t epoch) override {
    asked_for = snapshot;
    asked_epoch = epoch;
  }
  void switch_engine(std::shared_ptr<storage::Engine> to, raft::Index) override {
    switched = std::move(to);
  }
  void snapshot_installed(raft::EntryId snapshot) override { installed = snapshot; }
  void apply_failed(const Status& status) override { failure = status; }
  void published() override {}
  void members_changed(std::vector<cluster::Member> members, std::vector<uint64_t>) override {
    for (const cluster::Member& member : members) members_told.push_back(member.id);
  }
  void removed() override {}
  void ask_state_hashes(const CorruptionCheck::Round&) override {}

  static quorate_status on_watch(void* user, const quorate_watch_item* items, size_t count) {
    auto* member = static_cast<InstalledMember*>(user);
    for (size_t i = 0; i < count; ++i) {
      for (uint32_t e = 0; e < items[i].event_count; ++e)
        member->watched.push_back(mod_revision(from_c(items[i].events[e].bytes)));
      if (items[i].kind == QUORATE_WATCH_CLOSED && items[i].watch == 1) {
        member->closed = static_cast<Code>(items[i].code);
        member->compact_revision = items[i].compact_revision;
      }
    }
    return QUORATE_OK;
  }
  static int64_t mod_revision(Slice event) {
    // Event.kv is field 2.
    REQUIRE(event[0] == 0x12);
    event.remove_prefix(1);
    uint64_t size = 0;
    REQUIRE(take_varint(event, size));
    return mvcc::parse_record(event.substr(0, size))->mod_revision;
  }

 public:
  void commit(const storage::FrozenBuffer& buffer) {
    REQUIRE(engines_[buffer.epoch()].lock()->write(buffer.ops(), buffer.batch()).ok());
    loop->post(EngineCommitted{{buffer.epoch(), buffer.batch(), buffer.applied().entry.index,
                                buffer.applied().entry.index}});
  }
  bool holds_freezes = false;
  std::vector<std::unique_ptr<storage::FrozenBuffer>> held;

 private:
  TestEngineDisk disk_, next_disk_;
  std::map<uint64_t, std::weak_ptr<storage::Engine>> engines_;  // by epoch
};

// A store at index 20, revision 21.
std::shared_ptr<const TestEngineDisk::Buckets> snapshot_content() {
  InstalledMember leader;
  leader.apply(puts(1, 20));
  return leader.content();
}

TEST_CASE("after an installation everything is the snapshot's", "[install]") {
  InstalledMember member;
  member.apply(puts(1, 5));
  CHECK(member.value() == "v5");
  member.install(snapshot_content());
  CHECK(member.value() == "v20");
  CHECK(member.value(6) == "v5");
  CHECK(member.state.applied.load() == 20);
  CHECK(member.state.revision.load() == 21);
  CHECK(member.applied.back() == 20);
  CHECK(member.conf_applied == std::vector<raft::Index>{20});
  CHECK(member.installed == raft::EntryId{1, 20});
  CHECK(member.failure.ok());
}

TEST_CASE("entries behind the snapshot wait for its installation; those before it are dropped",
          "[install]") {
  InstalledMember member;
  member.apply(puts(1, 5));
  const auto content = snapshot_content();
  member.loop->post(Committed{puts(6, 10)});
  member.loop->post(InstallSnapshot{{1, 20}});
  member.loop->post(Committed{puts(21, 25)});
  member.env.run_until_idle();
  CHECK(member.applied.back() == 5);
  CHECK(member.value() == "v5");
  member.loop->post(
      SnapshotLoaded{Status(), member.load_content(content, member.asked_epoch), member.next});
  member.env.run_until_idle();
  CHECK(member.applied.back() == 5);
  member.loop->post(EngineCommitted{{member.asked_epoch, 0, 20, 20}});
  member.env.run_until_idle();
  CHECK(member.applied == std::vector<raft::Index>{5, 20, 25});
  CHECK(member.value() == "v25");
  member.env.advance_ms(200);
  CHECK(member.frozen_epochs.back() == member.asked_epoch);
}

TEST_CASE("a read that began before ends on the old store, which then goes", "[install]") {
  InstalledMember member;
  member.apply(puts(1, 5));
  member.content();
  bool closed = false;
  member.engine->when_closed([&] { closed = true; });
  auto read = std::make_unique<mvcc::ReadTxn>(member.loop->read_source());
  REQUIRE(read->begin(0, UINT64_MAX).ok());
  member.install(snapshot_content());
  const auto record = read->get("k");
  REQUIRE(record.has_value());
  CHECK(mvcc::parse_record(**record)->mod_revision == 6);
  read->rest();
  CHECK(read->get("k").has_value());
  CHECK(read->check().ok());
  CHECK_FALSE(closed);
  read.reset();
  CHECK(closed);
}

TEST_CASE("without readers the old store goes with the installation", "[install]") {
  InstalledMember member;
  member.apply(puts(1, 5));
  member.content();
  bool closed = false;
  member.engine->when_closed([&] { closed = true; });
  member.install(snapshot_content());
  CHECK(closed);
}

TEST_CASE("a watcher is told what the snapshot skipped, once and in order", "[install]") {
  for (const int64_t start : {0, 1, 3, 30}) {
    CAPTURE(start);
    InstalledMember member;
    member.apply(puts(1, 5));
    member.watch(start);
    member.install(snapshot_content());
    member.apply(puts(21, 35));
    std::vector<int64_t> expected;
    for (int64_t revision = start == 0 ? 7 : std::max<int64_t>(start, 2); revision <= 36;
         ++revision)
      expected.push_back(revision);
    CHECK(member.watched == expected);
    CHECK(member.closed == Code::kOk);
  }
}

TEST_CASE("a watcher whose next revision is compacted in the snapshot is closed with that",
          "[install]") {
  InstalledMember leader;
  std::vector<raft::Entry> entries = puts(1, 19);
  entries.push_back(entry(20, compact_request(15)));
  leader.apply(entries);
  InstalledMember member;
  member.apply(puts(1, 5));
  member.watch(0);
  member.install(leader.content());
  CHECK(member.closed == Code::kCompacted);
  CHECK(member.compact_revision == 15);
  CHECK(member.watched.empty());
}

TEST_CASE("what was frozen before and is written late does not touch the new store", "[install]") {
  InstalledMember member;
  member.apply(puts(1, 5));
  member.holds_freezes = true;
  member.env.advance_ms(200);
  REQUIRE(member.held.size() == 1);
  const auto content = snapshot_content();
  member.install(content);
  member.loop->post(EngineCommitted{{1, 1, 5, 5}});
  member.env.run_until_idle();
  CHECK(member.value() == "v20");
  CHECK(member.value(6) == "v5");
}

TEST_CASE("alarms of the snapshot are raised here too", "[install]") {
  InstalledMember leader;
  std::vector<raft::Entry> entries = puts(1, 19);
  entries.push_back({1, 20, raft::EntryType::kNormal,
                     encode_raise_alarm(9, static_cast<int32_t>(cluster::AlarmType::kNoSpace))});
  leader.apply(entries);
  InstalledMember member;
  member.install(leader.content());
  CHECK(member.state.alarms.load() == QUORATE_ALARM_NOSPACE);
  // The chain is the new one: a put is refused from the next entry on.
  member.apply(puts(21, 21));
  CHECK(member.state.revision.load() == 20);
}

TEST_CASE("leases of the snapshot are here, and a member that leads meanwhile keeps them",
          "[install]") {
  InstalledMember leader;
  std::vector<raft::Entry> entries = puts(1, 18);
  entries.push_back(entry(19, grant_request(10, 77)));
  entries.push_back(entry(20, put_request("leased", "v", 77)));
  leader.apply(entries);
  InstalledMember member;
  member.loop->post(LeadershipStarted{1, 1});
  member.install(leader.content());
  member.apply({entry(21, put_request("leased", "w", 77))});
  CHECK(member.state.revision.load() == 21);
  member.apply({entry(22, put_request("leased", "x", 78))});
  CHECK(member.state.revision.load() == 21);
}

TEST_CASE("a snapshot that cannot be loaded stops the member with its sentence", "[install]") {
  InstalledMember member;
  member.loop->post(InstallSnapshot{{1, 20}});
  member.env.run_until_idle();
  member.loop->post(SnapshotLoaded{Status(Code::kCorrupt, "a record is bad"), nullptr, nullptr});
  member.env.run_until_idle();
  CHECK_THAT(member.failure.to_string(),
             Catch::Contains("a snapshot cannot be installed: a record is bad"));
}

}  // namespace
}  // namespace quorate::server
