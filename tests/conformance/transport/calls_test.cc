// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "conformance/transport/member.h"
#include "conformance/transport/proxy.h"

namespace quorate::conformance {
namespace {

bool answered(Member& member, Reply& reply) {
  return member.wait([&](Kernel&) { return reply.times > 0; });
}

TEST_CASE("a call gets its own reply", "[calls]") {
  Pair pair;
  std::vector<Reply*> replies;
  for (int i = 0; i < 200; ++i) replies.push_back(&pair.a.call(2, "", std::to_string(i)));
  for (int i = 0; i < 200; ++i) {
    REQUIRE(answered(pair.a, *replies[i]));
    CHECK(replies[i]->code == QUORATE_OK);
    CHECK(replies[i]->bytes == "re:" + std::to_string(i));
  }
}

TEST_CASE("a reply's code and large bytes come through", "[calls]") {
  Pair pair;
  pair.b.with([](Kernel& kernel) { kernel.answers_calls = false; });
  Reply& reply = pair.a.call(2, "", std::string(3 << 20, 'q'));
  REQUIRE(pair.b.wait([](Kernel& kernel) { return kernel.tokens.size() == 1; }));
  const uint64_t token = pair.b.get<uint64_t>([](Kernel& kernel) { return kernel.tokens[0]; });
  pair.b.answer(token, QUORATE_NOT_LEADER, std::string(3 << 20, 'r'));
  REQUIRE(answered(pair.a, reply));
  CHECK(reply.code == QUORATE_NOT_LEADER);
  CHECK((reply.bytes == std::string(3 << 20, 'r')));
  CHECK(pair.b.get<size_t>([](Kernel& kernel) { return kernel.calls[0].size(); }) == 3 << 20);
}

TEST_CASE("answers may come in any order", "[calls]") {
  Pair pair;
  pair.b.with([](Kernel& kernel) { kernel.answers_calls = false; });
  Reply& first = pair.a.call(2, "", "1");
  Reply& second = pair.a.call(2, "", "2");
  REQUIRE(pair.b.wait([](Kernel& kernel) { return kernel.tokens.size() == 2; }));
  using Tokens = std::vector<uint64_t>;
  const Tokens tokens = pair.b.get<Tokens>([](Kernel& kernel) { return kernel.tokens; });
  pair.b.answer(tokens[1], QUORATE_OK, "two");
  REQUIRE(answered(pair.a, second));
  CHECK(first.times == 0);
  pair.b.answer(tokens[0], QUORATE_OK, "one");
  REQUIRE(answered(pair.a, first));
  CHECK(first.bytes == "one");
  CHECK(second.bytes == "two");
}

TEST_CASE("a process without an id may call an address, and only that", "[calls]") {
  Member b(2, free_url());
  Member joiner(0, "");
  Reply& reply = joiner.call(0, b.url(), "who are you");
  REQUIRE(answered(joiner, reply));
  CHECK(reply.bytes == "re:who are you");
  using Ids = std::vector<uint64_t>;
  CHECK(b.get<Ids>([](Kernel& kernel) { return kernel.callers; }) == Ids{0});
  CHECK(b.get<Ids>([](Kernel& kernel) { return kernel.authorized; }) == Ids{0});

  joiner.know(b);
  Stream* stream = joiner.open_stream(2, "meta");
  if (stream == nullptr) return;
  stream->finish();
  REQUIRE(joiner.wait([&](Kernel&) { return stream->done == 1; }));
  CHECK(stream->verdict != QUORATE_OK);
  CHECK(b.get<bool>([](Kernel& kernel) { return kernel.snapshots.empty(); }));
}

TEST_CASE("a joiner calls under its name once it has one", "[calls]") {
  Member b(2, free_url());
  Member joiner(0, "");
  Reply& first = joiner.call(0, b.url(), "1");
  REQUIRE(answered(joiner, first));
  factory().set_self(joiner.handle(), kCluster, 5);
  Reply& second = joiner.call(0, b.url(), "2");
  REQUIRE(answered(joiner, second));
  using Ids = std::vector<uint64_t>;
  CHECK(b.get<Ids>([](Kernel& kernel) { return kernel.callers; }) == Ids{0, 5});
}

TEST_CASE("a call that nobody answers in time is a TIMEOUT, and its late reply is nothing",
          "[calls]") {
  Pair pair;
  pair.b.with([](Kernel& kernel) { kernel.answers_calls = false; });
  Reply& reply = pair.a.call(2, "", "q", 50);
  REQUIRE(answered(pair.a, reply));
  CHECK(reply.code == QUORATE_TIMEOUT);
  REQUIRE(pair.b.wait([](Kernel& kernel) { return kernel.tokens.size() == 1; }));
  pair.b.answer(pair.b.get<uint64_t>([](Kernel& kernel) { return kernel.tokens[0]; }), QUORATE_OK,
                "late");
  pair.b.with([](Kernel& kernel) { kernel.answers_calls = true; });
  Reply& next = pair.a.call(2, "", "again");
  REQUIRE(answered(pair.a, next));
  CHECK(next.bytes == "re:again");
  CHECK(reply.times == 1);
}

TEST_CASE("a call to who says nothing at all ends too", "[calls]") {
  MuteListener mute;
  Member a(1, free_url());
  Reply& reply = a.call(0, mute.url(), "q", 50);
  REQUIRE(answered(a, reply));
  CHECK(reply.code == QUORATE_TIMEOUT);
}

TEST_CASE("a call that cannot be made is UNAVAILABLE", "[calls]") {
  Member a(1, free_url());
  const auto code = [&](Reply& reply) { return answered(a, reply) ? reply.code : QUORATE_OK; };
  CHECK(code(a.call(0, free_url(), "nobody listens")) == QUORATE_UNAVAILABLE);
  CHECK(code(a.call(7, "", "nobody knows 7")) == QUORATE_UNAVAILABLE);
  CHECK(code(a.call(0, "", "nowhere")) == QUORATE_UNAVAILABLE);
  CHECK(code(a.call(0, "gopher://x", "no such scheme")) == QUORATE_UNAVAILABLE);
  Member b(2, free_url());
  b.with([](Kernel& kernel) { kernel.refused = {1}; });
  CHECK(code(a.call(0, b.url(), "refused")) == QUORATE_PERMISSION_DENIED);
  CHECK(b.get<bool>([](Kernel& kernel) { return kernel.calls.empty(); }));
}

TEST_CASE("a call whose member dies is UNAVAILABLE, and the next is asked anew", "[calls]") {
  Member a(1, free_url());
  const std::string url = free_url();
  auto b = std::make_unique<Member>(2, url);
  a.know(*b);
  b->with([](Kernel& kernel) { kernel.answers_calls = false; });
  Reply& lost = a.call(2, "", "q");
  REQUIRE(b->wait([](Kernel& kernel) { return kernel.tokens.size() == 1; }));
  b.reset();
  REQUIRE(answered(a, lost));
  CHECK(lost.code == QUORATE_UNAVAILABLE);
  b = std::make_unique<Member>(2, url);
  REQUIRE(a.wait_state(2, QUORATE_PEER_CONNECTED));
  Reply& next = a.call(2, "", "q");
  REQUIRE(answered(a, next));
  CHECK(next.bytes == "re:q");
}

TEST_CASE("an answer to a caller that left harms nobody", "[calls]") {
  Member b(2, free_url());
  b.with([](Kernel& kernel) { kernel.answers_calls = false; });
  {
    Member a(1, "");
    a.call(0, b.url(), "q");
    REQUIRE(b.wait([](Kernel& kernel) { return kernel.tokens.size() == 1; }));
  }
  b.answer(b.get<uint64_t>([](Kernel& kernel) { return kernel.tokens[0]; }), QUORATE_OK, "a");
  b.answer(987654, QUORATE_OK, "to a token that never was");
  b.with([](Kernel& kernel) { kernel.answers_calls = true; });
  Member c(3, "");
  Reply& reply = c.call(0, b.url(), "q");
  CHECK(answered(c, reply));
}

TEST_CASE("stop ends everything outstanding, each thing once", "[stop]") {
  auto pair = std::make_unique<Pair>();
  pair->b.with([](Kernel& kernel) {
    kernel.answers_calls = false;
    kernel.judges = false;
  });
  Reply& mine = pair->a.call(2, "", "q");
  REQUIRE(pair->b.wait([](Kernel& kernel) { return kernel.tokens.size() == 1; }));
  Stream* unfinished = pair->a.open_stream(2, "one");
  Stream* unjudged = pair->a.open_stream(2, "two");
  REQUIRE((unfinished != nullptr && unjudged != nullptr));
  unjudged->finish();
  REQUIRE(pair->b.wait([](Kernel& kernel) {
    return kernel.snapshots.size() == 2 && kernel.snapshots[0].ends + kernel.snapshots[1].ends == 1;
  }));
  pair->a.stop(20);
  // A's own call and streams.
  CHECK(answered(pair->a, mine));
  CHECK(mine.code == QUORATE_UNAVAILABLE);
  CHECK(pair->a.wait([&](Kernel&) { return unjudged->done == 1; }));
  CHECK(unfinished->write("x") != QUORATE_OK);
  unfinished->finish();
  CHECK(pair->a.wait([&](Kernel&) { return unfinished->done == 1; }));
  // What comes after stop() is answered as well.
  Reply& late = pair->a.call(2, "", "late");
  CHECK(answered(pair->a, late));
  CHECK(late.code == QUORATE_UNAVAILABLE);
  pair->a.send(2, QUORATE_CHANNEL_APPEND, {"late"});

  // B's side: both snapshots are ended, and the verdicts may come after its own stop.
  CHECK(pair->b.wait([](Kernel& kernel) {
    return kernel.snapshots[0].ends == 1 && kernel.snapshots[1].ends == 1;
  }));
  pair->b.stop(0);
  pair->b.answer(pair->b.get<uint64_t>([](Kernel& kernel) { return kernel.tokens[0]; }), QUORATE_OK,
                 "too late");
  for (const size_t i : {0, 1})
    pair->b.judge(pair->b.get<uint64_t>([i](Kernel& kernel) { return kernel.snapshots[i].name; }),
                  QUORATE_CANCELLED);
  pair->a.destroy();
  pair->b.destroy();
  CHECK(mine.times == 1);
  CHECK(unjudged->done == 1);
  CHECK(unfinished->done == 1);
}

TEST_CASE("stop lets what was sent leave, if it may take its time", "[stop]") {
  Pair pair;
  for (int i = 0; i < 50; ++i) pair.a.send(2, QUORATE_CHANNEL_APPEND, {std::string(100'000, 'x')});
  pair.a.stop(60'000);
  CHECK(pair.b.wait([](Kernel& kernel) { return kernel.messages[1].size() == 50; }));
}

TEST_CASE("a transport that did nothing can be stopped and destroyed", "[stop]") {
  Member a(1, free_url());
  Member b(0, "");
  a.stop(60'000);
  b.destroy();
}

TEST_CASE("an address in use is refused with a sentence", "[listen]") {
  Member a(1, free_url());
  CHECK_THROWS_WITH(Member(2, a.url()), Catch::Contains("cannot listen on " + a.url()));
  CHECK_THROWS_WITH(Member(2, "ftp://127.0.0.1:1"), Catch::Contains("ftp://127.0.0.1:1"));
}

}  // namespace
}  // namespace quorate::conformance
