// SPDX-License-Identifier: Apache-2.0
#include <random>

#include <catch2/catch.hpp>

#include "conformance/transport/member.h"
#include "conformance/transport/proxy.h"

namespace quorate::conformance {
namespace {

const Member::Options kHasty{{"dial-timeout", "300ms"}};

// It still does its work.
void check_serves(Member& b, uint64_t from) {
  Member a(from, free_url());
  a.know(b);
  REQUIRE(a.wait_state(b.id(), QUORATE_PEER_CONNECTED));
  a.send(b.id(), QUORATE_CHANNEL_CONTROL, {"x"});
  CHECK(b.wait([from](Kernel& kernel) { return kernel.messages[from].size() == 1; }));
}

TEST_CASE("garbage closes its connection and nothing else", "[hostile]") {
  Member b(2, free_url(), kHasty);
  std::mt19937 random(20240608);
  for (const size_t size : {1, 7, 23, 24, 25, 100, 5000, 200'000}) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    CHECK(closes_after(port_of(b.url()), bytes));
    CHECK(closes_after(port_of(b.url()), std::string(size, '\xff')));
    CHECK(closes_after(port_of(b.url()), std::string(size, '\0')));
  }
  CHECK(closes_after(port_of(b.url()), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  CHECK(b.get<bool>([](Kernel& kernel) {
    return kernel.messages.empty() && kernel.calls.empty() && kernel.snapshots.empty();
  }));
  check_serves(b, 1);
}

TEST_CASE("who connects and says nothing is let go", "[hostile]") {
  Member b(2, free_url(), {{"dial-timeout", "100ms"}});
  CHECK(closes_after(port_of(b.url()), ""));
  check_serves(b, 1);
}

int resets(const Kernel& kernel) {
  int count = 0;
  for (const auto& [id, state] : kernel.states) count += state == QUORATE_PEER_RESET ? 1 : 0;
  return count;
}

// Through a proxy that damages what passes, only whole messages arrive, in order, and the members
// find together again.
void check_damage(const std::function<void(Proxy&)>& damage) {
  Member a(1, free_url());
  Member b(2, free_url());
  Proxy proxy(port_of(b.url()));
  a.know(2, proxy.url());
  REQUIRE(a.wait_state(2, QUORATE_PEER_CONNECTED));
  damage(proxy);
  const std::string body(3000, 'm');
  for (int i = 0; i < 20; ++i) a.send(2, QUORATE_CHANNEL_APPEND, {std::to_string(i) + " ", body});
  REQUIRE(a.wait([&](Kernel& kernel) {
    return resets(kernel) > 0 && kernel.state[2] == QUORATE_PEER_CONNECTED;
  }));
  a.send(2, QUORATE_CHANNEL_APPEND, {"last ", body});
  REQUIRE(b.wait([&](Kernel& kernel) {
    return !kernel.messages[1].empty() && kernel.messages[1].back() == "last " + body;
  }));
  int previous = -1;
  for (const std::string& one :
       b.get<std::vector<std::string>>([](Kernel& kernel) { return kernel.messages[1]; })) {
    if (one.starts_with("last")) continue;
    const int number = std::stoi(one);
    CHECK(number > previous);
    CHECK((one == std::to_string(number) + " " + body));
    previous = number;
  }
}

TEST_CASE("a flipped bit is noticed", "[hostile]") {
  check_damage([](Proxy& proxy) { proxy.corrupt_piece_of(2000); });
}

TEST_CASE("half a message is none", "[hostile]") {
  check_damage([](Proxy& proxy) { proxy.truncate_piece_of(2000); });
}

TEST_CASE("connections cut again and again are made again", "[hostile]") {
  Member a(1, free_url());
  Member b(2, free_url());
  Proxy proxy(port_of(b.url()));
  a.know(2, proxy.url());
  for (int round = 0; round < 5; ++round) {
    REQUIRE(a.wait_state(2, QUORATE_PEER_CONNECTED));
    proxy.cut();
    REQUIRE(a.wait([round](Kernel& kernel) { return resets(kernel) > round; }));
  }
  REQUIRE(a.wait_state(2, QUORATE_PEER_CONNECTED));
  check_serves(b, 3);
}

TEST_CASE("figures are kept for each peer", "[stats]") {
  const auto stats = factory().get_extension;
  Pair pair;
  if (stats(pair.a.handle(), QUORATE_TRANSPORT_STATS) == nullptr) return;
  pair.a.send(2, QUORATE_CHANNEL_APPEND, {std::string(100'000, 'x')});
  REQUIRE(pair.b.wait([](Kernel& kernel) { return kernel.messages[1].size() == 1; }));
  CHECK(pair.a.stats(2).sent_bytes >= 100'000);
  CHECK(pair.b.stats(1).received_bytes >= 100'000);
  CHECK(stats(pair.a.handle(), "quorate.transport.nonsense/1") == nullptr);
}

}  // namespace
}  // namespace quorate::conformance
