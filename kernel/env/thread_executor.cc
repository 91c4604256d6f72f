// SPDX-License-Identifier: Apache-2.0
#include "env/thread_executor.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"

namespace quorate {
namespace {

void name_this_thread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

struct Timer {
  uint64_t due_ns;
  uint64_t order;  // of the posting, so that equal times keep it
  Turn* turn;
  bool after(const Timer& other) const {
    return due_ns != other.due_ns ? due_ns > other.due_ns : order > other.order;
  }
};

class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor(Clock* clock, std::string_view name)
      : clock_(clock), thread_([this, name = std::string(name)] {
          name_this_thread(name);
          run();
        }) {}
  ~ThreadExecutor() override { stop(); }

  void post(Turn* turn) override {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      ready_.push_back(turn);
      if (!asleep_) return;
    }
    wake_.notify_one();
  }

  void post_at(uint64_t due_ns, Turn* turn) override {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      const uint64_t order = timers_posted_++;
      timers_.push_back({due_ns, order, turn});
      std::push_heap(timers_.begin(), timers_.end(), later);
      if (!asleep_ || timers_.front().order != order) return;
    }
    wake_.notify_one();
  }

  void stop() override {
    QUORATE_CHECK(!is_current(), "an executor cannot be stopped from a turn of its own");
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    std::lock_guard lock(join_mutex_);
    if (thread_.joinable()) thread_.join();
  }

  bool is_current() const override {
    return running_on_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

 private:
  static bool later(const Timer& a, const Timer& b) { return a.after(b); }

  void run() {
    running_on_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    std::vector<Turn*> turns;
    while (take_turns(turns)) {
      for (Turn* turn : turns) {
        if (stopping()) break;
        turn->run();
      }
      turns.clear();
    }
  }

  bool stopping() {
    std::lock_guard lock(mutex_);
    return stopping_;
  }

  // Waits for turns that are due and takes them all; false when the executor stops.
  bool take_turns(std::vector<Turn*>& turns) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (stopping_) return false;
      take_due_timers();
      if (!ready_.empty()) break;
      asleep_ = true;
      wait(lock);
      asleep_ = false;
    }
    turns.swap(ready_);
    return true;
  }

  void take_due_timers() {
    if (timers_.empty()) return;
    const uint64_t now_ns = clock_->now_ns();
    while (!timers_.empty() && timers_.front().due_ns <= now_ns) {
      std::pop_heap(timers_.begin(), timers_.end(), later);
      ready_.push_back(timers_.back().turn);
      timers_.pop_back();
    }
  }

  void wait(std::unique_lock<std::mutex>& lock) {
    if (timers_.empty()) {
      wake_.wait(lock);
      return;
    }
    const uint64_t now_ns = clock_->now_ns();
    const uint64_t due_ns = timers_.front().due_ns;
    if (due_ns <= now_ns) return;
    // A far deadline must not overflow the clock that the condition variable computes with.
    const uint64_t wait_ns = std::min<uint64_t>(due_ns - now_ns, uint64_t{3600} * 1'000'000'000);
    wake_.wait_for(lock, std::chrono::nanoseconds(wait_ns));
  }

  Clock* const clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Turn*> ready_;   // guarded by mutex_, as all up to stopping_
  std::vector<Timer> timers_;  // a heap, the earliest in front
  uint64_t timers_posted_ = 0;
  bool asleep_ = false;
  bool stopping_ = false;
  std::mutex join_mutex_;
  std::atomic<std::thread::id> running_on_{};
  std::thread thread_;  // last: it uses all of the above
};

class ThreadPool final : public Pool {
 public:
  ThreadPool(std::string_view name, int threads, int nice) {
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this, name = std::string(name), nice] {
        name_this_thread(name);
        // Linux keeps niceness for each thread. Failing to yield is no reason to fail.
        const int niceness = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
        setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), niceness + nice);
        run();
      });
  }
  ~ThreadPool() override { stop(); }

  void submit(std::unique_ptr<Job> job) override {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
  }

  void stop() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    std::lock_guard join_lock(join_mutex_);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    std::deque<std::unique_ptr<Job>> left;
    {
      std::lock_guard lock(mutex_);
      left.swap(jobs_);
    }
  }

 private:
  void run() {
    while (std::unique_ptr<Job> job = take()) {
      if (job->step() == Job::Next::kMore) give_back(std::move(job));
    }
  }

  std::unique_ptr<Job> take() {
    std::unique_lock lock(mutex_);
    while (!stopping_ && jobs_.empty()) wake_.wait(lock);
    if (stopping_) return nullptr;
    std::unique_ptr<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

  void give_back(std::unique_ptr<Job> job) {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Job>> jobs_;  // guarded by mutex_
  bool stopping_ = false;                  // guarded by mutex_
  std::mutex join_mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Executor> make_thread_executor(Clock* clock, std::string_view name) {
  return std::make_unique<ThreadExecutor>(clock, name);
}

std::unique_ptr<Pool> make_thread_pool(std::string_view name, int threads, int nice) {
  return std::make_unique<ThreadPool>(name, threads, nice);
}

}  // namespace quorate
