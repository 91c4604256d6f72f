// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <catch2/catch.hpp>

#include "base/coding.h"
#include "base/slab.h"

namespace quorate {
namespace {

TEST_CASE("parts of shared bytes keep the whole alive", "[bytes]") {
  Bytes part;
  {
    const Bytes whole = Bytes::copy("hello world");
    part = whole.sub(6, 5);
  }
  CHECK(part.slice() == "world");
}

TEST_CASE("lent bytes live on while the other side retains them", "[bytes]") {
  quorate_buf lent;
  {
    const Bytes bytes = Bytes::take(std::string(100, 'x'));
    lent = bytes.lend();
    lent.retain(lent.owner);
  }
  CHECK(from_c(lent.bytes) == std::string(100, 'x'));
  lent.release(lent.owner);
}

TEST_CASE("a slab counts its memory until the last share of it is gone", "[bytes]") {
  auto counter = std::make_shared<SlabCounter>();
  Bytes a;
  {
    Slab slab(16, counter);
    a = slab.copy("abc");
    CHECK(slab.copy("defgh").slice() == "defgh");
    CHECK(counter->held_bytes() == 16);
  }
  CHECK(a.slice() == "abc");
  CHECK(counter->held_bytes() == 16);
  a = {};
  CHECK(counter->held_bytes() == 0);
}

TEST_CASE("an arena hands out aligned memory and starts over on reset", "[bytes]") {
  Arena arena(64);
  CHECK(reinterpret_cast<uintptr_t>(arena.allocate(3)) % 8 == 0);
  CHECK(arena.copy(std::string(1000, 'y')).size() == 1000);
  arena.reset();
  CHECK(arena.allocated_bytes() == 64);
}

TEST_CASE("varints come back as they were, and a cut one is refused", "[coding]") {
  for (uint64_t value : {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{300}, ~uint64_t{0}}) {
    std::string bytes;
    put_varint(bytes, value);
    CHECK(bytes.size() == varint_size(value));
    Slice rest = bytes;
    uint64_t read = 1;
    REQUIRE(take_varint(rest, read));
    CHECK(read == value);
    CHECK(rest.empty());
    rest = Slice(bytes).substr(0, bytes.size() - 1);
    CHECK_FALSE(take_varint(rest, read));
  }
  Slice overlong("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
  uint64_t read = 0;
  CHECK_FALSE(take_varint(overlong, read));
}

TEST_CASE("big-endian numbers sort as bytes", "[coding]") {
  std::string small, large;
  put_be64(small, 255);
  put_be64(large, 256);
  CHECK(small < large);
  CHECK(get_be64(large.data()) == 256);
}

}  // namespace
}  // namespace quorate
