// SPDX-License-Identifier: Apache-2.0
#include "backend_lmdb/record.h"

#include <catch2/catch.hpp>

#include "sdk/error.h"

namespace quorate::backend_lmdb {
namespace {

std::string with_checksum(uint32_t seed, std::string_view key, std::string data) {
  const uint32_t checksum = record_checksum(seed, key, data);
  return data.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
}

TEST_CASE("a checksum covers bucket, key and data", "[record]") {
  const std::string stored = with_checksum(7, "key", "data");
  CHECK(checked_data(7, "key", stored) == "data");
  CHECK_THROWS_AS(checked_data(8, "key", stored), sdk::Failure);
  CHECK_THROWS_AS(checked_data(7, "kez", stored), sdk::Failure);
  CHECK_THROWS_AS(checked_data(7, "key", "e" + stored.substr(1)), sdk::Failure);
  CHECK_THROWS_AS(checked_data(7, "key", stored.substr(1)), sdk::Failure);
  CHECK_THROWS_AS(checked_data(7, "key", "abc"), sdk::Failure);
}

TEST_CASE("a shelf keeps its entries in order, replaces and lets go of them", "[record]") {
  std::string shelf;
  for (const char* rest : {"m", "", "z", "a"}) shelf = shelf_with(shelf, rest, "1");
  shelf = shelf_with(shelf, "m", "2");
  shelf = shelf_without(shelf, "z");
  shelf = shelf_without(shelf, "not there");
  std::string walked;
  ShelfReader reader(shelf);
  while (reader.next())
    walked += "(" + std::string(reader.key_rest()) + "=" + std::string(reader.value()) + ")";
  CHECK(walked == "(=1)(a=1)(m=2)");
  for (const char* rest : {"m", "", "a"}) shelf = shelf_without(shelf, rest);
  CHECK(shelf.empty());
}

}  // namespace
}  // namespace quorate::backend_lmdb
