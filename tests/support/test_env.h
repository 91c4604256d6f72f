// SPDX-License-Identifier: Apache-2.0
// An Env for tests and the simulator: everything runs on the test's own thread, in the order of
// virtual time, when the test says so; time stands still until it is moved; files live on a
// SimDisk.
//
//   TestEnv env;
//   auto executor = env.make_executor("wal");
//   ... post ...
//   env.run_until_idle();
//   env.advance_ms(100);          // runs what becomes due, in order
//   ... destroy what ran here ...
//   env.crash(seed);              // what was not synced may be gone
//
// It is also the world that several machines share (test_machine.h): a TestHost says how long the
// turns of a machine take, and when it stands still.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

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

// What kind of thread an executor or a pool stands for.
enum class Lane : uint8_t {
  kLoop,      // computes and posts
  kBlocking,  // writes and syncs: "wal", "commit"
  kPool,
};

// One machine's say in how its turns run. Outlives its executors and pools.
class TestHost {
 public:
  virtual ~TestHost() = default;
  // Time that passes before a turn does what it does, all at once. What blocks on a disk takes its
  // time here, so others run, or the power fails, in between.
  virtual uint64_t before_ns(Lane) { return 0; }
  // Time for which the thread is busy after a turn.
  virtual uint64_t after_ns(Lane) { return 0; }
  // A time of the machine's own clock in the world's.
  virtual uint64_t to_world_ns(uint64_t own_ns) const { return own_ns; }
  // Whether the machine is gone already: what the rest of its turn does comes to nothing.
  virtual bool is_gone() const { return false; }
  // No turn begins before this time of the world's: the process is stopped.
  uint64_t paused_until_ns = 0;
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
  bool run_one() { return run_next(clock_.now_ns()); }
  // The next turn or step that is due until `end_ns`, moving the time to it; false: there is none.
  bool run_next(uint64_t end_ns);
  // Moves the time, running what becomes due on the way at its own time.
  void advance_ns(uint64_t ns);
  void advance_ms(uint64_t ms) { advance_ns(ms * 1'000'000); }
  // Jobs of pools wait while this is off, so that a test can look at the moment in between.
  void set_pools_run(bool run);
  // From now on what is due at the same time on different threads runs in an order by chance.
  void shuffle_ties(uint64_t seed) { ties_.emplace(seed); }

  void crash(uint64_t seed) {
    Random random(seed);
    disk_.crash(random);
  }

  SimDisk& disk() { return disk_; }
  TestClock& test_clock() { return clock_; }
  // The machine whose turn it is; null: none's.
  const TestHost* running_host() const { return running_ ? running_->host : nullptr; }
  bool is_gone() const { return running_host() != nullptr && running_host()->is_gone(); }
  // Whose turn ran last, and on what; null: none's.
  TestHost* last_host() const { return last_ ? last_->host : nullptr; }
  Lane last_lane() const { return last_ ? last_->lane : Lane::kLoop; }

  // Turns and steps so far, and a hash over what ran when and whatever was noted: the same for the
  // same seed.
  uint64_t events() const { return events_; }
  uint64_t trace() const { return trace_; }
  void note(uint64_t what) { trace_ = (trace_ ^ what) * 0x9e3779b97f4a7c15 + (trace_ >> 29); }

  Clock& clock() override { return clock_; }
  FileSystem& files() override { return disk_; }
  uint64_t random_seed() override { return random_.next(); }
  void random_bytes(char* to, size_t size) override;
  std::unique_ptr<Executor> make_executor(std::string_view name) override;
  std::unique_ptr<Pool> make_pool(std::string_view name, int threads) override;
  void wait(Latch& latch) override {
    while (!latch.is_open()) advance_ms(1);
  }
  // Of a machine in this world.
  std::unique_ptr<Executor> make_executor(std::string_view name, TestHost* host);
  std::unique_ptr<Pool> make_pool(std::string_view name, TestHost* host);

 private:
  friend class TestExecutor;
  friend class TestPool;
  // An executor or a pool of one thread. Stays after its owner, for what is still queued.
  struct Thread {
    Lane lane;
    uint32_t number;
    TestHost* host;
    uint64_t free_ns = 0;  // busy until then
    bool stopped = false;
    std::map<uint64_t, std::unique_ptr<Job>> jobs;
  };
  struct Item {
    uint64_t due_ns;
    uint32_t tie;
    uint64_t sequence;
    Thread* thread;
    Turn* turn;                                // null: a step of `job`
    uint64_t job;                              // a key of the thread's jobs
    bool in_progress;                          // its time before has begun
    bool operator<(const Item& other) const {  // the later one is the smaller one
      if (due_ns != other.due_ns) return due_ns > other.due_ns;
      if (tie != other.tie) return tie > other.tie;
      return sequence > other.sequence;
    }
  };
  Thread* add_thread(Lane lane, TestHost* host);
  void add(uint64_t due_ns, Thread* thread, Turn* turn, uint64_t job);
  bool must_wait(Item& item);
  void run(const Item& item);
  static void stop(Thread* thread);

  SimDisk disk_;
  TestClock clock_;
  Random random_;
  std::deque<Thread> threads_;
  std::priority_queue<Item> items_;
  std::vector<Item> held_;  // of pools, while they do not run
  uint64_t next_sequence_ = 1;
  std::optional<Random> ties_;
  const Thread* running_ = nullptr;
  const Thread* last_ = nullptr;
  bool pools_run_ = true;
  uint64_t events_ = 0;
  uint64_t trace_ = 0;
};

}  // namespace quorate::test
