// SPDX-License-Identifier: Apache-2.0
// Toys with a bug each. The rig is judged by them: every one must be found, with the preemptions
// that its name says and not with fewer.
#include "cases.h"
#include "env/mutex.h"

namespace quorate::interleave {
namespace {

class Toy : public Scene {
 protected:
  void add() {
    const int now = value_.load(std::memory_order_acquire);
    value_.store(now + 1, std::memory_order_release);
  }
  Atomic<int> value_{0, "toy.value"};
  Mutex first_{"toy.first"}, second_{"toy.second"};
  SharedMutex shared_{"toy.shared"};
};

class LostUpdate final : public Toy {
  std::vector<Operation> operations() override {
    return {{"add", [this] { add(); }}, {"add", [this] { add(); }}};
  }
  void check() override {
    expect(value_.load(std::memory_order_acquire) == 2, "an update was lost");
  }
};

class LockOrder final : public Toy {
  std::vector<Operation> operations() override {
    return {{"one order",
             [this] {
               const MutexLock a(first_);
               const MutexLock b(second_);
             }},
            {"the other", [this] {
               const MutexLock b(second_);
               const MutexLock a(first_);
             }}};
  }
};

class SharedTwice final : public Toy {
  std::vector<Operation> operations() override {
    return {{"shared twice",
             [this] {
               const ReaderLock a(shared_);
               const ReaderLock b(shared_);
             }},
            {"exclusive", [this] { const WriterLock lock(shared_); }}};
  }
};

class RelaxedFlag final : public Toy {
  std::vector<Operation> operations() override {
    return {{"publish",
             [this] {
               wrote(&data_);
               value_.store(1, std::memory_order_relaxed);
             }},
            {"read", [this] {
               if (value_.load(std::memory_order_acquire) == 1) reads(&data_);
             }}};
  }
  int data_ = 0;
};

// Fails only if the other one runs three times in the middle of it.
class ThreeTurns final : public Toy {
  std::vector<Operation> operations() override {
    return {{"count",
             [this] {
               for (int i = 0; i < 2; ++i) {
                 const int now = value_.load(std::memory_order_acquire);
                 add();
                 if (value_.load(std::memory_order_acquire) > now + 1) ++overtaken_;
               }
               expect(overtaken_ < 2, "overtaken twice");
             }},
            {"add", [this] {
               for (int i = 0; i < 2; ++i) add();
             }}};
  }
  int overtaken_ = 0;
};

template <typename T>
Case toy(const char* name) {
  return {name, [] { return std::make_unique<T>(); }};
}

}  // namespace

std::vector<Case> rig_cases() {
  return {toy<LostUpdate>("rig.1.lost-update"), toy<LockOrder>("rig.1.lock-order"),
          toy<SharedTwice>("rig.1.shared-twice"), toy<RelaxedFlag>("rig.0.relaxed-flag"),
          toy<ThreeTurns>("rig.3.overtaken-twice")};
}

}  // namespace quorate::interleave
