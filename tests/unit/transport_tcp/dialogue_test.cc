// SPDX-License-Identifier: Apache-2.0
// A transport, and a client that speaks its frames but keeps no rule.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "conformance/transport/member.h"
#include "transport_tcp/frame.h"
#include "transport_tcp/out_queue.h"

namespace quorate::transport_tcp {
namespace {

using conformance::free_url;
using conformance::kCluster;
using conformance::Kernel;
using conformance::Member;

struct Heard {
  Kind kind;
  uint16_t code;
  uint64_t id;
  std::string body;
};

class RawClient {
 public:
  explicit RawClient(Member& to) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    reader_.set_body_max(1 << 26);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(conformance::port_of(to.url()));
    REQUIRE(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  ~RawClient() { ::close(fd_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  RawClient& send(Kind kind, uint16_t code = 0, uint64_t id = 0, const std::string& body = "") {
    OutQueue queue;
    queue.append(kind, code, id, body);
    queue.front(SIZE_MAX, [this](std::string_view piece) { send_bytes(piece); });
    return *this;
  }
  RawClient& hello(Purpose purpose, uint64_t from = 1, uint64_t cluster = kCluster, uint64_t to = 2,
                   uint16_t version = kProtocolVersion) {
    Hello hello;
    hello.version_min = hello.version_max = version;
    hello.cluster_id = cluster;
    hello.from = from;
    hello.to = to;
    hello.purpose = purpose;
    return send(Kind::kHello, 0, 0, encode(hello));
  }
  void send_bytes(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
  }

  // The next frame but pings; nothing when the other side closed.
  std::optional<Heard> hear() {
    for (;;) {
      Frame frame;
      while (reader_.next(frame) == FrameReader::kFrame)
        if (frame.kind != Kind::kPing)
          return Heard{frame.kind, frame.code, frame.id, std::string(frame.body)};
      pollfd polled{fd_, POLLIN, 0};
      REQUIRE(::poll(&polled, 1, 60'000) == 1);
      const std::span<char> space = reader_.space();
      const ssize_t count = ::read(fd_, space.data(), space.size());
      if (count <= 0) return std::nullopt;
      reader_.filled(static_cast<size_t>(count));
    }
  }
  // The other side closes, having said nothing more than pings and credit.
  bool is_closed() {
    for (;;) {
      const auto heard = hear();
      if (!heard) return true;
      if (heard->kind != Kind::kCredit) return false;
    }
  }
  bool is_welcome() {
    const auto heard = hear();
    return heard && heard->kind == Kind::kWelcome;
  }
  quorate_status refusal() {
    const auto heard = hear();
    REQUIRE(heard);
    REQUIRE(heard->kind == Kind::kRefusal);
    CHECK_FALSE(heard->body.empty());
    CHECK(is_closed());
    return heard->code;
  }

 private:
  int fd_;
  FrameReader reader_;
};

struct Fixture {
  Member member{2, free_url(), {{"max-message-bytes", "100KiB"}, {"snapshot-window", "1000"}}};

  bool is_untouched() {
    return member.get<bool>([](Kernel& kernel) {
      return kernel.messages.empty() && kernel.calls.empty() && kernel.snapshots.empty();
    });
  }
  bool asked_nobody() {
    return member.get<bool>([](Kernel& kernel) { return kernel.authorized.empty(); });
  }
};

TEST_CASE("a greeting is answered with who is here", "[dialogue]") {
  Fixture f;
  RawClient client(f.member);
  const auto heard = client.hello(Purpose::kControl).hear();
  REQUIRE(heard);
  CHECK(heard->kind == Kind::kWelcome);
  const auto welcome = decode_welcome(heard->body);
  REQUIRE(welcome);
  CHECK(welcome->cluster_id == kCluster);
  CHECK(welcome->member_id == 2);
  CHECK(welcome->version == kProtocolVersion);
}

TEST_CASE("what a greeting may not say is refused before the kernel is asked", "[dialogue]") {
  Fixture f;
  const auto refusal = [&f](Purpose purpose, uint64_t from, uint64_t cluster, uint64_t to,
                            uint16_t version) {
    RawClient client(f.member);
    return client.hello(purpose, from, cluster, to, version).refusal();
  };
  CHECK(refusal(Purpose::kControl, 1, kCluster, 2, 9) == QUORATE_UNSUPPORTED);
  CHECK(refusal(Purpose{4}, 1, kCluster, 2, 1) == QUORATE_UNSUPPORTED);
  CHECK(refusal(Purpose::kAppend, 1, kCluster + 1, 2, 1) == QUORATE_CLUSTER_ID_MISMATCH);
  CHECK(refusal(Purpose::kCall, 1, kCluster, 3, 1) == QUORATE_MEMBER_NOT_FOUND);
  CHECK(refusal(Purpose::kControl, 2, kCluster, 2, 1) == QUORATE_INVALID_ARGUMENT);
  for (const Purpose purpose : {Purpose::kControl, Purpose::kAppend, Purpose::kSnapshot})
    CHECK(refusal(purpose, 0, kCluster, 2, 1) == QUORATE_INVALID_ARGUMENT);
  CHECK(f.asked_nobody());
}

TEST_CASE("the kernel's no is the refusal's code", "[dialogue]") {
  Fixture f;
  f.member.with([](Kernel& kernel) { kernel.refused = {1}; });
  RawClient client(f.member);
  client.hello(Purpose::kControl).send(Kind::kMessage, 0, 0, "too early");
  CHECK(client.refusal() == QUORATE_PERMISSION_DENIED);
  CHECK(f.is_untouched());
}

TEST_CASE("what is no greeting, or a long one, is closed without a word", "[dialogue]") {
  Fixture f;
  for (const Kind kind : {Kind::kMessage, Kind::kCall, Kind::kPing, Kind::kWelcome, Kind{99}}) {
    RawClient client(f.member);
    CHECK(client.send(kind, 0, 0, "hello").is_closed());
  }
  RawClient client(f.member);
  CHECK(client.send(Kind::kHello, 0, 0, std::string(kGreetingBytesMax + 1, 'x')).is_closed());
  CHECK(f.asked_nobody());
  CHECK(f.is_untouched());
}

TEST_CASE("a frame out of place closes its connection and reaches nobody", "[dialogue]") {
  Fixture f;
  const auto closes = [&f](Purpose purpose, Kind kind) {
    RawClient client(f.member);
    REQUIRE(client.hello(purpose).is_welcome());
    return client.send(kind, 0, 0, "x").is_closed();
  };
  for (const Kind kind : {Kind::kHello, Kind::kCall, Kind::kReply, Kind::kBegin, Kind{0}})
    CHECK(closes(Purpose::kControl, kind));
  for (const Kind kind : {Kind::kMessage, Kind::kReply, Kind::kBlock})
    CHECK(closes(Purpose::kCall, kind));
  for (const Kind kind : {Kind::kMessage, Kind::kBlock, Kind::kEnd, Kind::kDone, Kind::kCredit})
    CHECK(closes(Purpose::kSnapshot, kind));
  CHECK(f.is_untouched());
}

TEST_CASE("what came before a bad frame counts", "[dialogue]") {
  Fixture f;
  RawClient client(f.member);
  REQUIRE(client.hello(Purpose::kAppend).is_welcome());
  client.send(Kind::kMessage, 0, 0, "good").send(Kind::kBegin, 0, 0, "bad");
  CHECK(client.is_closed());
  CHECK(f.member.wait([](Kernel& kernel) { return kernel.messages[1].size() == 1; }));
}

TEST_CASE("a message above the limit closes by its header alone", "[dialogue]") {
  Fixture f;
  RawClient client(f.member);
  REQUIRE(client.hello(Purpose::kAppend).is_welcome());
  std::string header(kHeaderSize, '\0');
  put_header(header.data(), Kind::kMessage, 0, 0, (100 << 10) + 1, 0);
  client.send_bytes(header);
  CHECK(client.is_closed());
}

TEST_CASE("a second connection for a channel closes the first", "[dialogue]") {
  Fixture f;
  RawClient first(f.member), other(f.member), second(f.member);
  REQUIRE(first.hello(Purpose::kAppend).is_welcome());
  REQUIRE(other.hello(Purpose::kControl).is_welcome());
  REQUIRE(second.hello(Purpose::kAppend).is_welcome());
  CHECK(first.is_closed());
  second.send(Kind::kMessage, 0, 0, "x");
  other.send(Kind::kMessage, 0, 0, "y");
  CHECK(f.member.wait([](Kernel& kernel) { return kernel.messages[1].size() == 2; }));
}

TEST_CASE("a ping comes back as it was", "[dialogue]") {
  Fixture f;
  RawClient client(f.member);
  REQUIRE(client.hello(Purpose::kControl).is_welcome());
  const auto heard = client.send(Kind::kPing, 0, 4711).hear();
  REQUIRE(heard);
  CHECK(heard->kind == Kind::kPong);
  CHECK(heard->id == 4711);
}

TEST_CASE("who asks more than may be open is told BUSY", "[dialogue]") {
  Fixture f;
  f.member.with([](Kernel& kernel) { kernel.answers_calls = false; });
  RawClient client(f.member);
  REQUIRE(client.hello(Purpose::kCall).is_welcome());
  for (uint64_t id = 1; id <= 1025; ++id) client.send(Kind::kCall, 0, id, "q");
  const auto busy = client.hear();
  REQUIRE(busy);
  CHECK(busy->kind == Kind::kReply);
  CHECK(busy->id == 1025);
  CHECK(busy->code == QUORATE_BUSY);
  f.member.answer(f.member.get<uint64_t>([](Kernel& kernel) { return kernel.tokens[0]; }),
                  QUORATE_OK, "a");
  const auto reply = client.hear();
  REQUIRE(reply);
  CHECK(reply->id == 1);
  CHECK(reply->body == "a");
  CHECK(f.member.get<size_t>([](Kernel& kernel) { return kernel.calls.size(); }) == 1024);
}

TEST_CASE("a sender that goes past its credit is closed", "[dialogue]") {
  Fixture f;
  f.member.with([](Kernel& kernel) { kernel.begin_answers = {QUORATE_BUSY}; });
  RawClient client(f.member);
  REQUIRE(client.hello(Purpose::kSnapshot).is_welcome());
  client.send(Kind::kBegin, 0, 0, "meta");
  client.send(Kind::kBlock, 0, 0, std::string(5000, 'x')).send(Kind::kBlock, 0, 0, "y");
  CHECK(client.is_closed());
  CHECK(f.member.wait([](Kernel& kernel) {
    return kernel.snapshots.size() == 1 && kernel.snapshots[0].ends == 1;
  }));
}

TEST_CASE("a second BEGIN, and a block behind END, are out of place", "[dialogue]") {
  Fixture f;
  f.member.with([](Kernel& kernel) { kernel.judges = false; });
  for (const Kind kind : {Kind::kBegin, Kind::kBlock, Kind::kEnd}) {
    RawClient client(f.member);
    REQUIRE(client.hello(Purpose::kSnapshot).is_welcome());
    client.send(Kind::kBegin, 0, 0, "meta").send(Kind::kEnd).send(kind, 0, 0, "x");
    CHECK(client.is_closed());
  }
  CHECK(f.member.wait([](Kernel& kernel) {
    for (const auto& snapshot : kernel.snapshots)
      if (snapshot.name == 0 || snapshot.ends != 1) return false;
    return kernel.snapshots.size() == 3;
  }));
}

TEST_CASE("a snapshot given up in the breath that began it is over at once", "[dialogue]") {
  Fixture f;
  RawClient client(f.member);
  REQUIRE(client.hello(Purpose::kSnapshot).is_welcome());
  OutQueue both;
  both.append(Kind::kBegin, 0, 0, "meta");
  both.append(Kind::kEnd, QUORATE_CANCELLED, 0, "");
  both.front(1, [&client](std::string_view bytes) { client.send_bytes(bytes); });
  auto heard = client.hear();
  while (heard && heard->kind == Kind::kCredit) heard = client.hear();
  REQUIRE(heard);
  CHECK(heard->kind == Kind::kDone);
  CHECK(heard->code == QUORATE_CANCELLED);
}

TEST_CASE("more snapshots of one member than may run at once are refused", "[dialogue]") {
  Fixture f;
  std::deque<RawClient> clients;
  for (int i = 0; i < 4; ++i) {
    RawClient& client = clients.emplace_back(f.member);
    REQUIRE(client.hello(Purpose::kSnapshot).is_welcome());
  }
  RawClient fifth(f.member);
  CHECK(fifth.hello(Purpose::kSnapshot).refusal() == QUORATE_BUSY);
}

TEST_CASE("TLS is refused with a sentence", "[options]") {
  CHECK_THROWS_WITH(Member(1, "", {{"tls.cert-file", "/x"}}), Catch::Contains("TLS"));
  CHECK_THROWS_WITH(Member(1, "https://127.0.0.1:1"), Catch::Contains("TLS"));
  CHECK_THROWS_WITH(Member(1, "", {{"silent-after", "1ms"}}), Catch::Contains("ping-interval"));
  CHECK_THROWS_WITH(Member(1, "", {{"max-message-bytes", "1"}}), Catch::Contains("4096"));
}

}  // namespace
}  // namespace quorate::transport_tcp
