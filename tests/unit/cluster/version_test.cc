// SPDX-License-Identifier: Apache-2.0
#include "cluster/version.h"

#include <catch2/catch.hpp>

namespace quorate::cluster {
namespace {

TEST_CASE("a version is three numbers and two dots", "[version]") {
  CHECK(parse_version("3.6.0") == Version{3, 6, 0});
  CHECK(parse_version("3.6.0")->text() == "3.6.0");
  for (Slice bad : {"", "3", "3.6", "3.6.", "3.6.0.1", "v3.6.0", "3.6.0 ", "3.-6.0", "3..6"}) {
    INFO(bad);
    CHECK_FALSE(parse_version(bad));
  }
}

TEST_CASE("versions compare by number", "[version]") {
  CHECK(Version{3, 10, 0} > Version{3, 9, 9});
}

TEST_CASE("the cluster version only grows, up to what this build speaks", "[version]") {
  ClusterVersion version;
  CHECK_FALSE(version.get().has_value());
  CHECK(version.set("3.5.0"));
  CHECK(version.set("3.6.0"));
  CHECK_FALSE(version.set("3.6.0"));
  CHECK(version.check_set("3.5.0").code() == Code::kInvalidArgument);
  CHECK(version.check_set("3.7.0").code() == Code::kUnsupported);
  CHECK(version.check_set("soon").code() == Code::kInvalidArgument);
  CHECK(version.get() == kClusterVersion);
}

TEST_CASE("a stored version that this build cannot speak stops the start", "[version]") {
  ClusterVersion version;
  CHECK(version.load("9.0.0").code() == Code::kUnsupported);
  CHECK(version.load("x").code() == Code::kCorrupt);
  CHECK(version.load("3.6.0").ok());
}

}  // namespace
}  // namespace quorate::cluster
