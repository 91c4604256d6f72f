// SPDX-License-Identifier: Apache-2.0
#include "cluster/member.h"

#include <catch2/catch.hpp>

namespace quorate::cluster {
namespace {

// What an etcd server that is started without flags prints of itself.
TEST_CASE("ids are those that etcd makes", "[member]") {
  CHECK(id_text(make_member_id({"http://localhost:2380"}, "etcd-cluster", std::nullopt)) ==
        "8e9e05c52164694d");
  CHECK(id_text(make_cluster_id({0x8e9e05c52164694d})) == "cdf818194e3a8c32");
}

TEST_CASE("a member's id does not hang on the order of its URLs, but on time and token",
          "[member]") {
  const auto id = [](std::vector<std::string> urls, Slice token, std::optional<int64_t> time) {
    return make_member_id(std::move(urls), token, time);
  };
  CHECK(id({"http://a:1", "http://b:1"}, "t", {}) == id({"http://b:1", "http://a:1"}, "t", {}));
  CHECK(id({"http://a:1"}, "t", {}) != id({"http://a:1"}, "u", {}));
  CHECK(id({"http://a:1"}, "t", 1) != id({"http://a:1"}, "t", 2));
}

TEST_CASE("an id's text is hex without leading zeros, both ways", "[member]") {
  CHECK(id_text(0xab) == "ab");
  CHECK(parse_id("ab") == 0xab);
  CHECK(parse_id(id_text(~uint64_t{0})) == ~uint64_t{0});
  for (Slice bad : {"", "xyz", "ab ", "0x1", "11111111111111111"}) CHECK_FALSE(parse_id(bad));
}

TEST_CASE("a member's record is etcd's JSON and comes back", "[member]") {
  const Member full{5, "n\"1", {"http://a:2380"}, {"http://a:2379", "http://b:2379"}, true};
  CHECK(encode_member(full) ==
        "{\"id\":5,\"peerURLs\":[\"http://a:2380\"],\"isLearner\":true,\"name\":\"n\\\"1\","
        "\"clientURLs\":[\"http://a:2379\",\"http://b:2379\"]}");
  CHECK(*decode_member(encode_member(full)) == full);
  const Member bare{~uint64_t{0}, "", {"u"}, {}, false};
  CHECK(encode_member(bare) == "{\"id\":18446744073709551615,\"peerURLs\":[\"u\"]}");
  CHECK(*decode_member(encode_member(bare)) == bare);
}

TEST_CASE("fields that are null or unknown do not hinder reading a member", "[member]") {
  const auto member = decode_member(R"({"id":1,"peerURLs":null,"new":{"x":[1]}})");
  REQUIRE(member.has_value());
  CHECK(member->id == 1);
}

TEST_CASE("what is no member's record is refused", "[member]") {
  for (Slice bad : {"", "[]", "{", R"({"peerURLs":[]})", R"({"id":0})", R"({"id":-1})",
                    R"({"id":"1"})", R"({"id":1,"peerURLs":"u"})", R"({"id":1,"peerURLs":[1]})",
                    R"({"id":1,"isLearner":1})", R"({"id":1,"name":2})"}) {
    INFO(bad);
    CHECK(decode_member(bad).status().code() == Code::kCorrupt);
  }
}

TEST_CASE("an initial cluster bootstraps sorted by id, with names and URLs that differ",
          "[member]") {
  const NamedPeer a{"a", {"http://a:1"}}, b{"b", {"http://b:1"}};
  const auto members = bootstrap_members(std::vector{a, b}, "t");
  REQUIRE(members.has_value());
  REQUIRE(members->size() == 2);
  CHECK((*members)[0].id < (*members)[1].id);
  CHECK((*members)[0].id == make_member_id((*members)[0].peer_urls, "t", {}));

  CHECK_FALSE(bootstrap_members({}, "t"));
  CHECK_FALSE(bootstrap_members(std::vector{a, NamedPeer{"a", {"http://c:1"}}}, "t"));
  CHECK_FALSE(bootstrap_members(std::vector{a, NamedPeer{"c", {"http://a:1"}}}, "t"));
  CHECK_FALSE(bootstrap_members(std::vector{NamedPeer{"", {"http://a:1"}}}, "t"));
  CHECK_FALSE(bootstrap_members(std::vector{NamedPeer{"a", {}}}, "t"));
}

}  // namespace
}  // namespace quorate::cluster
