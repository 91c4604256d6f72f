// SPDX-License-Identifier: Apache-2.0
// An Env for unit tests: everything runs on the test's own thread, in the order it was posted, when
// the test says so; time stands still until it is moved; files live on a SimDisk.
//
//   TestEnv env;
//   auto executor = env.make_executor("wal");
//   ... post ...
//   env.run_until_idle();
//   env.advance_ms(100);          // runs what becomes due, in order
//   ... destroy what ran here ...
//   env.crash(seed);              // what was not synced may be gone
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "base/random.h"
#include "env/env.h"
#include "support/sim_disk.h"

namespace quorate::test {

class TestClock final : public Clock {
 public:
  uint64_t now_ns() const override { return now_ns_; }
  int64_t wall_ms() const override {
    return wall_base_ms_ + static_cast<int64_t>(now_ns_ / 1'000'000);
  }
  void set_now_ns(uint64_t now_ns) { now_ns_ = now_ns; }
  void set_wall_base_ms(int64_t base_ms) { wall_base_ms_ = base_ms; }

 private:
  uint64_t now_ns_ = 1'000'000'000;
  int64_t wall_base_ms_ = 1'700'000'000'000;
};

// One thread. Executors and pools that it made must be destroyed before it.
class TestEnv final : public Env {
 public:
  explicit TestEnv(uint64_t seed = 1);
  ~TestEnv() override;

  // Runs what is due until nothing is, time standing still. Returns the number of turns and steps.
  // Gives up with a check after a million: something posts for ever.
  size_t run_until_idle();
  // One turn or one step of a job; false when nothing is due.
  bool run_one();
  // Moves the time, running what becomes due on the way at its own time.
  void advance_ns(uint64_t ns);
  void advance_ms(uint64_t ms) { advance_ns(ms * 1'000'000); }
  // Jobs of pools wait while this is off, so that a test can look at the moment in between.
  void set_pools_run(bool run) { pools_run_ = run; }

  void crash(uint64_t seed) {
    Random random(seed);
    disk_.crash(random);
  }

  SimDisk& disk() { return disk_; }
  TestClock& test_clock() { return clock_; }

  Clock& clock() override { return clock_; }
  FileSystem& files() override { return disk_; }
  uint64_t random_seed() override { return random_.next(); }
  void random_bytes(char* to, size_t size) override;
  std::unique_ptr<Executor> make_executor(std::string_view name) override;
  std::unique_ptr<Pool> make_pool(std::string_view name, int threads) override;

 private:
  friend class TestExecutor;
  friend class TestPool;
  struct Item {
    uint64_t due_ns = 0;
    const void* owner = nullptr;  // the executor or pool
    Turn* turn = nullptr;         // exactly one of turn and job
    std::unique_ptr<Job> job;
  };
  void add(Item item);
  void drop_of(const void* owner);

  SimDisk disk_;
  TestClock clock_;
  Random random_;
  std::deque<Item> items_;  // sorted by due time, then by posting
  const void* current_ = nullptr;
  bool pools_run_ = true;
};

}  // namespace quorate::test
