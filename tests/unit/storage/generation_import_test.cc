// SPDX-License-Identifier: Apache-2.0
#include "storage/generation_import.h"

#include <catch2/catch.hpp>
#include <map>

#include "storage/write_buffer.h"
#include "support/test_engine.h"
#include "support/test_env.h"

namespace quorate::storage {
namespace {

using test::TestEngineDisk;

constexpr raft::EntryId kSnapshot{3, 900};

// The stream of a store at kSnapshot.
std::string sent_stream(int pairs = 300) {
  TestEngineDisk disk;
  for (int i = 0; i < pairs; ++i) {
    disk.tamper(static_cast<Bucket>(i % 9), std::to_string(i * 7919),
                std::string(static_cast<size_t>(i % 90), 'v'));
  }
  Applied applied;
  applied.entry = kSnapshot;
  applied.conf_state.voters = {1, 2};
  disk.tamper(Bucket::kMeta, kAppliedKey, encode_applied(applied));
  auto engine = std::make_shared<Engine>(*disk.open(), 1, 1);
  SnapshotWriter writer = *SnapshotWriter::open(*engine->view(0));
  std::string stream;
  while (writer.next(stream).value()) {
  }
  return stream;
}

// A member's data directory: an engine for each generation, and a store at index 10 in the first.
class Receiver {
 public:
  explicit Receiver(bool durable = true) : durable_(durable) {
    REQUIRE(create_dir_durably(files(), "/data").ok());
    const OpenedEngine opened = *start();
    WriteBuffer buffer;
    Applied applied;
    applied.entry = {1, 10};
    REQUIRE(opened.engine->write(buffer.freeze(1, 1, applied)->ops(), 1).ok());
    if (!durable) {
      REQUIRE(write_checkpoint(files(), checkpoint_path("/data", 1), opened.engine).has_value());
    }
  }

  FileSystem& files() { return env.files(); }
  OpenOptions options(raft::EntryId log_snapshot = {}) {
    OpenOptions options;
    options.data_dir = "/data";
    options.engine = "test";
    options.may_create = engines_.empty();
    options.log_snapshot = log_snapshot;
    options.open = [this](const std::string& dir) -> Result<std::unique_ptr<plugin::Backend>> {
      std::unique_ptr<TestEngineDisk>& engine = engines_[dir];
      if (!files().exists(dir + "/engine")) {
        engine = std::make_unique<TestEngineDisk>(durable_);
        QUORATE_TRY(write_file_atomically(files(), dir + "/engine", "made"));
      }
      return engine->open();
    };
    return options;
  }
  Result<OpenedEngine> start(raft::EntryId log_snapshot = {}) {
    return open_engine(files(), options(log_snapshot));
  }
  // All of it, or the first error.
  Status import(const std::string& stream) {
    auto import = GenerationImport::begin(files(), options());
    QUORATE_TRY(import.status());
    for (size_t at = 0; at < stream.size(); at += 5000) {
      QUORATE_TRY((*import)->feed(Slice(stream).substr(at, 5000)));
    }
    for (;;) {
      const Result<bool> complete = (*import)->finish_some();
      QUORATE_TRY(complete.status());
      if (*complete) return Status();
    }
  }
  std::vector<std::string> names() { return files().list("/data/backend").value(); }

  test::TestEnv env;

 private:
  const bool durable_;
  std::map<std::string, std::unique_ptr<TestEngineDisk>> engines_;
};

std::vector<std::string> names_of(bool durable, const std::string& generation) {
  if (durable) return {generation, "CURRENT"};
  return {generation, "CHECKPOINT-" + generation, "CURRENT"};
}

TEST_CASE("an import that the log names becomes the live generation at the next start",
          "[storage]") {
  for (const bool durable : {true, false}) {
    CAPTURE(durable);
    Receiver receiver(durable);
    REQUIRE(receiver.import(sent_stream()).ok());
    receiver.env.crash(1);
    const OpenedEngine opened = *receiver.start(kSnapshot);
    CHECK(opened.current == Current{2, "test", kSnapshot});
    CHECK(opened.applied.entry == kSnapshot);
    CHECK(opened.durable == kSnapshot.index);
    CHECK(receiver.names() == names_of(durable, "00000002"));
  }
}

TEST_CASE("an import that the log does not name exactly is deleted by the start", "[storage]") {
  for (const raft::EntryId named :
       {raft::EntryId{}, raft::EntryId{2, 900}, raft::EntryId{3, 901}}) {
    Receiver receiver;
    REQUIRE(receiver.import(sent_stream()).ok());
    receiver.env.crash(1);
    CHECK(receiver.start(named)->applied.entry == raft::EntryId{1, 10});
    CHECK(receiver.names() == std::vector<std::string>{"00000001", "CURRENT"});
  }
}

TEST_CASE("an import that is cut short or damaged leaves nothing behind", "[storage]") {
  const std::string stream = sent_stream();
  std::string damaged = stream;
  damaged[damaged.size() / 2] ^= 1;
  Receiver receiver;
  for (const std::string& bad : {stream.substr(0, stream.size() - 1), damaged, std::string()}) {
    CHECK(receiver.import(bad).code() == Code::kCorrupt);
    CHECK(receiver.names() == std::vector<std::string>{"00000001", "CURRENT"});
  }
}

TEST_CASE("a later import takes the place of one that nobody installed", "[storage]") {
  Receiver receiver;
  REQUIRE(receiver.import(sent_stream()).ok());
  REQUIRE(receiver.import(sent_stream(10)).ok());
  const std::vector<std::string> expected = {"00000001", "00000002", "COMPLETE", "CURRENT"};
  CHECK(receiver.names() == expected);
  REQUIRE(discard_complete(receiver.files(), "/data").ok());
  REQUIRE(discard_complete(receiver.files(), "/data").ok());
  CHECK(receiver.names() == std::vector<std::string>{"00000001", "CURRENT"});
}

TEST_CASE("a running member opens the generation that is complete, and no other", "[storage]") {
  for (const bool durable : {true, false}) {
    CAPTURE(durable);
    Receiver receiver(durable);
    const auto open = [&](raft::EntryId snapshot) {
      return open_complete(receiver.files(), receiver.options(), snapshot, 2);
    };
    CHECK_THAT(open(kSnapshot).status().to_string(), Catch::Contains("it is missing"));
    REQUIRE(receiver.import(sent_stream()).ok());
    CHECK_THAT(open({3, 899}).status().to_string(), Catch::Contains("it names another"));
    const OpenedEngine opened = *open(kSnapshot);
    CHECK(opened.engine->epoch() == 2);
    CHECK(opened.engine->generation() == 2);
    CHECK(opened.applied.conf_state.voters == std::vector<raft::NodeId>{1, 2});
    REQUIRE(make_complete_current(receiver.files(), "/data").ok());
    receiver.env.crash(9);
    CHECK(receiver.start()->current == Current{2, "test", kSnapshot});
  }
}

TEST_CASE("a crash at any point of import and switch leaves a store that starts", "[storage]") {
  const std::string stream = sent_stream(40);
  for (const bool durable : {true, false}) {
    bool whole = false;
    for (uint64_t calls = 0; !whole; ++calls) {
      for (uint64_t seed = 1; seed <= 8; ++seed) {
        CAPTURE(durable, calls, seed);
        Receiver receiver(durable);
        receiver.env.disk().stop_after(calls);
        // The log gets its record only once the import is complete.
        const bool recorded = receiver.import(stream).ok();
        whole = recorded && make_complete_current(receiver.files(), "/data").ok();
        receiver.env.crash(seed);
        const raft::EntryId log = recorded ? kSnapshot : raft::EntryId{};
        const Result<OpenedEngine> opened = receiver.start(log);
        INFO(opened.status().to_string());
        REQUIRE(opened.has_value());
        CHECK(opened->applied.entry == (recorded ? kSnapshot : raft::EntryId{1, 10}));
        CHECK(receiver.names() == names_of(durable, recorded ? "00000002" : "00000001"));
      }
    }
  }
}

}  // namespace
}  // namespace quorate::storage
