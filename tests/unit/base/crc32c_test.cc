// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <catch2/catch.hpp>

#include "base/random.h"

namespace quorate {
namespace {

TEST_CASE("the published test vectors come out", "[crc32c]") {
  std::string rising, falling;
  for (int i = 0; i < 32; ++i) {
    rising.push_back(static_cast<char>(i));
    falling.push_back(static_cast<char>(31 - i));
  }
  for (auto compute : {crc32c, crc32c_by_table}) {
    CHECK(compute("", 0) == 0);
    CHECK(compute("123456789", 0) == 0xe3069283);
    CHECK(compute(std::string(32, '\0'), 0) == 0x8a9136aa);
    CHECK(compute(std::string(32, '\xff'), 0) == 0x62a8ab43);
    CHECK(compute(rising, 0) == 0x46dd794e);
    CHECK(compute(falling, 0) == 0x113fdb5c);
  }
}

TEST_CASE("instruction and table agree, whole and in parts", "[crc32c]") {
  Random random(1);
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    bytes.push_back(static_cast<char>(random.next()));
    const Slice whole = bytes;
    const size_t cut = random.below(bytes.size() + 1);
    REQUIRE(crc32c(whole) == crc32c_by_table(whole));
    REQUIRE(crc32c(whole.substr(cut), crc32c(whole.substr(0, cut))) == crc32c(whole));
  }
}

TEST_CASE("instruction and table agree around lengths that are summed in parts", "[crc32c]") {
  Random random(2);
  std::string bytes(5000, '\0');
  for (char& c : bytes) c = static_cast<char>(random.next());
  for (const size_t size :
       {767, 768, 769, 776, 1536, 1537, 2047, 2048, 2049, 2303, 2304, 4096, 5000})
    for (const uint32_t before : {0u, 1u, ~0u})
      REQUIRE(crc32c(Slice(bytes).substr(0, size), before) ==
              crc32c_by_table(Slice(bytes).substr(0, size), before));
}

}  // namespace
}  // namespace quorate
