// SPDX-License-Identifier: Apache-2.0
#include "sdk/error.h"

#include <catch2/catch.hpp>

namespace quorate::sdk {
namespace {

TEST_CASE("a body that ends without a word is OK, and its status passes through", "[barrier]") {
  CHECK(barrier(nullptr, [] {}) == QUORATE_OK);
  CHECK(barrier(nullptr, [] { return quorate_status{QUORATE_NOT_FOUND}; }) == QUORATE_NOT_FOUND);
}

TEST_CASE("a failure crosses as its status, native code and text", "[barrier]") {
  quorate_error error{};
  error.struct_size = sizeof error;
  const auto status =
      barrier(&error, [] { throw Failure(QUORATE_NO_SPACE, "the map is full", -30792); });
  CHECK(status == QUORATE_NO_SPACE);
  CHECK(error.code == QUORATE_NO_SPACE);
  CHECK(error.native_code == -30792);
  CHECK(std::string(error.message) == "the map is full");
  CHECK(error.struct_size == sizeof error);
}

TEST_CASE("any other exception becomes an internal error with a text", "[barrier]") {
  quorate_error error{};
  CHECK(barrier(&error, [] { throw std::logic_error("oops"); }) == QUORATE_INTERNAL);
  CHECK(std::string(error.message) == "oops");
  CHECK(barrier(&error, [] { throw std::bad_alloc(); }) == QUORATE_INTERNAL);
  CHECK(std::string(error.message) == "out of memory");
  CHECK(barrier(&error, [] { throw 7; }) == QUORATE_INTERNAL);
  CHECK(std::string(error.message) == "an exception of unknown type");
}

TEST_CASE("nobody need take the error", "[barrier]") {
  CHECK(barrier(nullptr, [] { throw 7; }) == QUORATE_INTERNAL);
}

TEST_CASE("a text that is too long is cut between two characters", "[error]") {
  quorate_error error{};
  fail(&error, QUORATE_INTERNAL, std::string(1000, 'x'));
  CHECK(std::string(error.message) == std::string(sizeof error.message - 1, 'x'));

  const std::string head(sizeof error.message - 2, 'x');
  fail(&error, QUORATE_INTERNAL, head + "\xc3\xa9");
  CHECK(std::string(error.message) == head);
}

}  // namespace
}  // namespace quorate::sdk
