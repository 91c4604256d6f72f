// SPDX-License-Identifier: Apache-2.0
// What a small call costs the front-end, without sockets and without a kernel. Hidden; run it in a
// release build: unit_frontend "[cost]" -s
#include <nghttp2/nghttp2.h>
#include <time.h>

#include <catch2/catch.hpp>

#include "frontend/fixture.h"
#include "frontend/h2_client.h"
#include "frontend_etcd/http2.h"
#include "frontend_etcd/wire.h"

namespace quorate::tests {
namespace {

using frontend_etcd::Core;

constexpr uint32_t kBatch = 64;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Answers every call of a batch with the same bytes, when told to.
struct Echo {
  static void submit(void* ctx, quorate_on_done done, void* sink, quorate_submission* items, size_t,
                     size_t count) {
    auto* echo = static_cast<Echo*>(ctx);
    echo->done = done;
    echo->sink = sink;
    for (size_t i = 0; i < count; ++i)
      echo->completions.push_back({items[i].user, QUORATE_OK, 0, echo->response.buf()});
  }
  void answer() {
    done(sink, completions.data(), completions.size());
    completions.clear();
  }

  SharedText response{response_bytes([](schema::Response::Builder to) { to.initPut(); })};
  quorate_on_done done = nullptr;
  void* sink = nullptr;
  std::vector<quorate_completion> completions;
};

struct Idle final : frontend_etcd::Flushable {
  void flush() override {}
};

TEST_CASE("a small call costs little", "[.cost]") {
  Echo echo;
  quorate_services services{};
  services.struct_size = sizeof services;
  services.ctx = &echo;
  services.submit_batch = &Echo::submit;
  Core core(services, nullptr, {});
  core.bind([](std::function<void()>) {}, [](frontend_etcd::Time) {});
  Idle idle;
  frontend_etcd::Http2Session session(core, "cost", &idle);
  session.receive(std::string(kClientPreface) + frame(kSettings, 0, 0, "") +
                  frame(kWindow, 0, 0, number(0x7fffffff - 65535)));

  nghttp2_hd_deflater* deflater = nullptr;
  nghttp2_hd_deflate_new(&deflater, 4096);
  std::string message;
  frontend_etcd::wire::Writer(message).bytes(1, "12345678");
  frontend_etcd::wire::Writer(message).bytes(2, std::string(256, 'v'));
  const auto call = [&](uint32_t stream) {
    const Headers headers = call_headers("/etcdserverpb.KV/Put", {{"user-agent", "grpc-go/1.60"}});
    std::vector<nghttp2_nv> fields;
    for (const auto& [name, value] : headers)
      fields.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                        reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(),
                        value.size(), 0});
    uint8_t block[1024];
    const ssize_t size =
        nghttp2_hd_deflate_hd(deflater, block, sizeof block, fields.data(), fields.size());
    return frame(kHeaders, kEndHeaders, stream,
                 {reinterpret_cast<char*>(block), static_cast<size_t>(size)}) +
           frame(kData, kEndStream, stream, grpc_message(message));
  };

  double cost = 0;
  uint32_t stream = 1, calls = 0;
  std::string out;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (uint32_t i = 0; i < kBatch; ++i, stream += 2) bytes += call(stream);
    const double start = cpu_seconds();
    core.update_now();
    session.receive(bytes);
    core.end_turn();
    echo.answer();
    core.drain();
    out.clear();
    session.produce(out, 1 << 20);
    if (round >= 100) cost += cpu_seconds() - start;
    if (round >= 100) calls += kBatch;
  }
  nghttp2_hd_deflate_del(deflater);
  CHECK(session.idle());
  WARN(cost * 1e6 / calls << " us of CPU for each call");
  core.forget(&idle);
}

}  // namespace
}  // namespace quorate::tests
