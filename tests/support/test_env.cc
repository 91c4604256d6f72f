// SPDX-License-Identifier: Apache-2.0
#include "support/test_env.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace quorate::test {

class TestExecutor final : public Executor {
 public:
  TestExecutor(TestEnv* env, TestEnv::Thread* thread) : env_(env), thread_(thread) {}
  ~TestExecutor() override { stop(); }
  void post(Turn* turn) override { env_->add(0, thread_, turn, 0); }
  void post_at(uint64_t due_ns, Turn* turn) override {
    if (thread_->host != nullptr) due_ns = thread_->host->to_world_ns(due_ns);
    env_->add(due_ns, thread_, turn, 0);
  }
  void stop() override {
    QUORATE_CHECK(!is_current(), "an executor cannot be stopped from a turn of its own");
    TestEnv::stop(thread_);
  }
  bool is_current() const override { return env_->running_ == thread_; }

 private:
  TestEnv* env_;
  TestEnv::Thread* thread_;
};

class TestPool final : public Pool {
 public:
  TestPool(TestEnv* env, TestEnv::Thread* thread) : env_(env), thread_(thread) {}
  ~TestPool() override { stop(); }
  void submit(std::unique_ptr<Job> job) override {
    if (thread_->stopped) return;
    const uint64_t number = next_job_++;
    thread_->jobs.emplace(number, std::move(job));
    env_->add(0, thread_, nullptr, number);
  }
  void stop() override { TestEnv::stop(thread_); }

 private:
  TestEnv* env_;
  TestEnv::Thread* thread_;
  uint64_t next_job_ = 1;
};

TestEnv::TestEnv(uint64_t seed) : random_(seed) {}
TestEnv::~TestEnv() = default;

TestEnv::Thread* TestEnv::add_thread(Lane lane, TestHost* host) {
  Thread& thread = threads_.emplace_back();
  thread.lane = lane;
  thread.number = static_cast<uint32_t>(threads_.size());
  thread.host = host;
  return &thread;
}

void TestEnv::stop(Thread* thread) {
  thread->stopped = true;
  // Jobs may submit others as they go, which are dropped.
  const auto dropped = std::move(thread->jobs);
  thread->jobs.clear();
}

void TestEnv::add(uint64_t due_ns, Thread* thread, Turn* turn, uint64_t job) {
  if (thread->stopped) return;
  const uint32_t tie = ties_ ? static_cast<uint32_t>(ties_->next()) : 0;
  due_ns = std::max(due_ns, clock_.now_ns());
  items_.push({due_ns, tie, next_sequence_++, thread, turn, job, false});
}

void TestEnv::set_pools_run(bool run) {
  pools_run_ = run;
  if (!run) return;
  for (const Item& item : held_) items_.push(item);
  held_.clear();
}

// Whether the item's turn cannot begin at its due time; then that is set to when it may.
bool TestEnv::must_wait(Item& item) {
  Thread& thread = *item.thread;
  const uint64_t now_ns = std::max(item.due_ns, clock_.now_ns());
  const uint64_t due_ns = now_ns;
  item.due_ns = now_ns;
  if (!item.in_progress) item.due_ns = std::max(item.due_ns, thread.free_ns);
  if (thread.host == nullptr) return item.due_ns > due_ns;
  item.due_ns = std::max(item.due_ns, thread.host->paused_until_ns);
  if (item.due_ns > due_ns || item.in_progress) return item.due_ns > due_ns;
  item.in_progress = true;
  item.due_ns += thread.host->before_ns(thread.lane);
  thread.free_ns = item.due_ns;
  return item.due_ns > due_ns;
}

bool TestEnv::run_next(uint64_t end_ns) {
  while (!items_.empty() && items_.top().due_ns <= end_ns) {
    Item item = items_.top();
    items_.pop();
    if (item.thread->stopped) continue;
    if (item.thread->lane == Lane::kPool && !pools_run_) {
      held_.push_back(item);
      continue;
    }
    if (must_wait(item)) {
      items_.push(item);
      continue;
    }
    clock_.set_now_ns(item.due_ns);
    run(item);
    return true;
  }
  return false;
}

void TestEnv::run(const Item& item) {
  Thread& thread = *item.thread;
  ++events_;
  note(clock_.now_ns() ^ (uint64_t{thread.number} << 48));
  const Thread* const before = std::exchange(running_, &thread);
  if (item.turn != nullptr) {
    item.turn->run();
  } else if (const auto job = thread.jobs.find(item.job); job != thread.jobs.end()) {
    if (job->second->step() == Job::Next::kMore)
      add(0, &thread, nullptr, item.job);
    else
      thread.jobs.erase(item.job);
  }
  running_ = before;
  last_ = &thread;
  if (thread.host != nullptr)
    thread.free_ns = std::max(thread.free_ns, clock_.now_ns() + thread.host->after_ns(thread.lane));
}

size_t TestEnv::run_until_idle() {
  size_t count = 0;
  while (run_one()) QUORATE_CHECK(++count < 1'000'000, "turns are posted without end");
  return count;
}

void TestEnv::advance_ns(uint64_t ns) {
  const uint64_t end_ns = clock_.now_ns() + ns;
  size_t at_once = run_until_idle();
  uint64_t now_ns = clock_.now_ns();
  while (run_next(end_ns)) {
    at_once = clock_.now_ns() == now_ns ? at_once + 1 : 0;
    now_ns = clock_.now_ns();
    QUORATE_CHECK(at_once < 1'000'000, "turns are posted without end");
  }
  clock_.set_now_ns(end_ns);
}

void TestEnv::random_bytes(char* to, size_t size) {
  for (size_t i = 0; i < size; ++i) to[i] = static_cast<char>(random_.next());
}

std::unique_ptr<Executor> TestEnv::make_executor(std::string_view name) {
  return make_executor(name, nullptr);
}

std::unique_ptr<Pool> TestEnv::make_pool(std::string_view name, int) {
  return make_pool(name, nullptr);
}

std::unique_ptr<Executor> TestEnv::make_executor(std::string_view name, TestHost* host) {
  const bool blocks = name == "wal" || name == "commit";
  return std::make_unique<TestExecutor>(this,
                                        add_thread(blocks ? Lane::kBlocking : Lane::kLoop, host));
}

std::unique_ptr<Pool> TestEnv::make_pool(std::string_view, TestHost* host) {
  return std::make_unique<TestPool>(this, add_thread(Lane::kPool, host));
}

}  // namespace quorate::test
