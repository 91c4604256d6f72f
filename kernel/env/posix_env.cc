// SPDX-License-Identifier: Apache-2.0
#include <sys/random.h>
#include <time.h>

#include <cerrno>

#include "base/check.h"
#include "env/env.h"
#include "env/posix_file.h"
#include "env/thread_executor.h"

namespace quorate {
namespace {

constexpr int kPoolNice = 5;

int64_t read_clock_ns(clockid_t id) {
  timespec time;
  ::clock_gettime(id, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

class PosixClock final : public Clock {
 public:
  uint64_t now_ns() const override { return static_cast<uint64_t>(read_clock_ns(CLOCK_MONOTONIC)); }
  int64_t wall_ms() const override { return read_clock_ns(CLOCK_REALTIME) / 1'000'000; }
};

class PosixEnv final : public Env {
 public:
  Clock& clock() override { return clock_; }
  FileSystem& files() override { return files_; }
  uint64_t random_seed() override {
    uint64_t seed;
    random_bytes(reinterpret_cast<char*>(&seed), sizeof seed);
    return seed;
  }
  void random_bytes(char* to, size_t size) override {
    while (size > 0) {
      const ssize_t got = ::getrandom(to, size, 0);
      if (got < 0 && errno == EINTR) continue;
      QUORATE_CHECK(got > 0, "the operating system gives no random bytes");
      to += got;
      size -= static_cast<size_t>(got);
    }
  }
  std::unique_ptr<Executor> make_executor(std::string_view name) override {
    return make_thread_executor(&clock_, name);
  }
  std::unique_ptr<Pool> make_pool(std::string_view name, int threads) override {
    return make_thread_pool(name, threads, kPoolNice);
  }
  void wait(Latch& latch) override { latch.wait(); }

 private:
  PosixClock clock_;
  PosixFileSystem files_;
};

}  // namespace

std::unique_ptr<Env> make_posix_env() {
  return std::make_unique<PosixEnv>();
}

}  // namespace quorate
