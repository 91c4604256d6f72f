// SPDX-License-Identifier: Apache-2.0
#include "transport_tcp/frame.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "transport_tcp/address.h"
#include "transport_tcp/out_queue.h"

namespace quorate::transport_tcp {
namespace {

std::string frame(Kind kind, uint16_t code, uint64_t id, std::string_view body) {
  OutQueue queue;
  queue.append(kind, code, id, body);
  std::string bytes;
  queue.front(SIZE_MAX, [&bytes](std::string_view piece) { bytes.append(piece); });
  return bytes;
}

// Feeds as much as there is room for, at most `piece` bytes a time, and gives the bodies.
std::vector<std::string> read_all(FrameReader& reader, std::string_view bytes, size_t piece,
                                  FrameReader::Next& last) {
  std::vector<std::string> bodies;
  last = FrameReader::kMore;
  while (!bytes.empty() && last != FrameReader::kBad) {
    const std::span<char> space = reader.space();
    REQUIRE(!space.empty());
    const size_t count = std::min({space.size(), piece, bytes.size()});
    std::memcpy(space.data(), bytes.data(), count);
    reader.filled(count);
    bytes.remove_prefix(count);
    Frame next;
    while ((last = reader.next(next)) == FrameReader::kFrame) bodies.emplace_back(next.body);
  }
  return bodies;
}

TEST_CASE("a frame comes out as it went in", "[frame]") {
  FrameReader reader;
  const std::string bytes = frame(Kind::kReply, 513, 0x1122334455667788, "body");
  CHECK(bytes.size() == kHeaderSize + 4);
  std::memcpy(reader.space().data(), bytes.data(), bytes.size());
  reader.filled(bytes.size());
  Frame got;
  REQUIRE(reader.next(got) == FrameReader::kFrame);
  CHECK(got.kind == Kind::kReply);
  CHECK(got.code == 513);
  CHECK(got.id == 0x1122334455667788);
  CHECK(got.body == "body");
  CHECK(reader.next(got) == FrameReader::kMore);
}

TEST_CASE("frames come out whole however they are cut", "[frame]") {
  std::vector<std::string> bodies;
  std::string bytes;
  for (const size_t size : {0, 1, 23, 24, 25, 1000, 70'000, 3, 300'000, 2'000'000, 0}) {
    bodies.emplace_back(size, static_cast<char>('a' + bodies.size()));
    bytes += frame(Kind::kMessage, 0, 0, bodies.back());
  }
  for (const size_t piece : {size_t{997}, size_t{65536}, bytes.size()}) {
    FrameReader reader;
    reader.set_body_max(1 << 22);
    FrameReader::Next last;
    CHECK((read_all(reader, bytes, piece, last) == bodies));
    CHECK(last == FrameReader::kMore);
  }
  FrameReader reader;
  FrameReader::Next last;
  const std::string few = frame(Kind::kPing, 0, 1, "") + frame(Kind::kPong, 0, 2, "xyz");
  CHECK(read_all(reader, few, 1, last) == std::vector<std::string>{"", "xyz"});
}

TEST_CASE("any flipped bit is noticed", "[frame]") {
  const std::string good = frame(Kind::kMessage, 7, 9, "some body");
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    FrameReader reader;
    FrameReader::Next last;
    CHECK(read_all(reader, bad, bad.size(), last).empty());
    CHECK(last == FrameReader::kBad);
    CHECK_FALSE(reader.complaint().empty());
  }
}

TEST_CASE("a frame cut short is none", "[frame]") {
  const std::string whole = frame(Kind::kMessage, 0, 0, "some body");
  for (size_t size = 0; size < whole.size(); ++size) {
    FrameReader reader;
    FrameReader::Next last;
    CHECK(read_all(reader, whole.substr(0, size), size + 1, last).empty());
    CHECK(last == FrameReader::kMore);
  }
}

TEST_CASE("a frame above the limit is refused by its header alone", "[frame]") {
  FrameReader reader;
  FrameReader::Next last;
  const std::string large = frame(Kind::kHello, 0, 0, std::string(kGreetingBytesMax + 1, 'x'));
  read_all(reader, large.substr(0, kHeaderSize), kHeaderSize, last);
  CHECK(last == FrameReader::kBad);
  CHECK_THAT(reader.complaint(), Catch::Contains("4097 bytes; the limit is 4096"));
  Frame none;
  CHECK(reader.next(none) == FrameReader::kBad);

  FrameReader patient;
  patient.set_body_max(kGreetingBytesMax + 1);
  CHECK(read_all(patient, large, 1000, last).size() == 1);
}

TEST_CASE("memory grows with what came, not with what a header claims", "[frame]") {
  FrameReader reader;
  reader.set_body_max(UINT32_MAX);
  std::string claim(kHeaderSize, '\0');
  put_header(claim.data(), Kind::kMessage, 0, 0, UINT32_MAX, 0);
  FrameReader::Next last;
  read_all(reader, claim, kHeaderSize, last);
  CHECK(last == FrameReader::kMore);
  CHECK(reader.space().size() < 1 << 20);
}

TEST_CASE("frames of parts are those of the parts back to back", "[frame]") {
  const std::string small = "small", large(5000, 'l');
  const auto borrowed = [](const std::string& bytes) {
    quorate_buf buf{};
    buf.bytes = sdk::slice(bytes);
    return SharedBuf(buf);
  };
  OutQueue queue;
  Parts parts;
  for (const std::string* part : {&small, &large, &small}) parts.push_back(borrowed(*part));
  queue.append(Kind::kMessage, 0, 3, std::move(parts), 11);
  std::string bytes;
  queue.front(64, [&bytes](std::string_view piece) { bytes.append(piece); });
  CHECK((bytes == frame(Kind::kMessage, 0, 3, small + large + small)));
  CHECK(queue.size() == bytes.size());
  Charge charge = queue.take(bytes.size() - 1);
  CHECK(charge.frames == 0);
  charge = queue.take(1);
  CHECK(charge.frames == 1);
  CHECK(charge.bytes == 11);
  CHECK(queue.empty());
}

TEST_CASE("a greeting comes out as it went in, and skips what is new", "[greeting]") {
  Hello hello;
  hello.version_min = 1;
  hello.version_max = 7;
  hello.cluster_id = 0xc0ffee;
  hello.from = 11;
  hello.to = 12;
  hello.purpose = Purpose::kSnapshot;
  const auto back = decode_hello(encode(hello) + "later fields");
  REQUIRE(back);
  CHECK(back->version_max == 7);
  CHECK(back->cluster_id == 0xc0ffee);
  CHECK(back->from == 11);
  CHECK(back->to == 12);
  CHECK(back->purpose == Purpose::kSnapshot);
  const auto welcome = decode_welcome(encode(Welcome{1, 2, 3}));
  REQUIRE(welcome);
  CHECK(welcome->cluster_id == 2);
  CHECK(welcome->member_id == 3);
}

TEST_CASE("a greeting that is short or of another protocol is none", "[greeting]") {
  const std::string hello = encode(Hello());
  CHECK_FALSE(decode_hello(hello.substr(1)));
  CHECK_FALSE(decode_hello(hello.substr(0, hello.size() - 1)));
  CHECK_FALSE(decode_hello("x" + hello.substr(1)));
  CHECK_FALSE(decode_hello(""));
  const std::string welcome = encode(Welcome());
  CHECK_FALSE(decode_welcome(welcome.substr(0, welcome.size() - 1)));
  CHECK_FALSE(decode_welcome("x" + welcome.substr(1)));
}

TEST_CASE("a peer URL is taken apart or refused", "[address]") {
  CHECK(parse_url("http://127.0.0.1:2380").host == "127.0.0.1");
  CHECK(parse_url("http://[::1]:2380/").host == "::1");
  CHECK(parse_url("http://peer.example:2380").port == "2380");
  for (const char* url : {"", "127.0.0.1:2380", "http://127.0.0.1", "http://127.0.0.1:",
                          "http://h:70000", "http://h:1x", "http://h:1/path", "unix:///tmp/x"})
    CHECK_THROWS(parse_url(url));
  CHECK_THROWS_WITH(parse_url("https://h:1"), Catch::Contains("TLS"));
}

}  // namespace
}  // namespace quorate::transport_tcp
