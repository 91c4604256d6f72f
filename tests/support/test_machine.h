// SPDX-License-Identifier: Apache-2.0
// One machine of several in one TestEnv: time and turns are the world's, the disk is its own, so it
// can crash alone.
#pragma once

#include "support/test_env.h"

namespace quorate::test {

// Turns that write and sync take their time: each begins a while after it was posted, so that
// others run, or the power fails, in between.
class SlowExecutor final : public Executor {
 public:
  SlowExecutor(std::unique_ptr<Executor> inner, Clock& clock, uint64_t seed, uint64_t max_ns)
      : inner_(std::move(inner)), clock_(clock), random_(seed), max_ns_(max_ns) {}
  void post(Turn* turn) override { post_at(clock_.now_ns(), turn); }
  void post_at(uint64_t due_ns, Turn* turn) override {
    inner_->post_at(due_ns + random_.below(max_ns_), turn);
  }
  void stop() override { inner_->stop(); }
  bool is_current() const override { return inner_->is_current(); }

 private:
  const std::unique_ptr<Executor> inner_;
  Clock& clock_;
  Random random_;
  const uint64_t max_ns_;
};

class TestMachine final : public Env {
 public:
  TestMachine(TestEnv& world, uint64_t seed) : world_(world), random_(seed) {}

  // The power of this machine goes: what was not synced may be gone. REQUIRES: what ran on it is
  // destroyed.
  void crash(uint64_t seed) {
    Random random(seed);
    disk_.crash(random);
  }
  SimDisk& disk() { return disk_; }
  // The longest time that a sync takes, for what starts from now on.
  void set_disk_delay_ns(uint64_t max_ns) { disk_delay_ns_ = max_ns; }

  Clock& clock() override { return world_.clock(); }
  FileSystem& files() override { return disk_; }
  uint64_t random_seed() override { return random_.next(); }
  void random_bytes(char* to, size_t size) override {
    for (size_t i = 0; i < size; ++i) to[i] = static_cast<char>(random_.next());
  }
  std::unique_ptr<Executor> make_executor(std::string_view name) override {
    std::unique_ptr<Executor> executor = world_.make_executor(name);
    const bool blocks = name == "wal" || name == "commit";
    if (!blocks || disk_delay_ns_ == 0) return executor;
    return std::make_unique<SlowExecutor>(std::move(executor), world_.clock(), random_.next(),
                                          disk_delay_ns_);
  }
  std::unique_ptr<Pool> make_pool(std::string_view name, int threads) override {
    return world_.make_pool(name, threads);
  }

 private:
  TestEnv& world_;
  uint64_t disk_delay_ns_ = 0;
  SimDisk disk_;
  Random random_;
};

}  // namespace quorate::test
