// SPDX-License-Identifier: Apache-2.0
// A mailbox and the turn that drains it. Anybody posts; the executor's thread takes everything that
// gathered, in order, in one turn: that is where batching happens, and no timer is needed for it. A
// sleeping loop is woken once, by the post that finds the mailbox empty.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "env/env.h"

namespace quorate {

template <typename Event>
class Loop : private Turn {
 public:
  // executor: outlives the loop, and is stopped before the loop is destroyed.
  explicit Loop(Executor* executor) : executor_(executor) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // [any thread]
  void post(Event event) {
    {
      std::lock_guard lock(mutex_);
      mailbox_.push_back(std::move(event));
      if (std::exchange(woken_, true)) return;
    }
    executor_->post(this);
  }
  // Posts all of `events` in order and leaves the vector empty. [any thread]
  void post_batch(std::vector<Event>& events) {
    if (events.empty()) return;
    {
      std::lock_guard lock(mutex_);
      for (Event& event : events) mailbox_.push_back(std::move(event));
      events.clear();
      if (std::exchange(woken_, true)) return;
    }
    executor_->post(this);
  }
  // A turn will come soon, with whatever is in the mailbox, perhaps nothing. [any thread]
  void wake() {
    {
      std::lock_guard lock(mutex_);
      if (std::exchange(woken_, true)) return;
    }
    executor_->post(this);
  }
  // A turn will come once `due_ns` is reached. [any thread]
  void wake_at(uint64_t due_ns) { executor_->post_at(due_ns, this); }

  Executor* executor() const { return executor_; }

 protected:
  ~Loop() override = default;

  // One turn: everything that was posted since the last one, oldest first. The vector is the loop's
  // to move from; its capacity is used again. What cannot be done yet the loop keeps itself.
  virtual void on_turn(std::vector<Event>& events) = 0;

 private:
  void run() final {
    {
      std::lock_guard lock(mutex_);
      woken_ = false;
      batch_.swap(mailbox_);
    }
    on_turn(batch_);
    batch_.clear();
  }

  Executor* const executor_;
  std::mutex mutex_;
  std::vector<Event> mailbox_;  // guarded by mutex_
  bool woken_ = false;          // guarded by mutex_: a run() is posted and has not begun
  std::vector<Event> batch_;    // the running turn's own
};

}  // namespace quorate
