// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <future>
#include <memory>
#include <thread>

#include "frontend/fixture.h"
#include "frontend/h2_client.h"
#include "frontend/raw/calls.h"
#include "frontend_etcd/core.h"
#include "frontend_etcd/wire.h"

namespace quorate::tests {
namespace {

TEST_CASE("a call that nobody serves is unimplemented", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  const auto [path, text] = GENERATE(table<std::string, std::string>({
      {"/etcdserverpb.Nothing/Put", "unknown service etcdserverpb.Nothing"},
      {"/etcdserverpb.KV/Nothing", "unknown method Nothing for service etcdserverpb.KV"},
      {"/etcdserverpb.KV/RangeStream", "unknown method RangeStream for service etcdserverpb.KV"},
      {"put", "malformed method name: \"put\""},
      {"/put", "malformed method name: \"/put\""},
  }));
  client.send(H2Client::call(1, path, ""));
  const Reply reply = client.reply(1);
  CHECK(reply.at(":status") == "200");
  CHECK(reply.at("content-type") == "application/grpc");
  CHECK(reply.status() == "12");
  CHECK(reply.message() == text);
}

TEST_CASE("a snapshot is not served yet and says so", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  client.send(H2Client::call(1, "/etcdserverpb.Maintenance/Snapshot", ""));
  CHECK(client.reply(1).status() == "12");
}

TEST_CASE("what is no gRPC call is refused as HTTP", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  Headers headers = call_headers(kPut);
  SECTION("another method") {
    headers[0].second = "GET";
    client.send(frame(kHeaders, kEndHeaders | kEndStream, 1, header_block(headers)));
    CHECK(client.reply(1).at(":status") == "405");
  }
  SECTION("another content type") {
    headers[4].second = "application/grpcx";
    client.send(frame(kHeaders, kEndHeaders | kEndStream, 1, header_block(headers)));
    CHECK(client.reply(1).at(":status") == "415");
  }
  SECTION("a header list that is too large") {
    headers.emplace_back("x", std::string(9'000, 'x'));
    headers.emplace_back("y", std::string(9'000, 'y'));
    const std::string block = header_block(headers);
    client.send(frame(kHeaders, kEndStream, 1, block.substr(0, 16'000)) +
                frame(kContinuation, kEndHeaders, 1, block.substr(16'000)));
    CHECK(client.reply(1).at(":status") == "431");
  }
}

TEST_CASE("a message above the limit is refused before it is all there", "[frontend]") {
  Frontend frontend;
  frontend.host.settings["max-request-bytes"] = "1000";
  H2Client client(frontend.port());
  client.send(open_call(1, kPut) + frame(kData, 0, 1, std::string(1, '\0') + number(525'289)));
  const Reply reply = client.reply(1);
  CHECK(reply.status() == "8");
  CHECK(reply.message() == "grpc: received message larger than max (525289 vs. 525288)");
  CHECK(frontend.kernel.asked_count() == 0);
}

TEST_CASE("a message of exactly the limit is served", "[frontend]") {
  Frontend frontend;
  frontend.host.settings["max-request-bytes"] = "0";
  H2Client client(frontend.port());
  std::string message = put_request(std::string(512 * 1024 - 4, 'k'));
  REQUIRE(message.size() == 512 * 1024);
  client.send(open_call(1, kPut));
  message = grpc_message(message);
  for (size_t at = 0; at < message.size(); at += 16'384)
    client.send(frame(kData, at + 16'384 >= message.size() ? kEndStream : 0, 1,
                      std::string_view(message).substr(at, 16'384)));
  CHECK(client.reply(1).status() == "0");
}

TEST_CASE("compression is refused", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  SECTION("by name") {
    client.send(H2Client::call(1, kPut, put_request(), {{"grpc-encoding", "gzip"}}));
    const Reply reply = client.reply(1);
    CHECK(reply.status() == "12");
    CHECK(reply.message() == "grpc: Decompressor is not installed for grpc-encoding \"gzip\"");
    CHECK(reply.at("grpc-accept-encoding") == "identity");
  }
  SECTION("by flag") {
    client.send(open_call(1, kPut) + frame(kData, kEndStream, 1, std::string(1, '\1') + number(0)));
    CHECK(client.reply(1).status() == "13");
  }
  SECTION("but not identity") {
    client.send(H2Client::call(1, kPut, put_request(), {{"grpc-encoding", "identity"}}));
    CHECK(client.reply(1).status() == "0");
  }
}

TEST_CASE("bytes that are no request are an internal error, as in gRPC", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, "\x0a\x7fk"));
  const Reply reply = client.reply(1);
  CHECK(reply.status() == "13");
  CHECK(reply.message() == "grpc: error unmarshalling request: malformed message");
  CHECK(frontend.kernel.asked_count() == 0);
}

TEST_CASE("a malformed message ends a stream", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  const std::string path =
      GENERATE("/etcdserverpb.Watch/Watch", "/etcdserverpb.Lease/LeaseKeepAlive");
  client.send(open_call(1, path) + frame(kData, 0, 1, grpc_message("\x0a\x7f")));
  CHECK(client.reply(1).status() == "13");
}

TEST_CASE("a call without a whole message is an internal error", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  const std::string data = GENERATE(std::string(), std::string(3, '\0'));
  client.send(open_call(1, kPut) + frame(kData, kEndStream, 1, data));
  CHECK(client.reply(1).status() == "13");
}

TEST_CASE("a message may come a byte at a time", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  client.send(open_call(1, kPut));
  for (const char byte : grpc_message(put_request("slow")))
    client.send(frame(kData, 0, 1, std::string(1, byte)));
  const Reply reply = client.reply(1);
  CHECK(reply.status() == "0");
  const Asked asked = frontend.kernel.asked(0);
  schema::SegmentReader reader(asked.request);
  CHECK(reader.root<schema::Request>().getPut().getKey().size() == 4);
}

TEST_CASE("a stream whose client still talks is reset without error once answered", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  client.send(open_call(1, kPut) + frame(kData, 0, 1, grpc_message(put_request())));
  CHECK(client.reply(1).status() == "0");
  const auto reset = client.wait_for(kReset);
  REQUIRE(reset);
  CHECK(reset->number(0) == 0);
}

TEST_CASE("all calls of one read are one batch", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  std::string calls;
  for (uint32_t i = 0; i < 20; ++i) calls += H2Client::call(2 * i + 1, kPut, put_request());
  client.send(calls);
  for (uint32_t i = 0; i < 20; ++i) CHECK(client.reply(2 * i + 1).status() == "0");
  CHECK(frontend.kernel.batch_sizes() == std::vector<size_t>{20});
}

TEST_CASE("a refused submission is an answer", "[frontend]") {
  Frontend frontend;
  frontend.kernel.refuse_with(QUORATE_BUSY);
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, put_request()) + H2Client::call(3, kPut, put_request()));
  CHECK(client.reply(1).message() == "etcdserver: too many requests");
  CHECK(client.reply(3).status() == "2");
}

TEST_CASE("a deadline that passes ends the call and cancels it", "[frontend]") {
  Frontend frontend;
  frontend.kernel.hold();
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, put_request(), {{"grpc-timeout", "20m"}}));
  const Reply reply = client.reply(1);
  CHECK(reply.status() == "4");
  CHECK(reply.message() == "context deadline exceeded");
  frontend.kernel.wait_for_cancel(1);
  CHECK(frontend.kernel.asked(0).timeout_ms == 20);
}

TEST_CASE("a malformed deadline is refused", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, put_request(), {{"grpc-timeout", "soon"}}));
  CHECK(client.reply(1).status() == "13");
}

TEST_CASE("a call that its client gives up is cancelled", "[frontend]") {
  Frontend frontend;
  frontend.kernel.hold();
  auto client = std::make_unique<H2Client>(frontend.port());
  client->send(H2Client::call(1, kPut, put_request()));
  frontend.kernel.asked(0);
  SECTION("by a reset") {
    client->send(frame(kReset, 0, 1, number(8)));
  }
  SECTION("by going away") {
    client.reset();
  }
  frontend.kernel.wait_for_cancel(1);
  CHECK(frontend.kernel.cancel_count() == 1);
}

TEST_CASE("a call reset in the read that brought it never reaches the kernel", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, put_request()) + frame(kReset, 0, 1, number(8)) +
              H2Client::call(3, kPut, put_request()));
  CHECK(client.reply(3).status() == "0");
  CHECK(frontend.kernel.asked_count() == 1);
}

TEST_CASE("metadata reaches the kernel", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, put_request(),
                             {{"token", "first"},
                              {"token", "second"},
                              {"authorization", "Bearer other"},
                              {"hasleader", "true"},
                              {"client-api-version", "3.6"}}));
  CHECK(client.reply(1).status() == "0");
  const Asked asked = frontend.kernel.asked(0);
  CHECK(asked.token == "first");
  CHECK(asked.api_version == "3.6");
  CHECK(asked.flags == QUORATE_CALL_HAS_LEADER);
  CHECK(asked.remote.starts_with("127.0.0.1:"));

  client.send(H2Client::call(3, kPut, put_request(), {{"authorization", "Bearer other"}}));
  CHECK(client.reply(3).status() == "0");
  CHECK(frontend.kernel.asked(1).token == "other");
}

TEST_CASE("a client version that is no text is refused", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, put_request(), {{"client-api-version", "\xff"}}));
  const Reply reply = client.reply(1);
  CHECK(reply.status() == "3");
  CHECK(reply.message() == "etcdserver: invalid client api version");
}

TEST_CASE("any authority is accepted", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  Headers headers = call_headers(kPut);
  headers[3].second = "#initially=[http://127.0.0.1:2379]";
  client.send(frame(kHeaders, kEndHeaders, 1, header_block(headers)) +
              frame(kData, kEndStream, 1, grpc_message(put_request())));
  CHECK(client.reply(1).status() == "0");
}

TEST_CASE("an error's text travels percent-encoded", "[frontend]") {
  Frontend frontend;
  frontend.kernel.answer_with([](schema::Request::Reader, schema::Response::Builder response) {
    response.setMessage("50% na\xc3\xafve\n");
    return QUORATE_UNSUPPORTED;
  });
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, put_request()));
  CHECK(client.reply(1).message() == "50%25 na%C3%AFve%0A");
}

TEST_CASE("a client that pings too often is told to calm down", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  for (int i = 0; i < 4; ++i) client.send(frame(kPing, 0, 0, "12345678"));
  const auto goaway = client.wait_for(kGoaway);
  REQUIRE(goaway);
  CHECK(goaway->number(4) == 11);
  CHECK(goaway->payload.substr(8) == "too_many_pings");
  CHECK_FALSE(client.wait_for(kGoaway));  // and closed
}

TEST_CASE("pings between answers are forgiven", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  for (uint32_t i = 0; i < 10; ++i) {
    client.send(H2Client::call(2 * i + 1, kPut, put_request()));
    REQUIRE(client.reply(2 * i + 1).status() == "0");
    client.send(frame(kPing, 0, 0, "12345678"));
    REQUIRE(client.wait_for(kPing));
  }
}

// Whatever one connection does, another is served.
void check_serves(Frontend& frontend) {
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, put_request()));
  CHECK(client.reply(1).status() == "0");
}

TEST_CASE("a flood ends the connection and nothing else", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  client.wait_for(kSettings);
  std::string flood;
  SECTION("of resets") {
    for (uint32_t i = 0; i < 3000; ++i)
      flood += open_call(2 * i + 1, kPut) + frame(kReset, 0, 2 * i + 1, number(8));
  }
  SECTION("of continuations") {
    flood = frame(kHeaders, 0, 1, header_block(call_headers(kPut)));
    for (int i = 0; i < 3000; ++i) flood += frame(kContinuation, 0, 1, "");
  }
  SECTION("of settings") {
    for (int i = 0; i < 3000; ++i) flood += frame(kSettings, 0, 0, "");
  }
  SECTION("of pings") {
    for (int i = 0; i < 3000; ++i) flood += frame(kPing, 0, 0, "12345678");
  }
  std::thread sender([&] {
    while (client.send(flood)) {
    }
  });
  while (client.next()) {
  }
  sender.join();
  check_serves(frontend);
}

TEST_CASE("garbage ends the connection and nothing else", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port());
  client.send(std::string(100, '\xff'));
  while (client.next()) {
  }
  check_serves(frontend);
}

TEST_CASE("the limit of streams is announced", "[frontend]") {
  Given given;
  given.options = {{"max-concurrent-streams", "77"}};
  Frontend frontend(given);
  H2Client client(frontend.port());
  const auto settings = client.wait_for(kSettings);
  REQUIRE(settings);
  CHECK(settings->payload.find(setting(3, 77)) != std::string::npos);
}

TEST_CASE("stop says goodbye, lets calls finish and refuses new ones", "[frontend]") {
  Frontend frontend;
  frontend.kernel.hold();
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, put_request()));
  frontend.kernel.asked(0);
  std::thread stopper([&] { frontend.stop(20'000); });
  const auto goaway = client.wait_for(kGoaway);
  REQUIRE(goaway);
  CHECK(goaway->number(4) == 0);
  CHECK(goaway->number(0) == 1);
  frontend.kernel.answer_held(0);
  CHECK(client.reply(1).status() == "0");
  while (client.next()) {
  }
  stopper.join();
  CHECK(frontend.kernel.cancel_count() == 0);
}

TEST_CASE("stop does not wait longer than it may", "[frontend]") {
  Frontend frontend;
  frontend.kernel.hold();
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, put_request()));
  frontend.kernel.asked(0);
  frontend.stop(1);
  frontend.kernel.wait_for_cancel(1);
  frontend.destroy();
  CHECK(frontend.kernel.everything_released());
}

TEST_CASE("a front-end that is destroyed with connections open closes them", "[frontend]") {
  Frontend frontend;
  std::vector<std::unique_ptr<H2Client>> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(std::make_unique<H2Client>(frontend.port()));
    REQUIRE(clients.back()->wait_for(kSettings));
  }
  frontend.destroy();
  for (const auto& client : clients) {
    CHECK(client->wait_for(kGoaway));
    CHECK_FALSE(client->wait_for(kGoaway));  // and closed
  }
}

TEST_CASE("refused creates behind an open one hold a watch stream back for a while only",
          "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port(), setting(4, 1 << 20));
  const auto create = [](const std::string& key, const std::string& range_end) {
    std::string request, message;
    frontend_etcd::wire::Writer(request).bytes(1, key);
    frontend_etcd::wire::Writer(request).bytes(2, range_end);
    frontend_etcd::wire::Writer(message).bytes_always(1, request);
    return frame(kData, 0, 1, grpc_message(message));
  };
  std::string calls = open_call(1, "/etcdserverpb.Watch/Watch") + create("first", "");
  for (size_t i = 0; i < frontend_etcd::kOpenAsksMax + 10; ++i) calls += create("b", "a");
  client.send(calls + create("last", ""));
  FakeKernel& kernel = frontend.kernel;
  kernel.stream(0, [](const FakeStream& one) { return one.adds.size() == 1; });
  kernel.created(0, 1, 7);
  const FakeStream stream =
      kernel.stream(0, [](const FakeStream& one) { return one.adds.size() == 2; });
  schema::SegmentReader reader(stream.adds[1].second);
  CHECK(reader.root<schema::WatchCreate>().getKey().size() == 4);
}

TEST_CASE("a slow watch stream is held back, resumed, and loses nothing", "[frontend]") {
  Frontend frontend;
  H2Client client(frontend.port(), setting(4, 1 << 20));
  std::string create;
  frontend_etcd::wire::Writer(create).bytes_always(1, put_request());
  client.send(open_call(1, "/etcdserverpb.Watch/Watch") + frame(kData, 0, 1, grpc_message(create)));
  FakeKernel& kernel = frontend.kernel;
  kernel.stream(0, [](const FakeStream& one) { return one.adds.size() == 1; });
  kernel.created(0, 1, 7);

  constexpr int64_t kEvents = 400;
  int held_back = 0;
  std::promise<void> first_time;
  std::thread teller([&] {
    for (int64_t revision = 1; revision <= kEvents; ++revision) {
      const std::string event = put_event(
          "k", std::string(static_cast<size_t>(20'000 + revision * 31 % 4000), 'v'), revision);
      int resumes = kernel.stream(0).resumes;
      while (kernel.events(0, 1, revision, {event}) == QUORATE_BUSY) {
        if (++held_back == 1) first_time.set_value();
        kernel.stream(0, [resumes](const FakeStream& one) { return one.resumes > resumes; });
        resumes = kernel.stream(0).resumes;
      }
    }
  });
  // Reads the revision out of each message's header, and gives back the window that it took.
  first_time.get_future().wait();
  std::string data;
  int64_t seen = 0;
  while (seen < kEvents) {
    const auto got = client.next();
    REQUIRE(got);
    if (got->type != kData) continue;
    data += got->payload;
    const std::string window = number(static_cast<uint32_t>(got->payload.size()));
    client.send(frame(kWindow, 0, 0, window) + frame(kWindow, 0, 1, window));
    while (data.size() >= 5) {
      Frame prefix;
      prefix.payload = data.substr(1, 4);
      const size_t size = prefix.number(0);
      if (data.size() < 5 + size) break;
      int64_t revision = 0;
      bool created = false;
      const std::string message = data.substr(5, size);
      data.erase(0, 5 + size);
      for (frontend_etcd::wire::Reader in(message); in.next();) {
        if (in.field() == 3) created = in.boolean();
        if (in.field() != 1) continue;
        for (frontend_etcd::wire::Reader header(in.bytes()); header.next();)
          if (header.field() == 3) revision = header.int64();
      }
      if (created) continue;
      REQUIRE(revision == seen + 1);
      seen = revision;
    }
  }
  teller.join();
  CHECK(held_back > 0);
}

TEST_CASE("a long range comes in pieces against credit", "[frontend]") {
  Frontend frontend;
  frontend.kernel.answer_code(QUORATE_USE_RANGE_OPEN);
  const bool keys_only = GENERATE(false, true);
  H2Client client(frontend.port(), setting(4, 1 << 24));
  client.send(frame(kWindow, 0, 0, number(1 << 24)));
  std::string request = put_request("a");
  frontend_etcd::wire::Writer(request).number(8, keys_only);
  client.send(H2Client::call(1, kRange, request));
  const FakePull pull = frontend.kernel.pull(0);
  schema::SegmentReader reader(pull.request);
  CHECK(reader.root<schema::Request>().getRange().getKey().size() == 1);

  std::vector<std::string> pieces;
  std::string all, all_keys;
  for (int i = 0; i < 20; ++i) {
    const std::string key = "key" + std::to_string(i);
    pieces.push_back(run_of({record(key, std::string(100'000, 'v'))}));
    all += pieces.back();
    all_keys += run_of({record(key, "")});
  }
  frontend.kernel.piece(0, QUORATE_PIECE_HEAD, 0, response_bytes([&](auto response) {
                          auto range = response.initRange();
                          range.setCount(20);
                          range.setMore(true);
                          range.setKvBytes(all.size());
                        }));
  for (const std::string& piece : pieces) {
    frontend.kernel.pull(0, [&](const FakePull& one) { return one.credit >= piece.size(); });
    frontend.kernel.piece(0, QUORATE_PIECE_DATA, 0, piece);
  }
  frontend.kernel.piece(0, QUORATE_PIECE_END, 0, "");
  const Reply reply = client.reply(1);
  CHECK(reply.status() == "0");
  const std::string expected = "\x0a\x08\x08\x01\x10\x02\x18\x07\x20\x03" +
                               (keys_only ? all_keys : all) + "\x18\x01\x20\x14";
  CHECK((reply.data == grpc_message(expected)));
  CHECK(frontend.kernel.error().empty());
}

TEST_CASE("a client that does not read stops the pull", "[frontend]") {
  Frontend frontend;
  frontend.kernel.answer_code(QUORATE_USE_RANGE_OPEN);
  H2Client client(frontend.port(), setting(4, 0));
  client.send(H2Client::call(1, kRange, put_request("a")));
  frontend.kernel.pull(0);
  frontend.kernel.piece(0, QUORATE_PIECE_HEAD, 0, response_bytes([&](auto response) {
                          response.initRange().setKvBytes(1 << 30);
                        }));
  const uint64_t credit =
      frontend.kernel.pull(0, [](const FakePull& one) { return one.credit > 0; }).credit;
  frontend.kernel.piece(0, QUORATE_PIECE_DATA, 0, std::string(credit, 'x'));
  client.send(frame(kPing, 0, 0, "12345678"));
  client.wait_for(kPing);
  CHECK(frontend.kernel.pull(0).credit == 0);
  client.send(frame(kReset, 0, 1, number(8)));
  CHECK(frontend.kernel.pull(0, [](const FakePull& one) { return one.closed; }).closed);
}

TEST_CASE("a pull that fails fails the call", "[frontend]") {
  Frontend frontend;
  frontend.kernel.answer_code(QUORATE_USE_RANGE_OPEN);
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kRange, put_request("a")));
  frontend.kernel.pull(0);
  frontend.kernel.piece(0, QUORATE_PIECE_END, QUORATE_COMPACTED, "");
  const Reply reply = client.reply(1);
  CHECK(reply.status() == "11");
  CHECK(reply.message() == "etcdserver: mvcc: required revision has been compacted");
}

TEST_CASE("a bad listen URL is refused with a sentence", "[frontend]") {
  const auto [url, part] = GENERATE(table<std::string, std::string>({
      {"https://127.0.0.1:0", "TLS"},
      {"127.0.0.1:0", "no scheme"},
      {"http://127.0.0.1", "no port"},
      {"http://127.0.0.1:0/path", "a path"},
      {"unix://", "no path"},
  }));
  Given given;
  given.urls = {url};
  Frontend frontend(given);
  CHECK_THAT(frontend.start_error(), Catch::Contains(part));
}

TEST_CASE("a busy port is refused with a sentence, and nothing stays bound", "[frontend]") {
  Frontend first;
  Given given;
  given.urls = {"http://127.0.0.1:0", "http://" + first.address()};
  Frontend second(given);
  CHECK_THAT(second.start_error(), Catch::StartsWith("cannot listen on http://127.0.0.1:") &&
                                       Catch::Contains("choose another listen URL"));
}

TEST_CASE("a bad setting is refused with a sentence", "[frontend]") {
  Frontend frontend;
  frontend.host.settings["grpc-keepalive-timeout"] = "soon";
  CHECK_THAT(frontend.start_error(), Catch::Contains("grpc-keepalive-timeout"));
}

TEST_CASE("it says where it listens", "[frontend]") {
  Frontend frontend;
  const std::string address = frontend.address();
  const auto lines = frontend.host.log_lines();
  CHECK(std::count(lines.begin(), lines.end(), "serving clients on http://" + address) == 1);
}

}  // namespace
}  // namespace quorate::tests
