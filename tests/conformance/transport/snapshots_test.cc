// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <catch2/catch.hpp>

#include "conformance/transport/member.h"
#include "conformance/transport/proxy.h"

namespace quorate::conformance {
namespace {

using Strings = std::vector<std::string>;

IncomingSnapshot snapshot(Member& member, size_t index = 0) {
  return member.get<IncomingSnapshot>([&](Kernel& kernel) {
    return index < kernel.snapshots.size() ? kernel.snapshots[index] : IncomingSnapshot();
  });
}

// Writes as a worker does: after a BUSY it waits for READY.
quorate_status write(Stream& stream, const std::string& block) {
  for (;;) {
    const int ready = stream.member->get<int>([&](Kernel&) { return stream.ready; });
    const quorate_status status = stream.write(block);
    if (status != QUORATE_BUSY) return status;
    if (!stream.member->wait([&](Kernel&) { return stream.ready > ready; })) return QUORATE_BUSY;
  }
}

bool done(Stream& stream) {
  return stream.member->wait([&](Kernel&) { return stream.done > 0; });
}

TEST_CASE("a snapshot arrives whole and in order, and its verdict comes back", "[snapshot]") {
  Pair pair;
  Stream* stream = pair.a.open_stream(2, "meta of it");
  REQUIRE(stream != nullptr);
  Strings sent;
  for (int i = 0; i < 300; ++i) {
    sent.push_back(std::to_string(i) + std::string(static_cast<size_t>(i) * 200, 'b'));
    REQUIRE(write(*stream, sent.back()) == QUORATE_OK);
  }
  stream->finish();
  REQUIRE(done(*stream));
  CHECK(stream->verdict == QUORATE_OK);
  const IncomingSnapshot got = snapshot(pair.b);
  CHECK(got.from == 1);
  CHECK(got.meta == "meta of it");
  CHECK((got.blocks == sent));
  CHECK(got.ends == 1);
  CHECK(got.end_code == QUORATE_OK);
}

TEST_CASE("an empty snapshot, and empty blocks, arrive too", "[snapshot]") {
  Pair pair;
  Stream* empty = pair.a.open_stream(2, "");
  REQUIRE(empty != nullptr);
  empty->finish();
  REQUIRE(done(*empty));
  CHECK(empty->verdict == QUORATE_OK);
  Stream* hollow = pair.a.open_stream(2, "m");
  REQUIRE(hollow != nullptr);
  REQUIRE(write(*hollow, "") == QUORATE_OK);
  REQUIRE(write(*hollow, "x") == QUORATE_OK);
  hollow->finish();
  REQUIRE(done(*hollow));
  CHECK(snapshot(pair.b, 1).blocks == Strings{"", "x"});
}

TEST_CASE("the receiver's no is the sender's verdict", "[snapshot]") {
  Pair pair;
  pair.b.with([](Kernel& kernel) { kernel.judges = false; });
  Stream* stream = pair.a.open_stream(2, "meta");
  REQUIRE(stream != nullptr);
  REQUIRE(write(*stream, "block") == QUORATE_OK);
  stream->finish();
  REQUIRE(pair.b.wait(
      [](Kernel& kernel) { return !kernel.snapshots.empty() && kernel.snapshots[0].ends == 1; }));
  CHECK(stream->done == 0);
  pair.b.judge(snapshot(pair.b).name, QUORATE_CORRUPT);
  REQUIRE(done(*stream));
  CHECK(stream->verdict == QUORATE_CORRUPT);
}

TEST_CASE("a busy receiver is asked again when it is ready, with the same block", "[snapshot]") {
  Pair pair;
  pair.b.with([](Kernel& kernel) {
    kernel.begin_answers = {QUORATE_BUSY};
    kernel.block_answers = {QUORATE_OK, QUORATE_BUSY, QUORATE_BUSY};
  });
  Stream* stream = pair.a.open_stream(2, "meta");
  REQUIRE(stream != nullptr);
  REQUIRE(pair.b.wait([](Kernel& kernel) { return kernel.snapshots.size() == 1; }));
  const uint64_t name = snapshot(pair.b).name;
  pair.b.ready(name);
  REQUIRE(write(*stream, "1") == QUORATE_OK);
  REQUIRE(write(*stream, "2") == QUORATE_OK);
  REQUIRE(write(*stream, "3") == QUORATE_OK);
  stream->finish();
  for (const size_t left : {1, 0}) {
    REQUIRE(pair.b.wait([&](Kernel& kernel) { return kernel.block_answers.size() == left; }));
    CHECK(snapshot(pair.b).ends == 0);
    pair.b.ready(name);
  }
  REQUIRE(done(*stream));
  CHECK(stream->verdict == QUORATE_OK);
  CHECK(snapshot(pair.b).blocks == Strings{"1", "2", "3"});
}

TEST_CASE("a receiver that stays busy stops the sender, whose memory is bounded", "[snapshot]") {
  const int64_t before = Buf::alive();
  Pair pair(Member::Options{{"snapshot-window", "256KiB"}});
  pair.b.with([](Kernel& kernel) { kernel.block_answers = {QUORATE_BUSY}; });
  Stream* stream = pair.a.open_stream(2, "meta");
  REQUIRE(stream != nullptr);
  const std::string block(64 << 10, 'x');
  int taken = 0;
  while (stream->write(block) == QUORATE_OK && taken < 4096) ++taken;
  CHECK(taken < 4096);
  CHECK(Buf::alive() - before < 4096);
  REQUIRE(pair.b.wait(
      [](Kernel& kernel) { return kernel.block_answers.empty() && !kernel.snapshots.empty(); }));
  pair.b.ready(snapshot(pair.b).name);
  for (int i = taken; i < 40; ++i) REQUIRE(write(*stream, block) == QUORATE_OK);
  stream->finish();
  REQUIRE(done(*stream));
  CHECK(snapshot(pair.b).blocks.size() == static_cast<size_t>(std::max(taken, 40)));
}

TEST_CASE("a sender that gives up is heard by the receiver", "[snapshot]") {
  Pair pair;
  Stream* stream = pair.a.open_stream(2, "meta");
  REQUIRE(stream != nullptr);
  REQUIRE(write(*stream, "block") == QUORATE_OK);
  REQUIRE(pair.b.wait([](Kernel& kernel) {
    return !kernel.snapshots.empty() && kernel.snapshots[0].blocks.size() == 1;
  }));
  stream->finish(QUORATE_IO_ERROR);
  REQUIRE(done(*stream));
  CHECK(stream->verdict != QUORATE_OK);
  const IncomingSnapshot got = snapshot(pair.b);
  CHECK(got.ends == 1);
  CHECK(got.end_code == QUORATE_IO_ERROR);
}

TEST_CASE("a receiver that refuses a block ends the sender's work", "[snapshot]") {
  Pair pair;
  pair.b.with([](Kernel& kernel) { kernel.block_answers = {QUORATE_OK, QUORATE_NO_SPACE}; });
  Stream* stream = pair.a.open_stream(2, "meta");
  REQUIRE(stream != nullptr);
  // Blocks that fill what may wait on the way, so that the sender cannot run ahead of the refusal.
  const std::string block(64 * 1024, 'b');
  quorate_status status = QUORATE_OK;
  for (int i = 0; i < 100'000 && status == QUORATE_OK; ++i) status = write(*stream, block);
  CHECK(status != QUORATE_OK);
  CHECK(stream->done == 0);
  stream->finish();
  REQUIRE(done(*stream));
  CHECK(stream->verdict == QUORATE_NO_SPACE);
  CHECK(snapshot(pair.b).ends == 1);
  CHECK(snapshot(pair.b).blocks == Strings{block});
}

TEST_CASE("a receiver that refuses the beginning gets no block", "[snapshot]") {
  Pair pair;
  pair.b.with([](Kernel& kernel) { kernel.begin_answers = {QUORATE_UNSUPPORTED}; });
  Stream* stream = pair.a.open_stream(2, "meta");
  REQUIRE(stream != nullptr);
  stream->write("block");
  stream->finish();
  REQUIRE(done(*stream));
  CHECK(stream->verdict == QUORATE_UNSUPPORTED);
  CHECK(snapshot(pair.b).ends == 1);
  CHECK(snapshot(pair.b).blocks.empty());
}

TEST_CASE("a lost connection ends a snapshot on both sides", "[snapshot]") {
  Member a(1, free_url());
  Member b(2, free_url());
  Proxy proxy(port_of(b.url()));
  a.know(2, proxy.url());
  REQUIRE(a.wait_state(2, QUORATE_PEER_CONNECTED));
  Stream* stream = a.open_stream(2, "meta");
  REQUIRE(stream != nullptr);
  REQUIRE(write(*stream, "block") == QUORATE_OK);
  REQUIRE(b.wait([](Kernel& kernel) {
    return !kernel.snapshots.empty() && kernel.snapshots[0].blocks.size() == 1;
  }));
  proxy.cut();
  REQUIRE(b.wait([](Kernel& kernel) { return kernel.snapshots[0].ends == 1; }));
  CHECK(snapshot(b).end_code != QUORATE_OK);
  quorate_status status = QUORATE_OK;
  for (int i = 0; i < 100'000 && status == QUORATE_OK; ++i) status = write(*stream, "block");
  CHECK(status != QUORATE_OK);
  stream->finish();
  REQUIRE(done(*stream));
  CHECK(stream->verdict != QUORATE_OK);
}

TEST_CASE("a snapshot of a receiver that is busy ends with its connection", "[snapshot]") {
  Member b(2, free_url());
  b.with([](Kernel& kernel) { kernel.begin_answers = {QUORATE_BUSY}; });
  {
    Member a(1, free_url());
    a.know(b);
    REQUIRE(a.wait_state(2, QUORATE_PEER_CONNECTED));
    Stream* stream = a.open_stream(2, "meta");
    REQUIRE(stream != nullptr);
    REQUIRE(b.wait([](Kernel& kernel) { return kernel.snapshots.size() == 1; }));
    a.stop();
    stream->finish();
    REQUIRE(done(*stream));
  }
  REQUIRE(b.wait([](Kernel& kernel) { return kernel.snapshots[0].ends == 1; }));
  b.ready(snapshot(b).name);  // too late, and nothing comes of it
  Member c(3, free_url());
  c.know(b);
  REQUIRE(c.wait_state(2, QUORATE_PEER_CONNECTED));
  Stream* next = c.open_stream(2, "next");
  REQUIRE(next != nullptr);
  next->finish();
  REQUIRE(done(*next));
  CHECK(next->verdict == QUORATE_OK);
}

TEST_CASE("a snapshot for who is not there is UNAVAILABLE", "[snapshot]") {
  Member a(1, free_url());
  CHECK(a.open_stream(9, "meta") == nullptr);
  a.know(2, free_url());
  Stream* stream = a.open_stream(2, "meta");
  REQUIRE(stream != nullptr);
  quorate_status status = QUORATE_OK;
  for (int i = 0; i < 100'000 && status == QUORATE_OK; ++i) status = write(*stream, "block");
  CHECK(status == QUORATE_UNAVAILABLE);
  stream->finish();
  REQUIRE(done(*stream));
  CHECK(stream->verdict == QUORATE_UNAVAILABLE);
}

TEST_CASE("a snapshot under way does not delay messages", "[snapshot]") {
  Pair pair;
  pair.b.with([](Kernel& kernel) { kernel.block_answers = {QUORATE_BUSY}; });
  Stream* stream = pair.a.open_stream(2, "meta");
  REQUIRE(stream != nullptr);
  while (stream->write(std::string(1 << 20, 'x')) == QUORATE_OK) continue;
  pair.a.send(2, QUORATE_CHANNEL_CONTROL, {"beat"});
  CHECK(pair.b.wait([](Kernel& kernel) { return kernel.messages[1].size() == 1; }));
  stream->finish(QUORATE_CANCELLED);
  CHECK(done(*stream));
}

TEST_CASE("two snapshots at once keep apart", "[snapshot]") {
  Pair pair;
  Stream* one = pair.a.open_stream(2, "one");
  Stream* two = pair.a.open_stream(2, "two");
  REQUIRE((one != nullptr && two != nullptr));
  for (int i = 0; i < 50; ++i) {
    REQUIRE(write(*one, "1") == QUORATE_OK);
    REQUIRE(write(*two, "2") == QUORATE_OK);
  }
  one->finish();
  two->finish();
  REQUIRE((done(*one) && done(*two)));
  for (const size_t i : {0, 1}) {
    const IncomingSnapshot got = snapshot(pair.b, i);
    CHECK(got.blocks == Strings(50, got.meta == "one" ? "1" : "2"));
  }
}

}  // namespace
}  // namespace quorate::conformance
