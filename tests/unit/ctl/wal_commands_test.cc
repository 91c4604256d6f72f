// SPDX-License-Identifier: Apache-2.0
// dump and verify on logs that are whole, torn and damaged, on a simulated disk.
#include <sstream>

#include "daemon/ctl/json.h"
#include "daemon/ctl/wal_dump.h"
#include "daemon/ctl/wal_verify.h"
#include "unit/wal/fixture.h"

namespace quorate::ctl {
namespace {

using wal::test::append_of;
using wal::test::entries;

// Four synced batches of a block each, behind the header in block 0; perhaps a mark behind.
struct Log : wal::test::Fixture {
  Log() {
    create();
    raft::Append first = append_of(entries(1, 1, 2));
    first.hard_state = raft::HardState{1, 8, 0};
    wal->append(std::move(first));
    REQUIRE(wal->sync().ok());
    for (raft::Index i = 3; i <= 5; ++i) {
      hard_state(1, 8, i - 1, false);
      append_synced(entries(1, i, i));
    }
  }
  void flip(uint64_t block, uint64_t byte = 70) {
    disk().flip_bit(path(1), (block * kBlock + byte) * 8);
  }
  Report verify() { return verify_log(disk(), options.dir); }
  std::string dump(Command command = {}) {
    std::string text;
    code = dump_log(disk(), options.dir, command, [&](std::string_view part) { text += part; });
    return text;
  }
  int code = -1;
};

bool tells(const std::string& text, const std::string& words) {
  INFO(text);
  return text.find(words) != std::string::npos;
}

TEST_CASE("a log that was closed is whole", "[ctl]") {
  Log log;
  REQUIRE(log.wal->close().ok());
  const Report report = log.verify();
  CHECK(report.verdict == Verdict::kWhole);
  CHECK(exit_code(report.verdict) == 0);
  CHECK(report.sentence ==
        "/data/wal is whole: entries 1 to 5, committed up to 4, term 1; it ends with a mark");
  CHECK(report.segments == 1);
  CHECK(report.batches == 4);
}

TEST_CASE("the end that a kill leaves is no damage", "[ctl]") {
  Log log;
  const Report report = log.verify();
  CHECK(report.verdict == Verdict::kTorn);
  CHECK(exit_code(report.verdict) == 0);
  CHECK(tells(report.sentence, "it ends without a mark in " + log.path(1) + " at byte 20480"));
}

TEST_CASE("a torn batch is told with what stands before it", "[ctl]") {
  Log log;
  log.flip(4);
  const Report report = log.verify();
  CHECK(report.verdict == Verdict::kTorn);
  CHECK(tells(report.sentence, "entries 1 to 4, committed up to 3"));
  CHECK(tells(report.sentence, "batch 4 in " + log.path(1) + " at byte 16384 was not written"));
}

TEST_CASE("damage is told with place, loss and remedy", "[ctl]") {
  Log log;
  REQUIRE(log.wal->close().ok());
  log.flip(2);
  const Report report = log.verify();
  CHECK(report.verdict == Verdict::kDamaged);
  CHECK(exit_code(report.verdict) == 1);
  CHECK(tells(report.sentence, log.path(1) + " at byte 8192: batch 2 is not whole"));
  CHECK(tells(report.sentence, "Restore the member from a snapshot"));
  CHECK(tells(report.sentence, "Before it stand entries 1 to 2, committed up to 0"));
  CHECK(tells(report.sentence, "behind it 2 batches are whole, from batch 3 on, with entries 4 "));
  CHECK(tells(report.sentence, "lost: entry 3; entries up to 4 were committed"));
}

TEST_CASE("damage to an only header leaves nothing before it", "[ctl]") {
  Log log;
  log.flip(0);
  const Report report = log.verify();
  CHECK(report.verdict == Verdict::kDamaged);
  CHECK(tells(report.sentence, "has a damaged header"));
  CHECK(tells(report.sentence, "Nothing stands before it"));
}

TEST_CASE("damage in one of several segments is found from its successor", "[ctl]") {
  Log log;
  for (raft::Index i = 6; i <= 40; ++i) {
    log.hard_state(1, 8, i - 1, false);
    log.append_synced(entries(1, i, i, 3000));
  }
  REQUIRE(log.segment_files().size() == 3);
  log.flip(15);
  const Report report = log.verify();
  CHECK(report.verdict == Verdict::kDamaged);
  CHECK(tells(report.sentence, "batch 15 is not whole"));
  CHECK(tells(report.sentence, "Before it stand entries 1 to 15"));
  CHECK(tells(report.sentence, "from batch 16 on, with entries 17 to 40"));
}

// Entries 6 to 40 of a block each: three segments.
struct LongLog : Log {
  explicit LongLog(raft::Index last = 40) {
    for (raft::Index i = 6; i <= last; ++i) append_synced(entries(1, i, i, 3000));
    name_next();
  }
};

TEST_CASE("a segment that has its name and is not begun is no part of the log", "[ctl]") {
  LongLog log;
  REQUIRE(log.wal->close().ok());
  const Report report = log.verify();
  CHECK(report.verdict == Verdict::kWhole);
  CHECK(report.segments == 3);
  CHECK(tells(report.sentence, "it ends with a mark"));
}

TEST_CASE("a torn beginning is told with its file, and is no damage", "[ctl]") {
  LongLog log(16);  // fifteen batches
  log.append_synced(entries(1, 17, 17, 3000));
  log.disk().flip_bit(log.path(2), 100);
  const Report report = log.verify();
  CHECK(report.verdict == Verdict::kTorn);
  CHECK(tells(report.sentence, "entries 1 to 16,"));
  CHECK(tells(report.sentence, "batch 16 in " + log.path(2) + " at byte 0 was not written"));
}

TEST_CASE("damage to the newest header is told with what is whole behind it", "[ctl]") {
  LongLog log(16);
  for (raft::Index i = 17; i <= 19; ++i) log.append_synced(entries(1, i, i, 3000));
  log.disk().flip_bit(log.path(2), 100);
  const Report report = log.verify();
  CHECK(report.verdict == Verdict::kDamaged);
  CHECK(tells(report.sentence, log.path(2) + " at byte 0: its header is not whole"));
  CHECK(tells(report.sentence, "Before it stand entries 1 to 16"));
  CHECK(tells(report.sentence, "behind it 3 batches are whole, from batch 16 on, with entries 17"));
}

TEST_CASE("a newer format, an absent log and a failing disk are not called damage", "[ctl]") {
  Log log;
  log.disk().fail(wal::test::SimDisk::Op::kRead, 1, Code::kIoError);
  Report report = log.verify();
  CHECK(report.verdict == Verdict::kUnreadable);
  CHECK(exit_code(report.verdict) == 2);
  REQUIRE(log.disk().remove(log.path(1)).ok());
  CHECK(tells(log.verify().sentence, "/data/wal holds no log"));
}

// Whatever it is asked to look at, quoratectl writes nothing.
TEST_CASE("looking changes nothing on the disk", "[ctl]") {
  for (int block : {0, 2, 4, 9}) {
    Log log;
    log.flip(static_cast<uint64_t>(block));
    const std::string before = log.disk().content(log.path(1));
    const uint64_t writes = log.disk().calls(wal::test::SimDisk::Op::kWrite);
    log.verify();
    log.dump();
    CHECK(log.disk().content(log.path(1)) == before);
    CHECK(log.disk().calls(wal::test::SimDisk::Op::kWrite) == writes);
  }
}

TEST_CASE("a dump shows segments, batches, records, the mark and the report", "[ctl]") {
  Log log;
  REQUIRE(log.wal->mark_end().ok());
  const std::string text = log.dump();
  INFO(text);
  CHECK(log.code == 0);
  CHECK(tells(text, "segment 1: " + log.path(1) + ", 65536 bytes, format 2, cluster 7, member 8"));
  CHECK(tells(text, "  batch 1 at byte 4096: "));
  CHECK(tells(text, "    entry 1 of term 1, normal, 10 bytes: "));
  CHECK(tells(text, "    hard state Term:1 Vote:8 Commit:2\n"));
  CHECK(tells(text, "  end mark at byte 20480: vouches for batches up to 4"));
  CHECK(tells(text, "it ends with a mark\n"));
}

TEST_CASE("a range of entries leaves the other batches out", "[ctl]") {
  Log log;
  Command command;
  command.first = command.last = 3;
  const std::string text = log.dump(command);
  CHECK(tells(text, "entry 3 of term 1"));
  CHECK(tells(text, "batch 2 at"));
  CHECK_FALSE(tells(text, "entry 4 of"));
  CHECK_FALSE(tells(text, "batch 1 at"));
  CHECK_FALSE(tells(text, "batch 3 at"));
}

TEST_CASE("a dump of a damaged log shows what stands before, and fails", "[ctl]") {
  Log log;
  REQUIRE(log.wal->close().ok());
  log.flip(2);
  const std::string text = log.dump();
  CHECK(log.code == 1);
  CHECK(tells(text, "entry 2 of term 1"));
  CHECK_FALSE(tells(text, "entry 3 of term 1"));
  CHECK(tells(text, "batch 2 is not whole"));
}

TEST_CASE("every line of a JSON dump is an object, the report the last", "[ctl]") {
  Log log;
  REQUIRE(log.wal->close().ok());
  Command command;
  command.json = true;
  std::istringstream lines(log.dump(command));
  std::vector<std::string> objects;
  for (std::string line; std::getline(lines, line);) objects.push_back(line);
  REQUIRE(objects.size() > 10);
  for (const std::string& object : objects) {
    CHECK(object.starts_with("{\""));
    CHECK(object.ends_with('}'));
  }
  CHECK(tells(objects.front(), R"("type":"segment","segment":1,"path":"/data/wal/)"));
  CHECK(tells(objects.at(1), R"({"type":"batch","batch":1,"offset":4096,)"));
  CHECK(tells(objects.at(2), R"({"type":"entry","index":1,"term":1,"kind":"normal","bytes":10,)"));
  CHECK(tells(objects.back(), R"({"verdict":"whole","segments":1,"batches":4,"base":0,"last":5,)"));
}

TEST_CASE("a JSON string holds whatever a path holds", "[ctl]") {
  CHECK(json_string("a\"b\\c\n") == R"("a\"b\\c\u000a")");
}

}  // namespace
}  // namespace quorate::ctl
