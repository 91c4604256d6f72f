// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <catch2/catch.hpp>

#include "conformance/transport/member.h"
#include "conformance/transport/proxy.h"

namespace quorate::conformance {
namespace {

using Strings = std::vector<std::string>;

Strings from(Member& member, uint64_t sender) {
  return member.get<Strings>([&](Kernel& kernel) { return kernel.messages[sender]; });
}

// The messages that begin with `prefix`, without it.
Strings channel_of(const Strings& all, char prefix) {
  Strings some;
  for (const std::string& one : all)
    if (one[0] == prefix) some.push_back(one.substr(1));
  return some;
}

TEST_CASE("a message arrives as its parts back to back, with its sender", "[messages]") {
  Pair pair;
  pair.a.send(2, QUORATE_CHANNEL_CONTROL, {"head", "", "pay", "load"});
  REQUIRE(pair.b.wait([](Kernel& kernel) { return kernel.messages[1].size() == 1; }));
  CHECK(from(pair.b, 1) == Strings{"headpayload"});
  pair.b.send(1, QUORATE_CHANNEL_APPEND, {"back"});
  REQUIRE(pair.a.wait([](Kernel& kernel) { return kernel.messages[2].size() == 1; }));
  CHECK(from(pair.a, 2) == Strings{"back"});
}

TEST_CASE("an empty message is a message", "[messages]") {
  Pair pair;
  pair.a.send(2, QUORATE_CHANNEL_APPEND, {});
  pair.a.send(2, QUORATE_CHANNEL_APPEND, {""});
  pair.a.send(2, QUORATE_CHANNEL_APPEND, {"x"});
  REQUIRE(pair.b.wait([](Kernel& kernel) { return kernel.messages[1].size() == 3; }));
  CHECK(from(pair.b, 1) == Strings{"", "", "x"});
}

TEST_CASE("many messages keep the order of their channel", "[messages]") {
  constexpr int kCount = 5000;
  Pair pair;
  Strings expected;
  for (int i = 0; i < kCount; ++i) {
    expected.push_back(std::to_string(i));
    pair.a.send(2, QUORATE_CHANNEL_CONTROL, {"c", expected.back()});
    pair.a.send(2, QUORATE_CHANNEL_APPEND, {"a", expected.back(), std::string(i % 3000, '.')});
  }
  REQUIRE(pair.b.wait([](Kernel& kernel) { return kernel.messages[1].size() == 2 * kCount; }));
  const Strings all = from(pair.b, 1);
  CHECK((channel_of(all, 'c') == expected));
  Strings appended = channel_of(all, 'a');
  for (std::string& one : appended) one.resize(one.find_last_not_of('.') + 1);
  CHECK((appended == expected));
  CHECK(pair.b.get<size_t>([](Kernel& kernel) { return kernel.batches; }) < 2 * kCount);
}

TEST_CASE("a message of 16 MiB in parts arrives whole, between small ones", "[messages]") {
  Pair pair;
  std::string large(16 << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 + i / 4096);
  pair.a.send(2, QUORATE_CHANNEL_APPEND, {"before"});
  pair.a.send(2, QUORATE_CHANNEL_APPEND,
              {large.substr(0, 100), large.substr(100, 5 << 20), large.substr(100 + (5 << 20))});
  pair.a.send(2, QUORATE_CHANNEL_APPEND, {"after"});
  REQUIRE(pair.b.wait([](Kernel& kernel) { return kernel.messages[1].size() == 3; }));
  const Strings all = from(pair.b, 1);
  CHECK(all[0] == "before");
  CHECK((all[1] == large));
  CHECK(all[2] == "after");
}

TEST_CASE("what is sent to nobody is dropped", "[messages]") {
  Pair pair;
  pair.a.send(77, QUORATE_CHANNEL_APPEND, {"lost"});
  pair.a.send(2, QUORATE_CHANNEL_APPEND, {"x"});
  CHECK(pair.b.wait([](Kernel& kernel) { return kernel.messages[1].size() == 1; }));
}

TEST_CASE("a reader that stands still bounds what is kept for it", "[messages]") {
  const int64_t before = Buf::alive();
  Pair pair(Member::Options{{"queue-bytes", "1MiB"}});
  pair.b.with([](Kernel& kernel) { kernel.blocked = true; });
  // The system's socket buffers take their share; 128 MiB is more than they hold.
  constexpr int kCount = 600;
  const std::string block(256 << 10, 'x');
  int64_t most = 0;
  for (int i = 0; i < kCount; ++i) {
    pair.a.send(2, QUORATE_CHANNEL_APPEND, {block});
    most = std::max(most, Buf::alive() - before);
  }
  CHECK(most < kCount / 2);
  const quorate_peer_stats stats = pair.a.stats(2);
  if (stats.member_id == 2) CHECK(stats.sent_failures > 0);
  pair.b.with([](Kernel& kernel) { kernel.blocked = false; });
  // It goes on where it stood.
  pair.a.send(2, QUORATE_CHANNEL_CONTROL, {"on"});
  CHECK(pair.b.wait([](Kernel& kernel) {
    const Strings& all = kernel.messages[1];
    return std::find(all.begin(), all.end(), "on") != all.end();
  }));
}

TEST_CASE("every byte lent is given back before destroy returns", "[messages]") {
  const int64_t before = Buf::alive();
  {
    Pair pair;
    pair.b.with([](Kernel& kernel) { kernel.blocked = true; });
    for (int i = 0; i < 200; ++i)
      pair.a.send(2, QUORATE_CHANNEL_APPEND, {std::string(100'000, 'x'), "y"});
    pair.a.call(2, "", std::string(100'000, 'q'));
    Stream* stream = pair.a.open_stream(2, "meta");
    REQUIRE(stream != nullptr);
    stream->write(std::string(100'000, 'b'));
    stream->finish(QUORATE_CANCELLED);
    pair.a.destroy();
  }
  CHECK(Buf::alive() == before);
}

TEST_CASE("a peer that dies is RESET, and CONNECTED again when it is back", "[states]") {
  Member a(1, free_url());
  const std::string url = free_url();
  auto b = std::make_unique<Member>(2, url);
  b->know(a);
  a.know(*b);
  REQUIRE(a.wait_state(2, QUORATE_PEER_CONNECTED));
  b.reset();
  REQUIRE(a.wait_state(2, QUORATE_PEER_RESET));
  a.send(2, QUORATE_CHANNEL_APPEND, {"into the void"});
  b = std::make_unique<Member>(2, url);
  REQUIRE(a.wait_state(2, QUORATE_PEER_CONNECTED));
  a.send(2, QUORATE_CHANNEL_APPEND, {"new"});
  REQUIRE(b->wait([](Kernel& kernel) { return !kernel.messages[1].empty(); }));
  CHECK(from(*b, 1) == Strings{"new"});
}

TEST_CASE("a peer that is not there yet is connected once it is", "[states]") {
  Member a(1, free_url());
  const std::string url = free_url();
  a.know(2, url);
  REQUIRE(a.wait_state(2, QUORATE_PEER_RESET));
  Member b(2, url);
  CHECK(a.wait_state(2, QUORATE_PEER_CONNECTED));
}

TEST_CASE("a peer that says nothing any more is SILENT", "[states]") {
  const Member::Options hasty{
      {"silent-after", "1s"}, {"ping-interval", "100ms"}, {"dial-timeout", "1s"}};
  Member a(1, free_url(), hasty);
  Member b(2, free_url());
  Proxy proxy(port_of(b.url()));
  a.know(2, proxy.url());
  REQUIRE(a.wait_state(2, QUORATE_PEER_CONNECTED));
  proxy.freeze(true);
  REQUIRE(a.wait_state(2, QUORATE_PEER_SILENT));
  proxy.freeze(false);
  CHECK(a.wait_state(2, QUORATE_PEER_CONNECTED));
}

TEST_CASE("who accepts and says nothing is SILENT", "[states]") {
  MuteListener mute;
  Member a(1, free_url(), {{"dial-timeout", "200ms"}});
  a.know(2, mute.url());
  CHECK(a.wait_state(2, QUORATE_PEER_SILENT));
}

TEST_CASE("whom authorize turns away is REFUSED and heard by nobody", "[states]") {
  Member a(1, free_url());
  Member b(2, free_url());
  b.with([](Kernel& kernel) { kernel.refused = {1}; });
  a.know(b);
  REQUIRE(a.wait_state(2, QUORATE_PEER_REFUSED));
  a.send(2, QUORATE_CHANNEL_APPEND, {"let me in"});
  CHECK(from(b, 1).empty());
  // It is asked again at each dial.
  b.with([](Kernel& kernel) { kernel.refused.clear(); });
  REQUIRE(a.wait_state(2, QUORATE_PEER_CONNECTED));
  CHECK_FALSE(b.get<bool>([](Kernel& kernel) { return kernel.heard_unauthorized; }));
}

TEST_CASE("who dials turns away whom it does not trust", "[states]") {
  Member a(1, free_url());
  Member b(2, free_url());
  a.with([](Kernel& kernel) { kernel.refused = {2}; });
  a.know(b);
  CHECK(a.wait_state(2, QUORATE_PEER_REFUSED));
}

TEST_CASE("another cluster's member is REFUSED", "[states]") {
  Member a(1, free_url());
  Member b(2, free_url(), {}, kCluster + 1);
  a.know(b);
  REQUIRE(a.wait_state(2, QUORATE_PEER_REFUSED));
  CHECK(b.get<bool>([](Kernel& kernel) { return kernel.messages.empty(); }));
}

TEST_CASE("another member at the peer's address is REFUSED", "[states]") {
  Member a(1, free_url());
  Member b(2, free_url());
  a.know(3, b.url());
  CHECK(a.wait_state(3, QUORATE_PEER_REFUSED));
}

TEST_CASE("new addresses of a peer are used at once", "[states]") {
  Member a(1, free_url());
  Member b(2, free_url());
  a.know(2, free_url());
  REQUIRE(a.wait_state(2, QUORATE_PEER_RESET));
  a.know(b);
  CHECK(a.wait_state(2, QUORATE_PEER_CONNECTED));
}

TEST_CASE("a state is reported when it changes and not again", "[states]") {
  Member a(1, free_url());
  a.know(2, free_url());
  REQUIRE(a.wait_state(2, QUORATE_PEER_RESET));
  Member b(3, free_url());
  a.know(b);
  REQUIRE(a.wait_state(3, QUORATE_PEER_CONNECTED));
  using States = std::vector<std::pair<uint64_t, uint32_t>>;
  const States states = a.get<States>([](Kernel& kernel) { return kernel.states; });
  CHECK(states == States{{2, QUORATE_PEER_RESET}, {3, QUORATE_PEER_CONNECTED}});
}

TEST_CASE("a peer that was removed is not heard and not dialled", "[states]") {
  Pair pair;
  // B's own connections to A are closed too, and A's kernel does not know it any more.
  pair.a.with([](Kernel& kernel) { kernel.refused = {2}; });
  pair.a.forget(2);
  REQUIRE(pair.b.wait([](Kernel& kernel) { return kernel.state[1] != QUORATE_PEER_CONNECTED; }));
  pair.a.send(2, QUORATE_CHANNEL_APPEND, {"x"});
  CHECK(from(pair.b, 1).empty());
}

}  // namespace
}  // namespace quorate::conformance
