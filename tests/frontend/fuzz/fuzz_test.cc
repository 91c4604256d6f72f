// SPDX-License-Identifier: Apache-2.0
// Damaged input, by seeded mutation: nothing that a client sends may do more than end its own call
// or connection. The sanitizer builds are the judges.
#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

#include "frontend/fixture.h"
#include "frontend/h2_client.h"
#include "frontend_etcd/http2.h"
#include "frontend_etcd/request_codec.h"
#include "frontend_etcd/wire.h"

namespace quorate::tests {
namespace {

using frontend_etcd::Core;
using frontend_etcd::Method;
using frontend_etcd::wire::Writer;

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  size_t below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  std::string mutate(std::string bytes) {
    for (size_t times = 1 + below(4); times > 0; --times) {
      const size_t at = below(bytes.size());
      switch (below(5)) {
        case 0:
          if (!bytes.empty()) bytes[at] = static_cast<char>(random_());
          break;
        case 1:
          if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 2: bytes.erase(at, below(8)); break;
        case 3: bytes.insert(at, bytes.substr(below(bytes.size()), below(40))); break;
        case 4: bytes.resize(at); break;
      }
    }
    return bytes;
  }

 private:
  std::mt19937 random_;
};

std::string put_message() {
  std::string bytes;
  Writer out(bytes);
  out.bytes(1, "key");
  out.bytes(2, "value");
  out.number(3, int64_t{-5});
  out.number(4, true);
  return bytes;
}

std::string txn_message() {
  std::string bytes;
  Writer out(bytes);
  const size_t compare = out.begin(1);
  out.number(1, 2);
  out.bytes(3, "key");
  out.number(6, 9);
  out.end(compare);
  for (uint32_t branch = 2; branch <= 3; ++branch) {
    const size_t op = out.begin(branch);
    out.bytes_always(2, put_message());
    out.end(op);
    const size_t outer = out.begin(branch);
    const size_t inner = out.begin(4);
    const size_t nested = out.begin(2);
    out.bytes_always(1, "\x0a\x01k\x40\x01");
    out.end(nested);
    out.end(inner);
    out.end(outer);
  }
  return bytes;
}

std::string watch_message() {
  std::string bytes;
  Writer out(bytes);
  const size_t create = out.begin(1);
  out.bytes(1, "key");
  out.bytes(2, "kez");
  out.number(3, 4);
  out.bytes(5, std::string_view("\0\1", 2));
  out.number(7, 3);
  out.end(create);
  return bytes;
}

TEST_CASE("no damaged message harms the decoder", "[frontend][fuzz]") {
  const std::vector<std::string> corpus{put_message(), txn_message(), watch_message()};
  size_t accepted = 0, refused = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    Mutator mutator(seed);
    const std::string bytes = mutator.mutate(corpus[seed % corpus.size()]);
    for (int method = 0; method <= static_cast<int>(Method::kHealthWatch); ++method) {
      if (seed % 8 != 0 && method > static_cast<int>(Method::kCompact)) break;
      schema::SegmentBuilder builder;
      frontend_etcd::RequestFacts facts;
      const auto error = decode_request(static_cast<Method>(method), bytes, frontend_etcd::Limits(),
                                        builder, facts);
      const std::string segment(builder.finish());
      CHECK(schema::SegmentReader::well_formed(segment));
      (error.code == frontend_etcd::GrpcCode::kOk ? accepted : refused)++;
    }
    frontend_etcd::WatchOp op;
    decode_watch(bytes, op);
    std::string_view service;
    frontend_etcd::decode_health(bytes, service);
  }
  // Both ways were taken, or the corpus is of no use.
  CHECK(accepted > 1000);
  CHECK(refused > 1000);
}

// A session without a socket or a thread: what it posts runs when the test says so.
struct Bench final : frontend_etcd::Flushable {
  explicit Bench(FakeKernel& kernel) : core(*kernel.services(), nullptr, {}) {
    core.bind(
        [this](std::function<void()> run) {
          const std::lock_guard lock(mutex);
          posted.push_back(std::move(run));
        },
        [](frontend_etcd::Time) {});
  }
  ~Bench() override { core.forget(this); }
  void flush() override {}
  void run_posted() {
    std::vector<std::function<void()>> now;
    {
      const std::lock_guard lock(mutex);
      now.swap(posted);
    }
    for (const auto& run : now) run();
  }

  std::mutex mutex;
  std::vector<std::function<void()>> posted;
  Core core;
};

TEST_CASE("no damaged connection harms the session", "[frontend][fuzz]") {
  const std::string watch =
      frame(kHeaders, kEndHeaders, 3, header_block(call_headers("/etcdserverpb.Watch/Watch"))) +
      frame(kData, 0, 3, grpc_message(watch_message()));
  const std::string keep_alive =
      frame(kHeaders, kEndHeaders, 5,
            header_block(call_headers("/etcdserverpb.Lease/LeaseKeepAlive"))) +
      frame(kData, 0, 5, grpc_message("\x08\x01") + grpc_message("\x08\x02"));
  const std::string good =
      std::string(kClientPreface) + frame(kSettings, 0, 0, setting(4, 1000)) +
      H2Client::call(1, "/etcdserverpb.KV/Put", put_message(), {{"grpc-timeout", "1H"}}) + watch +
      keep_alive + frame(kWindow, 0, 0, number(10'000)) + frame(kPing, 0, 0, "12345678") +
      H2Client::call(7, "/etcdserverpb.KV/Txn", txn_message()) + frame(kReset, 0, 3, number(8)) +
      H2Client::call(9, "/grpc.health.v1.Health/Check", "") +
      frame(kPriority, 0, 9, number(1) + "\x10") + frame(kData, kEndStream, 5, "");
  size_t answered = 0;
  FakeKernel kernel;
  kernel.hold();
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    Mutator mutator(seed);
    Bench bench(kernel);
    {
      frontend_etcd::Http2Session session(bench.core, "fuzz", &bench);
      std::string bytes = seed == 0 ? good : good.substr(0, 24) + mutator.mutate(good.substr(24));
      std::string out;
      while (!bytes.empty()) {
        const size_t size = 1 + mutator.below(bytes.size());
        const bool goes_on = session.receive(std::string_view(bytes).substr(0, size));
        bytes.erase(0, size);
        bench.run_posted();
        session.produce(out, 1 << 20);
        if (!goes_on || session.done()) break;
      }
      answered += out.size();
    }
    bench.core.end_turn();
    kernel.finish_all();
    bench.core.drain();
  }
  CHECK(answered > 100'000);
  CHECK(kernel.everything_released());
}

}  // namespace
}  // namespace quorate::tests
