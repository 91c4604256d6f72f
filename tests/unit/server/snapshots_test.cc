// SPDX-License-Identifier: Apache-2.0
// Two members' snapshots over a wire that the test carries by hand.
#include "server/snapshots.h"

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <optional>

#include "support/test_engine.h"
#include "support/test_env.h"

namespace quorate::server {
namespace {

using test::TestEngineDisk;
using test::TestEnv;

constexpr uint64_t kCluster = 77, kSender = 1, kReceiver = 2;

// Both ends of the streams from the sender to the receiver, behind the real table.
class Wire {
 public:
  struct Stream {
    uint64_t name;
    void* user;
    std::string meta;
    std::deque<std::string> blocks;
    bool writer_waits = false;
    std::optional<Code> finished;  // by the sender
    bool begun = false, busy = false, ended = false;
    std::optional<Code> verdict;
    bool done = false;
  };

  plugin::Transport* transport() {
    if (!transport_) {
      transport_ = *plugin::Transport::create(plugin::TransportFactory("wire", &kTable),
                                              {.options = {}, .host = {}}, &receiver_);
      handle_ = this;
    }
    return transport_.get();
  }
  void connect(Snapshots* from, Snapshots* to) {
    from_ = from;
    to_ = to;
  }

  // Carries what there is; false: nothing could be carried.
  bool carry() {
    bool moved = false;
    for (size_t i = 0; i < streams.size(); ++i) moved |= carry(*streams[i]);
    return moved;
  }

  std::deque<std::unique_ptr<Stream>> streams;
  size_t window = 4;          // blocks under way
  bool refuses = false;       // stream_open() fails
  bool stands_still = false;  // nothing is carried

 private:
  bool carry(Stream& stream) {
    if (stands_still || stream.done) return false;
    bool moved = false;
    while (!stream.busy && !stream.ended && (!stream.begun || !stream.blocks.empty())) {
      const bool begins = !stream.begun;
      const auto code = static_cast<Code>(begins ? to_->begin(stream.name, kSender, stream.meta)
                                                 : to_->block(stream.name, stream.blocks.front()));
      moved = true;
      if (code == Code::kBusy) {
        stream.busy = true;
      } else if (code != Code::kOk) {
        end(stream, code);
      } else if (begins) {
        stream.begun = true;
      } else {
        stream.blocks.pop_front();
      }
    }
    if (stream.writer_waits && (stream.blocks.size() < window || stream.verdict)) {
      stream.writer_waits = false;
      from_->on_stream(stream.user, QUORATE_STREAM_READY, QUORATE_OK);
      moved = true;
    }
    if (stream.finished && !stream.ended &&
        (stream.blocks.empty() || *stream.finished != Code::kOk))
      end(stream, *stream.finished), moved = true;
    if (stream.finished && stream.verdict) {
      stream.done = true;
      from_->on_stream(stream.user, QUORATE_STREAM_DONE,
                       static_cast<quorate_status>(*stream.verdict));
      moved = true;
    }
    return moved;
  }
  void end(Stream& stream, Code code) {
    stream.ended = true;
    to_->end(stream.name, static_cast<quorate_status>(code));
  }

  static Stream* stream_of(quorate_stream* stream) { return reinterpret_cast<Stream*>(stream); }
  static quorate_status stream_open(quorate_transport*, uint64_t to, const quorate_buf* meta,
                                    void* user, quorate_stream** out, quorate_error*) {
    CHECK(to == kReceiver);
    if (handle_->refuses) return QUORATE_UNAVAILABLE;
    auto stream = std::make_unique<Stream>();
    stream->name = handle_->streams.size() + 1;
    stream->user = user;
    stream->meta = from_c(meta->bytes);
    *out = reinterpret_cast<quorate_stream*>(stream.get());
    handle_->streams.push_back(std::move(stream));
    return QUORATE_OK;
  }
  static quorate_status stream_write(quorate_stream* handle, const quorate_buf* block) {
    Stream* stream = stream_of(handle);
    if (stream->verdict) return static_cast<quorate_status>(*stream->verdict);
    if (stream->blocks.size() >= handle_->window) {
      stream->writer_waits = true;
      return QUORATE_BUSY;
    }
    stream->blocks.emplace_back(from_c(block->bytes));
    return QUORATE_OK;
  }
  static void stream_finish(quorate_stream* handle, quorate_status code) {
    CHECK_FALSE(stream_of(handle)->finished);
    stream_of(handle)->finished = static_cast<Code>(code);
  }
  static void on_snapshot(quorate_transport*, uint64_t name, uint32_t event, quorate_status code) {
    Stream& stream = *handle_->streams.at(name - 1);
    if (event == QUORATE_STREAM_READY) {
      stream.busy = false;
    } else {
      CHECK_FALSE(stream.verdict);
      stream.verdict = static_cast<Code>(code);
    }
  }

  static Wire* handle_;
  static const quorate_transport_factory kTable;
  quorate_receiver receiver_{};
  std::unique_ptr<plugin::Transport> transport_;
  Snapshots* from_ = nullptr;
  Snapshots* to_ = nullptr;
};

Wire* Wire::handle_ = nullptr;
const quorate_transport_factory Wire::kTable = [] {
  quorate_transport_factory table{};
  table.struct_size = sizeof table;
  table.create = [](const quorate_transport_options*, const quorate_receiver*,
                    quorate_transport** out, quorate_error*) -> quorate_status {
    *out = reinterpret_cast<quorate_transport*>(1);
    return QUORATE_OK;
  };
  table.destroy = [](quorate_transport*) {};
  table.stream_open = stream_open;
  table.stream_write = stream_write;
  table.stream_finish = stream_finish;
  table.on_snapshot = on_snapshot;
  return table;
}();

// One member, as far as snapshots go: an engine that the test fills, and a place for another.
class Side : public SnapshotOutput {
 public:
  Side(uint64_t id, bool durable) : durable_(durable) {
    REQUIRE(env.files().create_dir("/data/backend").ok());
    state.cluster_id = kCluster;
    state.member_id = id;
    executor = env.make_executor("raft");
    pool = env.make_pool("reader", 1);
    Snapshots::Parts parts;
    parts.env = &env;
    parts.pool = pool.get();
    parts.state = &state;
    parts.output = this;
    parts.source.stores = &stores_;
    parts.store.data_dir = "/data";
    parts.store.engine = "test";
    parts.store.open = [this](const std::string& dir) {
      std::unique_ptr<TestEngineDisk>& engine = engines_[dir];
      engine = std::make_unique<TestEngineDisk>(durable_);
      return engine->open();
    };
    snapshots = std::make_unique<Snapshots>(executor.get(), parts);
  }
  ~Side() override {
    pool.reset();
    executor.reset();
  }

  // The engine as it stands at `index`, with `bytes` of records.
  void stand_at(raft::Index index, size_t bytes = 1000,
                std::vector<raft::NodeId> voters = {kSender, kReceiver}) {
    auto content = std::make_shared<TestEngineDisk::Buckets>(storage::kBucketCount);
    for (size_t i = 0; i * 1000 < bytes; ++i) {
      (*content)[number(storage::Bucket::kKey)][std::to_string(1'000'000 + i)] =
          std::string(1000, static_cast<char>('a' + i % 26));
    }
    storage::Applied applied;
    applied.entry = {3, index};
    applied.conf_state.voters = std::move(voters);
    (*content)[number(storage::Bucket::kMeta)][storage::kAppliedKey] =
        storage::encode_applied(applied);
    live_.set_content(content);
    engine_ = std::make_shared<storage::Engine>(*live_.open(), 1, 1);
    auto side = std::make_shared<mvcc::ReadSide>();
    side->views.set(std::make_shared<storage::ReadView>(
        storage::ReadView{engine_, 0, nullptr, std::make_shared<storage::RecordLog>(), nullptr}));
    stores_.set(side);
  }
  bool exists(const std::string& name) { return env.files().exists("/data/backend/" + name); }
  const TestEngineDisk& received() const { return *engines_.at("/data/backend/00000001"); }
  const TestEngineDisk& live() const { return live_; }

  TestEnv env;
  MemberState state;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Pool> pool;
  std::unique_ptr<Snapshots> snapshots;
  std::vector<raft::Message> messages;
  std::vector<std::pair<raft::NodeId, bool>> sent;

 private:
  void snapshot_received(raft::Message message) override { messages.push_back(std::move(message)); }
  void snapshot_sent(raft::NodeId peer, bool ok) override { sent.emplace_back(peer, ok); }

  const bool durable_;
  TestEngineDisk live_;
  std::shared_ptr<storage::Engine> engine_;
  storage::Published<mvcc::ReadSide> stores_;
  std::map<std::string, std::unique_ptr<TestEngineDisk>> engines_;
};

class Two {
 public:
  explicit Two(bool durable = true) : sender(kSender, true), receiver(kReceiver, durable) {
    wire.connect(sender.snapshots.get(), receiver.snapshots.get());
    sender.snapshots->set_transport(wire.transport());
    receiver.snapshots->set_transport(wire.transport());
    sender.stand_at(900);
    receiver.stand_at(10);
  }

  // Raft of the sender asks for a snapshot.
  void ask(raft::Term term = 3) {
    raft::Message request;
    request.type = raft::MessageType::kMsgSnap;
    request.from = kSender;
    request.to = kReceiver;
    request.term = term;
    sender.snapshots->send(request);
  }
  void run() {
    do {
      sender.env.run_until_idle();
      receiver.env.run_until_idle();
    } while (wire.carry());
  }
  // Only a few turns, so that the stream is under way.
  void run_a_little() {
    for (int i = 0; i < 3; ++i) {
      sender.env.run_until_idle();
      wire.carry();
      receiver.env.run_until_idle();
    }
    sender.env.run_until_idle();
  }
  void pass(uint64_t ms) {
    sender.env.advance_ms(ms);
    receiver.env.advance_ms(ms);
  }
  using Sent = std::vector<std::pair<raft::NodeId, bool>>;

  Wire wire;
  Side sender, receiver;
};

constexpr size_t kMuch = 6 << 20;

TEST_CASE("a snapshot fills the next generation, and raft hears what it really held",
          "[snapshots]") {
  for (const bool durable : {true, false}) {
    CAPTURE(durable);
    Two two(durable);
    two.ask();
    two.run();
    REQUIRE(two.receiver.messages.size() == 1);
    const raft::Message& message = two.receiver.messages[0];
    CHECK(message.type == raft::MessageType::kMsgSnap);
    CHECK(message.from == kSender);
    CHECK(message.to == kReceiver);
    CHECK(message.term == 3);
    CHECK(message.snapshot->id() == raft::EntryId{3, 900});
    CHECK(message.snapshot->conf_state.voters == std::vector<raft::NodeId>{kSender, kReceiver});
    CHECK(two.sender.sent == Two::Sent{{kReceiver, true}});
    CHECK(two.receiver.exists("COMPLETE"));
    CHECK(*two.receiver.received().content() == *two.sender.live().content());
  }
}

TEST_CASE("a receiver that is slow stops the sender, and nothing is lost", "[snapshots]") {
  Two two;
  two.sender.stand_at(900, 3 * kMuch);
  two.ask();
  two.receiver.env.set_pools_run(false);
  two.run();
  REQUIRE(two.wire.streams.size() == 1);
  CHECK(two.wire.streams[0]->busy);
  CHECK(two.wire.streams[0]->writer_waits);
  two.receiver.env.set_pools_run(true);
  two.run();
  CHECK(two.sender.sent == Two::Sent{{kReceiver, true}});
  CHECK(*two.receiver.received().content() == *two.sender.live().content());
}

TEST_CASE("the log is kept while a snapshot is sent, and a minute longer", "[snapshots]") {
  Two two;
  two.sender.stand_at(900, kMuch);
  CHECK(two.sender.snapshots->needed() == UINT64_MAX);
  two.ask();
  CHECK(two.sender.snapshots->needed() == 0);
  two.run_a_little();
  two.pass(200);
  CHECK(two.sender.snapshots->needed() == 900);
  two.run();
  CHECK(two.sender.snapshots->needed() == 900);
  two.pass(59'000);
  CHECK(two.sender.snapshots->needed() == 900);
  two.pass(2'000);
  CHECK(two.sender.snapshots->needed() == UINT64_MAX);
}

TEST_CASE("a snapshot of another cluster, of an old leader, or of what is here, is refused",
          "[snapshots]") {
  Two two;
  SECTION("another cluster") {
    two.receiver.state.cluster_id = kCluster + 1;
  }
  SECTION("another member") {
    two.receiver.state.member_id = kReceiver + 1;
  }
  SECTION("an older term") {
    two.receiver.state.term = 4;
  }
  SECTION("applied already") {
    two.receiver.state.applied = 900;
  }
  SECTION("committed already") {
    two.receiver.state.commit = 900;
  }
  two.ask();
  two.run();
  CHECK(two.sender.sent == Two::Sent{{kReceiver, false}});
  CHECK(two.sender.snapshots->needed() == UINT64_MAX);
  CHECK(two.receiver.messages.empty());
  CHECK_FALSE(two.receiver.exists("00000001"));
}

TEST_CASE("a snapshot of entries of a later term than its leader led in is refused",
          "[snapshots]") {
  Two two;
  for (const raft::Term term : {2, 3}) {
    SnapshotHead head{kCluster, kSender, kReceiver, term, 1000, {}};
    head.applied.entry = {3, 900};
    CHECK(two.receiver.snapshots->begin(term, kSender, encode_snapshot_head(head)) ==
          (term == 2 ? QUORATE_INVALID_ARGUMENT : QUORATE_OK));
  }
}

TEST_CASE("a head that is damaged is refused, whichever byte it is", "[snapshots]") {
  SnapshotHead head{kCluster, kSender, kReceiver, 3, 1000, {}};
  head.applied.entry = {3, 900};
  const std::string good = encode_snapshot_head(head);
  CHECK(decode_snapshot_head(good).value() == head);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 0x20;
    CHECK_FALSE(decode_snapshot_head(bad).has_value());
    CHECK_FALSE(decode_snapshot_head(good.substr(0, i)).has_value());
  }
}

TEST_CASE("a snapshot whose stream is damaged or breaks leaves nothing behind", "[snapshots]") {
  Two two;
  two.sender.stand_at(900, kMuch);
  two.ask();
  two.run_a_little();
  REQUIRE(two.receiver.exists("00000001"));
  Wire::Stream& stream = *two.wire.streams.at(0);
  REQUIRE_FALSE(stream.blocks.empty());
  Code expected = Code::kCorrupt;
  SECTION("damaged") {
    stream.blocks.front()[1000] ^= 1;
  }
  SECTION("a block is missing") {
    stream.blocks.pop_front();
  }
  SECTION("the connection is lost") {
    expected = Code::kUnavailable;
    stream.blocks.clear();
    stream.ended = true;
    two.receiver.snapshots->end(stream.name, QUORATE_UNAVAILABLE);
  }
  two.run();
  CHECK(stream.verdict == expected);
  CHECK(two.sender.sent == Two::Sent{{kReceiver, false}});
  CHECK(two.receiver.messages.empty());
  CHECK_FALSE(two.receiver.exists("00000001"));
  CHECK_FALSE(two.receiver.exists("COMPLETE"));
  two.ask();
  two.run();
  CHECK(two.receiver.messages.size() == 1);
}

TEST_CASE("a disk that has no room for a second store refuses the snapshot", "[snapshots]") {
  Two two;
  two.receiver.env.disk().set_capacity(10 << 20);
  two.ask();
  two.run();
  CHECK(two.sender.sent == Two::Sent{{kReceiver, false}});
  CHECK_FALSE(two.receiver.exists("00000001"));
}

TEST_CASE("a disk that fails under an incoming snapshot refuses it, and the next one passes",
          "[snapshots]") {
  Two two;
  two.receiver.env.disk().fail(test::SimDisk::Op::kRename, 1, Code::kIoError);
  two.ask();
  two.run();
  CHECK(two.wire.streams.at(0)->verdict == Code::kIoError);
  CHECK_FALSE(two.receiver.exists("00000001"));
  two.ask();
  two.run();
  CHECK(two.receiver.messages.size() == 1);
}

TEST_CASE("a later stream takes the place of one that is under way", "[snapshots]") {
  Two two;
  two.sender.stand_at(900, kMuch);
  two.ask();
  two.run_a_little();
  Wire::Stream& old = *two.wire.streams.at(0);
  REQUIRE_FALSE(old.finished);
  two.sender.stand_at(950, kMuch);
  two.ask(4);
  two.run();
  CHECK(old.done);
  CHECK(old.verdict != Code::kOk);
  REQUIRE(two.receiver.messages.size() == 1);
  CHECK(two.receiver.messages[0].snapshot->index == 950);
  // What raft has forgotten it does not hear of.
  CHECK(two.sender.sent == Two::Sent{{kReceiver, true}});
  CHECK(two.receiver.exists("COMPLETE"));
}

TEST_CASE("a stream of an older term does not take the place of one of a newer", "[snapshots]") {
  Two two;
  two.sender.stand_at(900, kMuch);
  two.ask(5);
  two.run_a_little();
  const std::string old_head = encode_snapshot_head({kCluster, 3, kReceiver, 4, 0, [] {
                                                       storage::Applied applied;
                                                       applied.entry = {3, 880};
                                                       return applied;
                                                     }()});
  CHECK(two.receiver.snapshots->begin(99, 3, old_head) == QUORATE_UNAVAILABLE);
  two.run();
  CHECK(two.receiver.messages.size() == 1);
}

TEST_CASE("nothing else comes in until what was received is installed or refused", "[snapshots]") {
  Two two;
  two.ask();
  two.run();
  REQUIRE(two.receiver.messages.size() == 1);
  two.ask();
  two.run();
  CHECK(two.wire.streams.at(1)->verdict == Code::kUnavailable);
  CHECK(two.receiver.exists("COMPLETE"));
  SECTION("raft takes it") {
    two.receiver.snapshots->stepped(true);
    two.ask();
    two.run();
    CHECK(two.wire.streams.at(2)->verdict == Code::kUnavailable);
    CHECK(two.receiver.exists("COMPLETE"));
    two.receiver.snapshots->installed();
  }
  SECTION("raft refuses it") {
    two.receiver.snapshots->stepped(false);
    two.run();
    CHECK_FALSE(two.receiver.exists("COMPLETE"));
    CHECK_FALSE(two.receiver.exists("00000001"));
  }
  two.ask();
  two.run();
  CHECK(two.receiver.messages.size() == 2);
}

TEST_CASE("a snapshot waits until the engine knows the member that it is for", "[snapshots]") {
  Two two;
  two.sender.stand_at(900, 1000, {kSender});
  two.ask();
  two.run();
  two.pass(1000);
  two.run();
  CHECK(two.wire.streams.empty());
  SECTION("it comes") {
    two.sender.stand_at(901, 1000, {kSender, kReceiver});
    two.pass(200);
    two.run();
    CHECK(two.sender.sent == Two::Sent{{kReceiver, true}});
  }
  SECTION("it never comes") {
    two.pass(10'000);
    CHECK(two.sender.sent == Two::Sent{{kReceiver, false}});
  }
}

TEST_CASE("a leader that was deposed since it was asked sends no entries of a later term",
          "[snapshots]") {
  Two two;
  two.ask(2);
  two.run();
  CHECK(two.wire.streams.empty());
  CHECK(two.sender.sent == Two::Sent{{kReceiver, false}});
}

TEST_CASE("a peer that cannot be reached is a failure at once", "[snapshots]") {
  Two two;
  two.wire.refuses = true;
  two.ask();
  two.run();
  CHECK(two.sender.sent == Two::Sent{{kReceiver, false}});
}

TEST_CASE("a stream that stands still for a minute is given up", "[snapshots]") {
  Two two;
  two.sender.stand_at(900, kMuch);
  two.ask();
  two.run_a_little();
  two.wire.stands_still = true;
  two.run();
  two.pass(59'000);
  CHECK_FALSE(two.wire.streams.at(0)->finished);
  two.pass(2'000);
  CHECK(two.wire.streams.at(0)->finished == Code::kTimeout);
  CHECK(two.sender.live().open_reads() <= 1);
  two.wire.stands_still = false;
  two.run();
  CHECK(two.sender.sent == Two::Sent{{kReceiver, false}});
  CHECK_FALSE(two.receiver.exists("00000001"));
}

TEST_CASE("a stop ends the streams that go out and the one that comes in", "[snapshots]") {
  Two two;
  two.sender.stand_at(900, kMuch);
  two.ask();
  two.run_a_little();
  Wire::Stream& stream = *two.wire.streams.at(0);
  for (Side* side : {&two.sender, &two.receiver}) {
    side->pool->stop();
    side->executor->stop();
    side->snapshots->stop();
  }
  CHECK(stream.finished == Code::kStopped);
  CHECK(two.receiver.snapshots->block(stream.name, "more") == QUORATE_STOPPED);
  CHECK(two.receiver.snapshots->begin(9, kSender, stream.meta) == QUORATE_STOPPED);
  CHECK_FALSE(two.receiver.exists("00000001"));
}

TEST_CASE("a stream that waits and is never heard of again holds no place", "[snapshots]") {
  SnapshotInbox inbox;
  SnapshotHead head;
  head.term = 2;
  REQUIRE(inbox.begin(1, head) == Code::kOk);
  REQUIRE(inbox.begin(2, head) == Code::kBusy);
  REQUIRE(inbox.take().given_up);
  CHECK(inbox.release() == 2);
  CHECK(inbox.begin(3, head) == Code::kOk);
}

}  // namespace
}  // namespace quorate::server
