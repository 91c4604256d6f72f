// SPDX-License-Identifier: Apache-2.0
#include "schemas/segment.h"

#include <catch2/catch.hpp>
#include <string>

#include "schemas/api.capnp.h"

namespace quorate::schema {
namespace {

std::string_view put_request(SegmentBuilder& builder, const std::string& value, size_t expected) {
  auto put = builder.start<Request>(expected).initPut();
  put.setKey(kj::StringPtr("key").asBytes());
  put.setValue(kj::arrayPtr(reinterpret_cast<const kj::byte*>(value.data()), value.size()));
  return builder.finish();
}

size_t value_size(std::string_view bytes) {
  REQUIRE(SegmentReader::well_formed(bytes));
  SegmentReader reader(bytes);
  return reader.root<Request>().getPut().getValue().size();
}

TEST_CASE("a message comes back from its bare segment", "[segment]") {
  SegmentBuilder builder;
  CHECK(value_size(put_request(builder, std::string(100, 'v'), 200)) == 100);
}

TEST_CASE("a message that outgrows the estimate is still one segment", "[segment]") {
  SegmentBuilder builder;
  CHECK(value_size(put_request(builder, std::string(1'000'000, 'v'), 0)) == 1'000'000);
  CHECK(value_size(put_request(builder, "", 0)) == 0);
}

TEST_CASE("a builder's memory is clean again for the next message", "[segment]") {
  SegmentBuilder builder;
  (void)put_request(builder, std::string(500, 'v'), 1000);
  const std::string second(put_request(builder, "w", 1000));
  SegmentBuilder fresh;
  CHECK(second == put_request(fresh, "w", 1000));
}

TEST_CASE("bytes that are no message throw instead of reading outside", "[segment]") {
  alignas(8)
      const char garbage[16] = {'\x01', '\x7f', '\x7f', '\x7f', '\x7f', '\x7f', '\x7f', '\x7f'};
  SegmentReader reader(std::string_view(garbage, sizeof garbage));
  CHECK_THROWS_AS(reader.root<Request>().getPut().getValue(), kj::Exception);
  CHECK_FALSE(SegmentReader::well_formed(std::string_view(garbage, 9)));
}

}  // namespace
}  // namespace quorate::schema
