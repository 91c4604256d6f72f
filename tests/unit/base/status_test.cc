// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <catch2/catch.hpp>

#include "base/result.h"
#include "capnp/schema.h"
#include "schemas/api.capnp.h"

namespace quorate {
namespace {

Status fails() {
  return Status(Code::kIoError, "cannot sync wal/1");
}
Status tries() {
  QUORATE_TRY(fails());
  return Status();
}
Result<int> tries_with_value() {
  QUORATE_TRY(tries());
  return 1;
}

TEST_CASE("a default status is OK and holds nothing", "[status]") {
  CHECK(Status().ok());
  CHECK(Status().to_string() == "ok");
  CHECK(sizeof(Status) == sizeof(void*));
}

TEST_CASE("an error keeps code and message through copies, context and QUORATE_TRY", "[status]") {
  const Status copy = Status(tries()).with_context("member 1");
  CHECK(copy.code() == Code::kIoError);
  CHECK(copy.to_string() == "io_error: member 1: cannot sync wal/1");
  CHECK(tries_with_value().error().code() == Code::kIoError);
}

TEST_CASE("a result holds a value or the reason why not", "[status]") {
  Result<int> value = 7;
  CHECK(*value == 7);
  CHECK(value.status().ok());
  Result<int> error = fails();
  CHECK_FALSE(error.has_value());
}

TEST_CASE("the kernel's codes are those of the schema, by number and by name", "[status]") {
  const auto enumerants = capnp::Schema::from<schema::ErrorCode>().getEnumerants();
  REQUIRE(enumerants.size() > 70);
  for (auto enumerant : enumerants) {
    std::string name;
    for (char c : std::string(enumerant.getProto().getName().cStr())) {
      if (c >= 'A' && c <= 'Z') name.push_back('_');
      name.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
    }
    CHECK(code_name(static_cast<Code>(enumerant.getOrdinal())) == name);
  }
  CHECK(code_name(static_cast<Code>(enumerants.size())) == "unknown");
}

}  // namespace
}  // namespace quorate
