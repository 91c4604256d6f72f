// SPDX-License-Identifier: Apache-2.0
#include "plugin/transport.h"

#include <catch2/catch.hpp>
#include <cstdio>

#include "base/bytes.h"

namespace quorate::plugin {
namespace {

struct Script {
  quorate_status answer = QUORATE_OK;
  std::vector<std::string> calls;
};
Script* script = nullptr;  // that of the running test

template <typename... Words>
void note(const Words&... words) {
  std::string line;
  ((line += (line.empty() ? "" : " ") + std::string(words)), ...);
  script->calls.push_back(line);
}
std::string text(uint64_t number) {
  return std::to_string(number);
}
quorate_status answer(quorate_error* error) {
  if (error) std::snprintf(error->message, sizeof(error->message), "cannot");
  return script->answer;
}

const quorate_transport_factory kTable = [] {
  quorate_transport_factory table{};
  table.struct_size = sizeof(table);
  table.create = [](const quorate_transport_options*, const quorate_receiver*,
                    quorate_transport** out, quorate_error* error) {
    *out = reinterpret_cast<quorate_transport*>(script);
    return answer(error);
  };
  table.stop = [](quorate_transport*, uint64_t drain_ms) { note("stop", text(drain_ms)); };
  table.destroy = [](quorate_transport*) { note("destroy"); };
  table.listen = [](quorate_transport*, const char* url, quorate_error* error) {
    note("listen", url);
    return answer(error);
  };
  table.set_self = [](quorate_transport*, uint64_t cluster, uint64_t member) {
    note("set_self", text(cluster), text(member));
  };
  table.set_peer = [](quorate_transport*, uint64_t member, const char* const* urls, uint32_t count,
                      quorate_error* error) {
    std::string all;
    for (uint32_t i = 0; i < count; ++i) all += urls[i];
    note("set_peer", text(member), all);
    return answer(error);
  };
  table.remove_peer = [](quorate_transport*, uint64_t member) {
    note("remove_peer", text(member));
  };
  table.send = [](quorate_transport*, const quorate_message* messages, size_t count) {
    for (size_t i = 0; i < count; ++i)
      note("send", text(messages[i].to), from_c(messages[i].parts[0].bytes));
  };
  table.call = [](quorate_transport*, uint64_t member, const char* url, const quorate_buf* request,
                  uint64_t timeout_ms, quorate_on_reply, void* user) {
    note("call", text(member), url, from_c(request->bytes), text(timeout_ms),
         static_cast<const char*>(user));
  };
  table.reply = [](quorate_transport*, uint64_t token, quorate_status code,
                   const quorate_buf* reply) {
    note("reply", text(token), text(static_cast<uint64_t>(code)), from_c(reply->bytes));
  };
  table.stream_open = [](quorate_transport*, uint64_t to, const quorate_buf* meta, void*,
                         quorate_stream** out, quorate_error* error) {
    note("stream_open", text(to), from_c(meta->bytes));
    *out = reinterpret_cast<quorate_stream*>(script);
    return answer(error);
  };
  table.stream_write = [](quorate_stream*, const quorate_buf* block) {
    note("stream_write", from_c(block->bytes));
    return answer(nullptr);
  };
  table.stream_finish = [](quorate_stream*, quorate_status code) {
    note("stream_finish", text(static_cast<uint64_t>(code)));
  };
  table.on_snapshot = [](quorate_transport*, uint64_t stream, uint32_t event, quorate_status code) {
    note("on_snapshot", text(stream), text(event), text(static_cast<uint64_t>(code)));
  };
  table.get_extension = [](quorate_transport*, const char* id) -> const void* { return id; };
  return table;
}();

struct Fixture {
  Fixture() {
    script = &state;
    auto created = Transport::create(TransportFactory("tcp", &kTable), {}, &receiver);
    REQUIRE(created);
    transport = std::move(*created);
  }
  ~Fixture() {
    transport.reset();
    script = nullptr;
  }
  Script state;
  quorate_receiver receiver{};
  std::unique_ptr<Transport> transport;
  const Bytes bytes = Bytes::copy("hello");
  const quorate_buf buf = bytes.lend();
};

TEST_CASE("a transport is set up, stopped and destroyed in that order", "[transport]") {
  Fixture fixture;
  CHECK(fixture.transport->listen("http://127.0.0.1:0").ok());
  fixture.transport->set_self(1, 2);
  CHECK(fixture.transport->set_peer(3, {"a", "b"}).ok());
  fixture.transport->remove_peer(3);
  fixture.transport->stop(100);
  fixture.transport.reset();
  CHECK(fixture.state.calls == std::vector<std::string>{"listen http://127.0.0.1:0", "set_self 1 2",
                                                        "set_peer 3 ab", "remove_peer 3",
                                                        "stop 100", "destroy"});
}

TEST_CASE("messages, calls and replies reach the transport as they are", "[transport]") {
  Fixture fixture;
  char user[] = "user";
  const quorate_message message = {7, QUORATE_CHANNEL_APPEND, 1, &fixture.buf};
  fixture.transport->send({&message, 1});
  fixture.transport->call(0, "http://b", fixture.buf, 500, nullptr, user);
  fixture.transport->reply(9, Code::kBusy, fixture.buf);
  CHECK(fixture.state.calls == std::vector<std::string>{"send 7 hello",
                                                        "call 0 http://b hello 500 user",
                                                        "reply 9 4 hello"});
}

TEST_CASE("snapshots go out as a stream and come in by name", "[transport]") {
  Fixture fixture;
  const Result<quorate_stream*> stream = fixture.transport->stream_open(5, fixture.buf, nullptr);
  REQUIRE(stream);
  fixture.state.answer = QUORATE_BUSY;
  CHECK(fixture.transport->stream_write(*stream, fixture.buf) == Code::kBusy);
  fixture.transport->stream_finish(*stream, Code::kOk);
  fixture.transport->on_snapshot(8, QUORATE_STREAM_DONE, Code::kOk);
  CHECK(fixture.state.calls == std::vector<std::string>{"stream_open 5 hello", "stream_write hello",
                                                        "stream_finish 0", "on_snapshot 8 2 0"});
}

TEST_CASE("a transport's errors say its name, the call and why", "[transport]") {
  Fixture fixture;
  fixture.state.answer = QUORATE_UNAVAILABLE;
  CHECK(fixture.transport->listen("u").message() == "tcp: listen on u: cannot");
  CHECK(fixture.transport->set_peer(3, {}).message() == "tcp: set a peer: cannot");
  CHECK(fixture.transport->stream_open(5, fixture.buf, nullptr).status().message() ==
        "tcp: open a stream: cannot");
  CHECK(Transport::create(TransportFactory("tcp", &kTable), {}, &fixture.receiver)
            .status()
            .message() == "tcp: create: cannot");
}

}  // namespace
}  // namespace quorate::plugin
