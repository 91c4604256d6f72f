// SPDX-License-Identifier: Apache-2.0
#include "mvcc/record.h"

#include <catch2/catch.hpp>

#include "storage/record_key.h"

namespace quorate::mvcc {
namespace {

std::string bytes(std::initializer_list<int> values) {
  return std::string(values.begin(), values.end());
}

TEST_CASE("a record is written as Go writes it: by field number, zeros left out", "[mvcc]") {
  const Record record{"k", 2, 300, 1, "v", 0};
  CHECK(encode_record(record) ==
        bytes({0x0a, 1, 'k', 0x10, 2, 0x18, 0xac, 2, 0x20, 1, 0x2a, 1, 'v'}));
  CHECK(encode_record({"k"}) == bytes({0x0a, 1, 'k'}));
  CHECK(encode_record({}).empty());
}

TEST_CASE("a negative lease takes ten bytes and comes back", "[mvcc]") {
  const Record record{"k", 1, 1, 1, "", INT64_MIN};
  const std::string encoded = encode_record(record);
  CHECK(encoded.size() == 3 + 2 + 2 + 2 + 11);
  CHECK(parse_record(encoded).value() == record);
}

TEST_CASE("records with every field come back as they were", "[mvcc]") {
  const std::string value(70'000, 'v');
  const Record record{Slice("a\0b", 3), 5, INT64_MAX, 1 << 20, value, -7};
  CHECK(record_size(record) == encode_record(record).size());
  const std::string encoded = encode_record(record);
  CHECK(parse_record(encoded).value() == record);
}

TEST_CASE("unknown fields are skipped, and the last of a repeated one counts", "[mvcc]") {
  std::string encoded = encode_record({"old", 1, 1, 1, "x", 0});
  encoded += bytes({0x38, 5, 0x42, 2, 'z', 'z', 0x4d, 1, 2, 3, 4, 0x51, 1, 2, 3, 4, 5, 6, 7, 8});
  encoded += encode_record({"new", 9});
  const Record record = parse_record(encoded).value();
  CHECK(record.key == "new");
  CHECK(record.create_revision == 9);
  CHECK(record.value == "x");
}

TEST_CASE("a record that is cut short, or is none, is refused", "[mvcc]") {
  const std::string encoded = encode_record({"key", 1, 2, 3, "value", 4});
  CHECK(parse_record(encoded.substr(0, encoded.size() - 1)).status().code() == Code::kCorrupt);
  CHECK(parse_record(encoded.substr(0, 4)).status().code() == Code::kCorrupt);
  CHECK(parse_record(bytes({0x0b})).status().code() == Code::kCorrupt);        // a group
  CHECK(parse_record(bytes({0x02, 0})).status().code() == Code::kCorrupt);     // field number 0
  CHECK(parse_record(bytes({0x0a, 0x7f})).status().code() == Code::kCorrupt);  // beyond the end
}

TEST_CASE("a run is tag, length and record", "[mvcc]") {
  std::string run;
  append_run(run, kRangeTag, std::string(200, 'r'));
  CHECK(run.substr(0, 3) == bytes({0x12, 0xc8, 1}));
  CHECK(run.size() == run_bytes(200));
}

TEST_CASE("the key of a record has 17 bytes, of a tombstone 18, in the order of revisions",
          "[mvcc]") {
  const storage::RecordKey put({258, 3}, false), tombstone({258, 3}, true);
  CHECK(put.slice() == bytes({0, 0, 0, 0, 0, 0, 1, 2, '_', 0, 0, 0, 0, 0, 0, 0, 3}));
  CHECK(tombstone.slice() == std::string(put.slice()) + "t");
  CHECK(put.slice() < tombstone.slice());
  CHECK(tombstone.slice() < storage::RecordKey({258, 4}, false).slice());
  storage::Revision revision;
  bool is_tombstone = false;
  REQUIRE(storage::parse_record_key(tombstone.slice(), revision, is_tombstone));
  CHECK(revision == storage::Revision{258, 3});
  CHECK(is_tombstone);
  CHECK_FALSE(storage::parse_record_key("short", revision, is_tombstone));
  CHECK_FALSE(storage::parse_record_key(std::string(put.slice()) + "x", revision, is_tombstone));
}

}  // namespace
}  // namespace quorate::mvcc
