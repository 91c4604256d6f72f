// SPDX-License-Identifier: Apache-2.0
// One machine of several in one TestEnv: time and turns are the world's; the disk is its own, so it
// can crash alone, and so are its clocks, which may run fast or slow, and its pace.
#pragma once

#include <algorithm>

#include "support/test_env.h"

namespace quorate::test {

class TestMachine final : public Env, public TestHost {
 public:
  TestMachine(TestEnv& world, uint64_t seed)
      : world_(world), clock_(world.clock()), random_(seed) {}

  // The power of this machine goes: what was not synced may be gone. REQUIRES: what ran on it is
  // destroyed.
  void crash(uint64_t seed) {
    Random random(seed);
    disk_.crash(random);
  }
  SimDisk& disk() { return disk_; }
  // The longest time that a turn with writes and syncs takes.
  void set_disk_delay_ns(uint64_t max_ns) { disk_delay_ns_ = max_ns; }
  // No write or sync ends before this time of the world's.
  void hold_disk_until(uint64_t ns) { disk_held_until_ns_ = ns; }
  // The longest time that any other turn takes.
  void set_turn_ns(uint64_t max_ns) { turn_ns_ = max_ns; }
  // Its clock gains this much of real time from now on; negative: it loses.
  void set_drift_ppm(int64_t ppm) { clock_.set_drift_ppm(ppm); }
  void jump_wall_ms(int64_t ms) { clock_.jump_wall_ms(ms); }

  // TestHost.
  uint64_t before_ns(Lane lane) override {
    if (lane == Lane::kLoop) return 0;
    uint64_t ns = disk_delay_ns_ == 0 ? 0 : random_.below(disk_delay_ns_);
    const uint64_t now_ns = world_.clock().now_ns();
    if (disk_held_until_ns_ > now_ns) ns += disk_held_until_ns_ - now_ns;
    return ns;
  }
  uint64_t after_ns(Lane) override { return turn_ns_ == 0 ? 0 : random_.below(turn_ns_); }
  uint64_t to_world_ns(uint64_t own_ns) const override { return clock_.to_world_ns(own_ns); }
  bool is_gone() const override { return disk_.is_gone(); }

  // Env.
  Clock& clock() override { return clock_; }
  FileSystem& files() override { return disk_; }
  uint64_t random_seed() override { return random_.next(); }
  void random_bytes(char* to, size_t size) override {
    for (size_t i = 0; i < size; ++i) to[i] = static_cast<char>(random_.next());
  }
  std::unique_ptr<Executor> make_executor(std::string_view name) override {
    return world_.make_executor(name, this);
  }
  std::unique_ptr<Pool> make_pool(std::string_view name, int) override {
    return world_.make_pool(name, this);
  }
  void wait(Latch& latch) override {
    while (!latch.is_open()) world_.advance_ms(1);
  }

 private:
  class MachineClock final : public Clock {
   public:
    explicit MachineClock(const Clock& world) : world_(world) {}
    uint64_t now_ns() const override {
      const uint64_t now_ns = world_.now_ns();
      return own_base_ns_ + scaled(now_ns - base_ns_, 1'000'000 + drift_ppm_, 1'000'000);
    }
    int64_t wall_ms() const override { return world_.wall_ms() + wall_offset_ms_; }
    void set_drift_ppm(int64_t ppm) {
      own_base_ns_ = now_ns();
      base_ns_ = world_.now_ns();
      drift_ppm_ = ppm;
    }
    void jump_wall_ms(int64_t ms) { wall_offset_ms_ += ms; }
    uint64_t to_world_ns(uint64_t own_ns) const {
      if (own_ns <= own_base_ns_) return base_ns_;
      if (drift_ppm_ == 0) return base_ns_ + (own_ns - own_base_ns_);
      // Up, so that the machine's clock has reached the time when the turn begins.
      return base_ns_ + scaled(own_ns - own_base_ns_, 1'000'000, 1'000'000 + drift_ppm_) + 1;
    }

   private:
    static uint64_t scaled(uint64_t ns, int64_t by, int64_t of) {
      if (by == of) return ns;
      return static_cast<uint64_t>(static_cast<uint128>(ns) * static_cast<uint64_t>(by) /
                                   static_cast<uint64_t>(of));
    }
    const Clock& world_;
    uint64_t base_ns_ = 0, own_base_ns_ = 0;
    int64_t drift_ppm_ = 0;
    int64_t wall_offset_ms_ = 0;
  };

  TestEnv& world_;
  MachineClock clock_;
  uint64_t disk_delay_ns_ = 0, disk_held_until_ns_ = 0, turn_ns_ = 0;
  SimDisk disk_;
  Random random_;
};

}  // namespace quorate::test
