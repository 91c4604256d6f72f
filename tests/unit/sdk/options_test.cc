// SPDX-License-Identifier: Apache-2.0
#include "sdk/options.h"

#include <vector>

#include <catch2/catch.hpp>

namespace quorate::sdk {
namespace {

constexpr quorate_option_spec kSpecs[] = {
    {"jobs", "2", "", QUORATE_OPTION_INT, 0},
    {"sync", "true", "", QUORATE_OPTION_BOOL, 0},
    {"cache", "64MiB", "", QUORATE_OPTION_BYTES, 0},
    {"wait", "100ms", "", QUORATE_OPTION_DURATION_MS, 0},
    {"name", nullptr, "", QUORATE_OPTION_STRING, 0},
};

Options options(const std::vector<quorate_option>& given) {
  return Options(kSpecs, given.data(), static_cast<uint32_t>(given.size()));
}

TEST_CASE("an option that was not given has its default", "[options]") {
  const Options none = options({});
  CHECK(none.integer("jobs") == 2);
  CHECK(none.boolean("sync"));
  CHECK(none.bytes("cache") == 64u << 20);
  CHECK(none.duration_ms("wait") == 100);
  CHECK(none.text("name") == nullptr);
}

TEST_CASE("an option that was given has its value, given twice its last", "[options]") {
  const std::vector<quorate_option> given = {
      {"jobs", "-3"}, {"sync", "false"}, {"cache", "1"}, {"wait", "2h"}, {"cache", "3KiB"}};
  const Options all = options(given);
  CHECK(all.integer("jobs") == -3);
  CHECK_FALSE(all.boolean("sync"));
  CHECK(all.bytes("cache") == 3072);
  CHECK(all.duration_ms("wait") == 2 * 60 * 60 * 1000);
}

TEST_CASE("a bad value is refused with key, value and an example", "[options]") {
  const std::vector<quorate_option> given = {
      {"jobs", "2x"}, {"sync", "yes"}, {"cache", "64MB"}, {"wait", ""}};
  const Options bad = options(given);
  CHECK_THROWS_WITH(bad.integer("jobs"),
                    "option jobs is '2x'; write a whole number, for instance 4");
  CHECK_THROWS_WITH(bad.boolean("sync"), "option sync is 'yes'; write true or false");
  CHECK_THROWS_WITH(bad.bytes("cache"), "option cache is '64MB'; write a size, for instance 64MiB");
  CHECK_THROWS_WITH(bad.duration_ms("wait"),
                    "option wait is ''; write a duration, for instance 100ms or 5s");
}

TEST_CASE("a size that does not fit in 64 bits is refused", "[options]") {
  CHECK(parse_bytes("16777215TiB") == uint64_t{16777215} << 40);
  CHECK_FALSE(parse_bytes("16777216TiB"));
  CHECK_FALSE(parse_bytes("18446744073709551616"));
  CHECK_FALSE(parse_bytes("-1"));
}

TEST_CASE("an unknown key is refused with the list of valid ones", "[options]") {
  const std::vector<quorate_option> given = {{"job", "2"}};
  CHECK_THROWS_WITH(options(given), "unknown option job; write one of: jobs sync cache wait name");
  const std::vector<quorate_option> any = {{"x", "1"}};
  CHECK_THROWS_WITH(Options({}, any.data(), 1), "unknown option x; this plugin has none");
}

TEST_CASE("a required option that is missing is refused", "[options]") {
  constexpr quorate_option_spec required[] = {
      {"url", nullptr, "", QUORATE_OPTION_STRING, QUORATE_OPTION_REQUIRED}};
  CHECK_THROWS_WITH(Options(required, nullptr, 0), "option url is missing; it has no default");
}

}  // namespace
}  // namespace quorate::sdk
