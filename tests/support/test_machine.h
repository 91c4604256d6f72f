// SPDX-License-Identifier: Apache-2.0
// One machine of several in one TestEnv: time and turns are the world's, the disk is its own, so it
// can crash alone.
#pragma once

#include "support/test_env.h"

namespace quorate::test {

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

  Clock& clock() override { return world_.clock(); }
  FileSystem& files() override { return disk_; }
  uint64_t random_seed() override { return random_.next(); }
  void random_bytes(char* to, size_t size) override {
    for (size_t i = 0; i < size; ++i) to[i] = static_cast<char>(random_.next());
  }
  std::unique_ptr<Executor> make_executor(std::string_view name) override {
    return world_.make_executor(name);
  }
  std::unique_ptr<Pool> make_pool(std::string_view name, int threads) override {
    return world_.make_pool(name, threads);
  }

 private:
  TestEnv& world_;
  SimDisk disk_;
  Random random_;
};

}  // namespace quorate::test
