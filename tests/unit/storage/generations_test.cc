// SPDX-License-Identifier: Apache-2.0
#include "storage/generations.h"

#include <catch2/catch.hpp>

#include "storage/checkpoint.h"
#include "storage/write_buffer.h"
#include "support/test_engine.h"
#include "support/test_env.h"

namespace quorate::storage {
namespace {

using test::TestEngineDisk;

class DataDir {
 public:
  explicit DataDir(bool durable = true) : engine_disk(durable) {
    REQUIRE(create_dir_durably(files(), "/data").ok());
  }

  FileSystem& files() { return env.files(); }
  Result<OpenedEngine> open(const std::string& engine = "test", bool may_create = true) {
    OpenOptions options;
    options.data_dir = "/data";
    options.engine = engine;
    options.may_create = may_create;
    options.open = [this](const std::string& dir) {
      opened_dir = dir;
      return engine_disk.open();
    };
    return open_engine(files(), options);
  }
  std::string refusal(const std::string& engine = "test", bool may_create = true) {
    return open(engine, may_create).status().to_string();
  }
  std::string current() { return read_file(files(), "/data/backend/CURRENT").value(); }
  void write(Engine& engine, uint64_t batch, raft::Index index) {
    WriteBuffer buffer;
    buffer.put_small(Bucket::kLease, "lease", std::to_string(batch));
    char* to = buffer.append_record({static_cast<int64_t>(batch), 0}, false, 3);
    std::copy_n("abc", 3, to);
    buffer.records()->publish();
    Applied applied;
    applied.entry = {1, index};
    REQUIRE(engine.write(buffer.freeze(1, batch, applied)->ops(), batch).ok());
  }

  test::TestEnv env;
  TestEngineDisk engine_disk;
  std::string opened_dir;
};

TEST_CASE("a first start makes generation 1 and a CURRENT that names it", "[storage]") {
  DataDir data;
  {
    const OpenedEngine opened = *data.open();
    CHECK(opened.is_new);
    CHECK(opened.durable == 0);
    CHECK(data.opened_dir == "/data/backend/00000001");
  }
  const Current current = decode_current(data.current(), "CURRENT").value();
  CHECK(current == Current{1, "test", {}});
  CHECK_FALSE(data.open("test", false)->is_new == false);
}

TEST_CASE("a store comes back with what was applied, after a crash too", "[storage]") {
  DataDir data;
  data.write(*data.open()->engine, 1, 17);
  data.env.crash(3);
  const OpenedEngine opened = *data.open("test", false);
  CHECK_FALSE(opened.is_new);
  CHECK(opened.applied.entry == raft::EntryId{1, 17});
  CHECK(opened.durable == 17);
}

TEST_CASE("the directory of another engine is refused with both names", "[storage]") {
  DataDir data;
  REQUIRE(data.open().status().ok());
  CHECK(
      data.refusal("lmdb") ==
      "invalid_argument: /data/backend holds a store of the engine 'test', not 'lmdb'; start with "
      "--backend test, or give an empty data directory");
}

TEST_CASE("a CURRENT that is missing or damaged, and a missing generation, are refused",
          "[storage]") {
  DataDir data;
  REQUIRE(data.open().status().ok());
  const std::string good = data.current();
  std::string bad = good;
  bad[good.find("generation") + 11] = '2';
  REQUIRE(write_file_atomically(data.files(), "/data/backend/CURRENT", bad).ok());
  CHECK_THAT(data.refusal(), Catch::Contains("corrupt: /data/backend/CURRENT is damaged"));
  REQUIRE(write_file_atomically(data.files(), "/data/backend/CURRENT", good).ok());
  REQUIRE(data.files().remove_all("/data/backend/00000001").ok());
  CHECK_THAT(data.refusal(), Catch::Contains("00000001, which is missing"));
  REQUIRE(data.files().remove("/data/backend/CURRENT").ok());
  CHECK_THAT(data.refusal("test", false), Catch::Contains("CURRENT is missing"));
}

TEST_CASE("a start deletes every generation but the live one", "[storage]") {
  DataDir data;
  REQUIRE(data.open().status().ok());
  REQUIRE(data.files().create_dir("/data/backend/00000002").ok());
  REQUIRE(write_file_atomically(data.files(), "/data/backend/00000002/x", "x").ok());
  REQUIRE(data.open().status().ok());
  CHECK(data.files().list("/data/backend").value() ==
        std::vector<std::string>{"00000001", "CURRENT"});
}

TEST_CASE("CURRENT comes back from its text, and no changed byte goes unseen", "[storage]") {
  const Current current{42, "rocksdb", {7, 900}};
  const std::string text = encode_current(current);
  CHECK(decode_current(text, "CURRENT").value() == current);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] ^= 1;
    CHECK(decode_current(changed, "CURRENT").status().code() == Code::kCorrupt);
    CHECK(decode_current(text.substr(0, i), "CURRENT").status().code() == Code::kCorrupt);
  }
}

TEST_CASE("the applied record comes back, and no changed byte goes unseen", "[storage]") {
  Applied applied;
  applied.entry = {5, 1234};
  applied.revision = 99;
  applied.compact_scheduled = 50;
  applied.compact_finished = 40;
  applied.state_hash = ~0ull;
  applied.conf_state = {{1, 2, 3}, {4}, {1, 2}, {5}, true};
  const std::string bytes = encode_applied(applied);
  CHECK(decode_applied(bytes).value() == applied);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] ^= 0x40;
    CHECK_FALSE(decode_applied(changed).has_value());
    CHECK_FALSE(decode_applied(bytes.substr(0, i)).has_value());
  }
}

TEST_CASE("an engine without durability comes back from its checkpoint", "[storage]") {
  DataDir data(false);
  {
    const OpenedEngine opened = *data.open();
    data.write(*opened.engine, 1, 10);
    CHECK(write_checkpoint(data.files(), checkpoint_path("/data", 1), opened.engine).value() == 10);
    data.write(*opened.engine, 2, 20);
  }
  data.env.crash(5);
  const OpenedEngine opened = *data.open("test", false);
  CHECK(opened.applied.entry.index == 10);
  CHECK(data.engine_disk.content()->at(number(Bucket::kLease)).at("lease") == "1");
  CHECK(data.engine_disk.content()->at(number(Bucket::kKey)).size() == 1);
}

TEST_CASE("a checkpoint that a crash cut leaves the last one", "[storage]") {
  DataDir data(false);
  {
    const OpenedEngine opened = *data.open();
    data.write(*opened.engine, 1, 10);
    REQUIRE(write_checkpoint(data.files(), checkpoint_path("/data", 1), opened.engine).has_value());
    data.write(*opened.engine, 2, 20);
    CheckpointJob job(&data.files(), checkpoint_path("/data", 1), opened.engine,
                      [](Result<raft::Index>) { FAIL("it was cut"); });
    auto half = data.files().open(checkpoint_path("/data", 1) + ".new", OpenMode::kReplace);
    REQUIRE(half.has_value());
    const Slice part = "half";
    REQUIRE((*half)->write(0, {&part, 1}).ok());
  }
  data.env.crash(6);
  CHECK(data.open("test", false)->applied.entry.index == 10);
  CHECK_FALSE(data.files().exists(checkpoint_path("/data", 1) + ".new"));
}

TEST_CASE("a damaged checkpoint is refused with its path", "[storage]") {
  DataDir data(false);
  {
    const OpenedEngine opened = *data.open();
    data.write(*opened.engine, 1, 10);
    REQUIRE(write_checkpoint(data.files(), checkpoint_path("/data", 1), opened.engine).has_value());
  }
  std::string bytes = read_file(data.files(), checkpoint_path("/data", 1)).value();
  bytes[bytes.size() / 2] ^= 1;
  REQUIRE(write_file_atomically(data.files(), checkpoint_path("/data", 1), bytes).ok());
  CHECK_THAT(data.refusal("test", false),
             Catch::Contains("corrupt: /data/backend/CHECKPOINT-00000001"));
}

std::string stream_of(TestEngineDisk& disk) {
  auto engine = std::make_shared<Engine>(*disk.open(), 1, 1);
  SnapshotWriter writer = *SnapshotWriter::open(*engine->view(0));
  std::string stream;
  while (writer.next(stream).value()) {
  }
  return stream;
}

void fill(TestEngineDisk& disk) {
  for (int i = 0; i < 2000; ++i) {
    const std::string value(static_cast<size_t>(i % 700), static_cast<char>(i));
    disk.tamper(static_cast<Bucket>(i % 9), std::to_string(i * 7919), value);
  }
  Applied applied;
  applied.entry = {2, 33};
  disk.tamper(Bucket::kMeta, kAppliedKey, encode_applied(applied));
}

TEST_CASE("a stream fed in any pieces fills an engine with the same content", "[storage]") {
  TestEngineDisk from, to;
  fill(from);
  const std::string stream = stream_of(from);
  auto engine = std::make_shared<Engine>(*to.open(), 1, 1);
  SnapshotImporter importer(engine.get());
  for (size_t at = 0, size = 1; at < stream.size(); at += size, size = size * 3 % 100'003 + 1)
    REQUIRE(importer.feed(Slice(stream).substr(at, size)).ok());
  REQUIRE(importer.finish().ok());
  CHECK(importer.applied().entry == raft::EntryId{2, 33});
  CHECK(*to.content() == *from.content());
}

TEST_CASE("a stream that is cut or changed anywhere is refused", "[storage]") {
  TestEngineDisk from;
  from.tamper(Bucket::kLease, "key", "value");
  const std::string stream = stream_of(from);
  const auto import = [](Slice bytes) {
    TestEngineDisk to;
    auto engine = std::make_shared<Engine>(*to.open(), 1, 1);
    SnapshotImporter importer(engine.get());
    const Status status = importer.feed(bytes);
    return status.ok() ? importer.finish() : status;
  };
  CHECK(import(stream).ok());
  CHECK(import(stream + "x").code() == Code::kCorrupt);
  for (size_t i = 0; i < stream.size(); ++i) {
    CHECK(import(stream.substr(0, i)).code() == Code::kCorrupt);
    std::string changed = stream;
    changed[i] ^= 1;
    CHECK(import(changed).code() == Code::kCorrupt);
  }
}

}  // namespace
}  // namespace quorate::storage
