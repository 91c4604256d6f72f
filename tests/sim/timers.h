// SPDX-License-Identifier: Apache-2.0
// Actions of the world outside of the machines, at their times.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "support/test_env.h"

namespace quorate::sim {

class Timers final : private Turn {
 public:
  explicit Timers(test::TestEnv& env) : env_(env), executor_(env.make_executor("world")) {}
  ~Timers() override { executor_->stop(); }

  void at(uint64_t due_ns, std::function<void()> action) {
    actions_.emplace(due_ns, std::move(action));
    executor_->post_at(due_ns, this);
  }
  void after(uint64_t ns, std::function<void()> action) {
    at(env_.clock().now_ns() + ns, std::move(action));
  }

 private:
  void run() override {
    // One a turn: an action may run the world on by itself.
    if (actions_.empty() || actions_.begin()->first > env_.clock().now_ns()) return;
    const std::function<void()> action = std::move(actions_.begin()->second);
    actions_.erase(actions_.begin());
    action();
  }

  test::TestEnv& env_;
  const std::unique_ptr<Executor> executor_;
  std::multimap<uint64_t, std::function<void()>> actions_;
};

}  // namespace quorate::sim
