// SPDX-License-Identifier: Apache-2.0
#include "auth/token_table.h"

#include <catch2/catch.hpp>

#include <string>

namespace quorate::auth {
namespace {

constexpr uint64_t kTtl = 300;

struct Tokens : TokenTable {
  explicit Tokens(size_t each_max = 100) : TokenTable(kTtl, each_max) {}
  // Empty: nobody.
  std::string user_of(std::string_view token, uint64_t now_ns) {
    const auto owner = find(token, now_ns);
    return owner ? owner->user : "";
  }
};

TEST_CASE("a simple token stands for its user and follows the store's revision", "[auth]") {
  Tokens tokens;
  tokens.assign("abc.7", "ann", 10);
  const auto owner = tokens.find("abc.7", 20);
  REQUIRE(owner);
  CHECK(owner->user == "ann");
  CHECK(owner->auth_revision == 0);
  CHECK_FALSE(tokens.find("abc.8", 20));
}

TEST_CASE("a simple token ends when it was not used for its time, and not before", "[auth]") {
  Tokens tokens;
  tokens.assign("abc.7", "ann", 0);
  CHECK(tokens.user_of("abc.7", kTtl - 1) == "ann");
  CHECK(tokens.user_of("abc.7", 2 * kTtl - 2) == "ann");
  CHECK(tokens.user_of("abc.7", 3 * kTtl - 2) == "");
  CHECK(tokens.size() == 0);
}

TEST_CASE("an older reading of the clock does not shorten a token's life", "[auth]") {
  Tokens tokens;
  tokens.assign("abc.7", "ann", 100);
  CHECK(tokens.user_of("abc.7", 20) == "ann");
  CHECK(tokens.user_of("abc.7", kTtl + 99) == "ann");
}

TEST_CASE("a checked token ends when it says, used or not", "[auth]") {
  Tokens tokens;
  tokens.remember("a.jwt.x", {"ann", 5}, 1000);
  REQUIRE(tokens.find("a.jwt.x", 999));
  CHECK(tokens.find("a.jwt.x", 999)->auth_revision == 5);
  CHECK_FALSE(tokens.find("a.jwt.x", 1000));
}

TEST_CASE("a user's tokens are dropped together, and nobody else's", "[auth]") {
  Tokens tokens;
  tokens.assign("a.1", "ann", 0);
  tokens.assign("a.2", "bob", 0);
  tokens.assign("a.3", "ann", 0);
  tokens.remember("a.b.c", {"ann", 5}, 1000);
  tokens.drop_user("ann");
  CHECK(tokens.size() == 1);
  CHECK(tokens.user_of("a.1", 1) == "");
  CHECK(tokens.user_of("a.b.c", 1) == "");
  CHECK(tokens.user_of("a.2", 1) == "bob");
}

TEST_CASE("no token outlives clear()", "[auth]") {
  Tokens tokens;
  tokens.assign("a.1", "ann", 0);
  tokens.remember("a.b.c", {"ann", 5}, 1000);
  tokens.clear();
  CHECK(tokens.size() == 0);
  CHECK(tokens.user_of("a.1", 1) == "");
  tokens.assign("a.1", "bob", 0);
  CHECK(tokens.user_of("a.1", 1) == "bob");
}

TEST_CASE("sweep() lets go of what has ended, whatever was used last", "[auth]") {
  Tokens tokens;
  tokens.assign("a.1", "ann", 0);
  tokens.assign("a.2", "bob", 1);
  tokens.remember("long.jwt.x", {"ann", 5}, 5000);
  tokens.remember("short.jwt.x", {"ann", 5}, 50);
  CHECK(tokens.user_of("a.1", 100) == "ann");
  tokens.sweep(kTtl + 1);
  CHECK(tokens.size() == 2);
  CHECK(tokens.user_of("a.1", kTtl + 1) == "ann");
  CHECK(tokens.user_of("long.jwt.x", kTtl + 1) == "ann");
}

TEST_CASE("a full table lets go of the token not used for longest, of the same kind", "[auth]") {
  Tokens tokens(2);
  tokens.assign("a.1", "ann", 0);
  tokens.assign("a.2", "bob", 0);
  tokens.remember("a.b.c", {"cid", 5}, 1000);
  CHECK(tokens.user_of("a.1", 1) == "ann");
  tokens.assign("a.3", "dan", 2);
  CHECK(tokens.size() == 3);
  CHECK(tokens.user_of("a.2", 3) == "");
  CHECK(tokens.user_of("a.1", 3) == "ann");
  CHECK(tokens.user_of("a.b.c", 3) == "cid");
}

TEST_CASE("a token assigned again belongs to the later user alone", "[auth]") {
  Tokens tokens(2);
  tokens.assign("a.1", "ann", 0);
  tokens.assign("a.1", "bob", 0);
  CHECK(tokens.size() == 1);
  tokens.drop_user("ann");
  CHECK(tokens.user_of("a.1", 1) == "bob");
}

TEST_CASE("a simple token names the log index at which it was issued", "[auth]") {
  CHECK(issued_at("pErAxXTUvsRKJyHy.17") == 17);
  CHECK(issued_at("x.18446744073709551615") == 18446744073709551615U);
  for (const char* const other :
       {"", "abc", "abc.", "abc.x", "abc.1x", "a.b.1", "abc.-1", "x.18446744073709551616"}) {
    INFO(other);
    CHECK_FALSE(issued_at(other));
  }
}

}  // namespace
}  // namespace quorate::auth
