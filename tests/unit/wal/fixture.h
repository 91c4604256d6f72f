// SPDX-License-Identifier: Apache-2.0
// A log on a simulated disk, in verbs.
#pragma once

#include <catch2/catch.hpp>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/test_env.h"
#include "wal/wal.h"

namespace quorate::wal::test {

using quorate::test::SimDisk;
using quorate::test::TestEnv;

inline raft::Entry entry(raft::Term term, raft::Index index, std::string payload = "x") {
  return {term, index, raft::EntryType::kNormal, Bytes::take(std::move(payload))};
}

// Entries first, ..., last of one term, each with a payload of `size` bytes.
inline std::vector<raft::Entry> entries(raft::Term term, raft::Index first, raft::Index last,
                                        size_t size = 10) {
  std::vector<raft::Entry> result;
  for (raft::Index index = first; index <= last; ++index)
    result.push_back(entry(term, index, std::string(size, static_cast<char>('a' + index % 26))));
  return result;
}

inline raft::Append append_of(std::vector<raft::Entry> entries) {
  raft::Append append;
  append.entries = std::move(entries);
  append.must_sync = true;
  return append;
}

// Remembers the lines.
class LineSink final : public LogSink {
 public:
  bool enabled(LogLevel) const override { return true; }
  void write(LogLevel, std::string_view, std::string_view text) override {
    lines.emplace_back(text);
  }
  std::vector<std::string> lines;
};

struct Fixture {
  static constexpr uint64_t kBlock = kBlockBytes;

  Fixture() {
    options.dir = "/data/wal";
    options.segment_bytes = 16 * kBlock;
  }

  TestEnv env;
  LineSink sink;
  Options options;
  std::unique_ptr<Wal> wal;
  Recovered found;

  SimDisk& disk() { return env.disk(); }
  Logger logger() { return Logger(&sink, "wal"); }
  std::string path(uint64_t segment) const { return options.dir + "/" + segment_name(segment); }

  void create(const std::optional<raft::SnapshotMeta>& base = std::nullopt) {
    auto made = Wal::create(env, options, {7, 8}, base, logger());
    REQUIRE(made.status().to_string() == "ok");
    wal = std::move(*made);
  }
  Status open() {
    wal.reset();
    auto opened = Wal::open(env, options, logger(), found);
    if (opened) wal = std::move(*opened);
    return opened.status();
  }
  void reopen() { REQUIRE(open().to_string() == "ok"); }
  // As after kill -9: what was written is still to be seen.
  void kill_and_reopen() {
    wal.reset();
    disk().kill();
    reopen();
  }
  void power_cut(uint64_t seed) {
    wal.reset();
    env.crash(seed);
  }

  void append(std::vector<raft::Entry> entries) { wal->append(append_of(std::move(entries))); }
  void append_synced(std::vector<raft::Entry> entries) {
    append(std::move(entries));
    REQUIRE(wal->sync().to_string() == "ok");
  }
  void hard_state(raft::Term term, raft::NodeId vote, raft::Index commit, bool must_sync = true) {
    raft::Append append = append_of({});
    append.hard_state = raft::HardState{term, vote, commit};
    append.must_sync = must_sync;
    wal->append(std::move(append));
  }
  // What the pool does in a member.
  void make_spare() {
    SpareMaker maker(disk(), wal->next_spare_path(), options.segment_bytes, options.sync);
    for (;;) {
      auto spare = maker.step();
      REQUIRE(spare.has_value());
      if (*spare) return wal->add_spare(**spare);
    }
  }
  void name_next() {
    if (wal->spares() == 0) make_spare();
    const auto next = wal->name_next();
    REQUIRE(next);
    REQUIRE(name_segment(disk(), options.dir, *next, true).ok());
    wal->next_named(next->number);
  }
  std::vector<std::string> segment_files() {
    std::vector<std::string> names;
    const auto listed = disk().list(options.dir);
    for (const std::string& name : *listed)
      if (segment_number(name) != 0) names.push_back(name);
    return names;
  }

  // "1:1 1:2 2:3", term and index of what was found behind the base.
  std::string found_log() const {
    std::string text;
    for (const raft::Entry& e : found.log.entries)
      text += (text.empty() ? "" : " ") + std::to_string(e.term) + ":" + std::to_string(e.index);
    return text;
  }
};

}  // namespace quorate::wal::test
