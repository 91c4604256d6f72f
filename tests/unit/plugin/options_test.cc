// SPDX-License-Identifier: Apache-2.0
#include "plugin/options.h"

#include <catch2/catch.hpp>

namespace quorate::plugin {
namespace {

constexpr quorate_option_spec kSpecs[] = {
    {"map-size", "1GiB", "how large the store may grow", QUORATE_OPTION_BYTES, 0},
    {"sync-every", "100ms", "pause between two syncs", QUORATE_OPTION_DURATION_MS, 0},
    {"readers", nullptr, "views open at once", QUORATE_OPTION_INT, 0},
    {"checksums", "true", "", QUORATE_OPTION_BOOL, 0},
    {"key-file", nullptr, "where the key lies", QUORATE_OPTION_PATH, 0},
    {"label", nullptr, nullptr, QUORATE_OPTION_STRING, 0},
    {"password", nullptr, "the key's password", QUORATE_OPTION_INT, QUORATE_OPTION_SECRET},
};
constexpr quorate_option_spec kRequired[] = {
    {"url", nullptr, "where the service is", QUORATE_OPTION_STRING, QUORATE_OPTION_REQUIRED}};

std::string plain(const std::string& key, const std::string& value) {
  const Result<Options> checked = check_options("x", kSpecs, {{key, value}});
  if (!checked) return std::string(checked.error().message());
  REQUIRE(checked->size() == 1);
  CHECK(checked->front().key == key);
  return checked->front().value;
}

std::string refusal(OptionSpecs specs, const Options& given) {
  const Result<Options> checked = check_options("lmdb", specs, given);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code() == Code::kInvalidArgument);
  return std::string(checked.error().message());
}

TEST_CASE("good values are handed on in plain spelling", "[options]") {
  CHECK(plain("map-size", "0") == "0");
  CHECK(plain("map-size", "7B") == "7");
  CHECK(plain("map-size", "3KiB") == "3072");
  CHECK(plain("map-size", "2TiB") == "2199023255552");
  CHECK(plain("sync-every", "5") == "5");
  CHECK(plain("sync-every", "5ms") == "5");
  CHECK(plain("sync-every", "2h") == "7200000");
  CHECK(plain("readers", "-007") == "-7");
  CHECK(plain("checksums", "false") == "false");
  CHECK(plain("key-file", "/a b") == "/a b");
  CHECK(plain("label", "") == "");
}

TEST_CASE("a bad value is refused with what to write", "[options]") {
  for (const char* value : {"", "-1", "1 KiB", "KiB", "1kb", "9000000TiB", "99999999999999999999"})
    CHECK(plain("map-size", value) == "x: option \"map-size\" cannot be \"" + std::string(value) +
                                          "\": write a size, as 64MiB (B, KiB, MiB, GiB, TiB)");
  CHECK(plain("sync-every", "1d") ==
        "x: option \"sync-every\" cannot be \"1d\": write a duration, as 100ms (ms, s, m, h)");
  CHECK(plain("readers", "4.5") ==
        "x: option \"readers\" cannot be \"4.5\": write a whole number, as 4");
  CHECK(plain("checksums", "yes") ==
        "x: option \"checksums\" cannot be \"yes\": write true or false");
  CHECK(plain("key-file", "") == "x: option \"key-file\" cannot be \"\": write a path");
}

TEST_CASE("a secret's value is in no sentence", "[options]") {
  CHECK(plain("password", "hunter2") ==
        "x: option \"password\" cannot be what was given: write a whole number, as 4");
}

TEST_CASE("an unknown option is refused with the list of those there are", "[options]") {
  CHECK(refusal(OptionSpecs(kSpecs, 2), {{"mapsize", "1"}}) ==
        "lmdb: unknown option \"mapsize\"; its options are:\n"
        "  map-size (bytes, default 1GiB): how large the store may grow\n"
        "  sync-every (duration, default 100ms): pause between two syncs");
  CHECK(refusal({}, {{"mapsize", "1"}}) == "lmdb: unknown option \"mapsize\": it takes no options");
}

TEST_CASE("an option given twice is refused", "[options]") {
  CHECK(refusal(kSpecs, {{"readers", "1"}, {"label", "a"}, {"readers", "2"}}) ==
        "lmdb: option \"readers\" is given twice");
}

TEST_CASE("a required option that is missing is refused with its help", "[options]") {
  CHECK(refusal(kRequired, {}) ==
        "lmdb: a required option is missing: url (text, required): where the service is");
  CHECK(check_options("lmdb", kRequired, {{"url", "a"}}));
}

}  // namespace
}  // namespace quorate::plugin
