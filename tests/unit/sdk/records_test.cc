// SPDX-License-Identifier: Apache-2.0
#include "sdk/records.h"

#include <algorithm>

#include <catch2/catch.hpp>

namespace quorate::sdk {
namespace {

using namespace std::string_literals;

// key "k", created at 2, modified at 300, version 1, value "vv", lease 7.
const std::string kRecord = "\x0a\x01k\x10\x02\x18\xac\x02\x20\x01\x2a\x02vv\x30\x07"s;
const std::string kTombstone = "\x0a\x01k"s;

std::string run_of(std::initializer_list<std::string> records, uint8_t tag = kRangeRunTag) {
  std::string run;
  for (const std::string& record : records) {
    run.push_back(static_cast<char>(tag));
    append_varint(run, record.size());
    run += record;
  }
  return run;
}

TEST_CASE("every field of a record is found in place", "[records]") {
  const auto kv = read_record(kRecord);
  REQUIRE(kv);
  CHECK(kv->key == "k");
  CHECK(kv->key.data() == kRecord.data() + 2);
  CHECK(kv->create_revision == 2);
  CHECK(kv->mod_revision == 300);
  CHECK(kv->version == 1);
  CHECK(kv->value == "vv");
  CHECK(kv->lease == 7);
}

TEST_CASE("fields left out read as zero", "[records]") {
  const auto kv = read_record(kTombstone);
  REQUIRE(kv);
  CHECK(kv->key == "k");
  CHECK(kv->mod_revision == 0);
  CHECK(kv->value.empty());
  REQUIRE(read_record(""));
}

TEST_CASE("a negative lease comes back negative", "[records]") {
  const auto kv = read_record("\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  REQUIRE(kv);
  CHECK(kv->lease == -1);
}

TEST_CASE("a record cut anywhere inside a field is refused", "[records]") {
  const std::string whole[] = {"",
                               "\x0a\x01k"s,
                               "\x0a\x01k\x10\x02"s,
                               kRecord.substr(0, 8),
                               kRecord.substr(0, 10),
                               kRecord.substr(0, 14)};
  for (size_t size = 0; size < kRecord.size(); ++size) {
    const std::string cut = kRecord.substr(0, size);
    const bool at_border = std::find(std::begin(whole), std::end(whole), cut) != std::end(whole);
    INFO("cut at " << size);
    CHECK(read_record(cut).has_value() == at_border);
  }
}

TEST_CASE("what is not canonical is refused", "[records]") {
  CHECK_FALSE(read_record("\x18\x02\x10\x02"));           // out of order
  CHECK_FALSE(read_record("\x10\x02\x10\x02"));           // twice
  CHECK_FALSE(read_record("\x38\x01"));                   // no field 7
  CHECK_FALSE(read_record("\x08\x01"));                   // field 1 as a number
  CHECK_FALSE(read_record("\x0a\xff\xff\xff\xff\x0fk"));  // longer than what is there
}

TEST_CASE("a record without its value keeps all the rest", "[records]") {
  const auto kv = read_record(kRecord);
  REQUIRE(kv);
  CHECK(std::string(kv->before_value) + std::string(kv->after_value) ==
        "\x0a\x01k\x10\x02\x18\xac\x02\x20\x01\x30\x07"s);
  CHECK(read_record(kTombstone)->before_value == kTombstone);
  CHECK(read_record(kTombstone)->after_value.empty());
}

TEST_CASE("a run gives its records in order and ends undamaged", "[records]") {
  const std::string run = run_of({kRecord, "", kTombstone});
  RunReader reader(run, kRangeRunTag);
  REQUIRE(reader.next());
  CHECK(reader.record() == kRecord);
  REQUIRE(reader.next());
  CHECK(reader.record().empty());
  REQUIRE(reader.next());
  CHECK(reader.record() == kTombstone);
  CHECK_FALSE(reader.next());
  CHECK_FALSE(reader.damaged());
}

TEST_CASE("a run with another tag, or one that is cut, is damaged", "[records]") {
  const std::string run = run_of({kRecord, kRecord});
  RunReader other(run, kPreviousRunTag);
  CHECK_FALSE(other.next());
  CHECK(other.damaged());

  RunReader cut(std::string_view(run).substr(0, run.size() - 1), kRangeRunTag);
  CHECK(cut.next());
  CHECK_FALSE(cut.next());
  CHECK(cut.damaged());
  CHECK_FALSE(cut.next());
}

TEST_CASE("a run for keys only is the run of the records without values", "[records]") {
  const std::string large_value = "\x0a\x01k\x2a\xac\x02"s + std::string(300, 'v');
  std::string keys_only = "before";
  REQUIRE(append_run_without_values(keys_only, run_of({large_value, kTombstone}), kRangeRunTag));
  CHECK(keys_only == "before" + run_of({kTombstone, kTombstone}));
  CHECK_FALSE(append_run_without_values(keys_only, run_of({"\x38\x01"}), kRangeRunTag));
}

}  // namespace
}  // namespace quorate::sdk
