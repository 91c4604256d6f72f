// SPDX-License-Identifier: Apache-2.0
#include "support/test_env.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace quorate::test {

class TestExecutor final : public Executor {
 public:
  explicit TestExecutor(TestEnv* env) : env_(env) {}
  ~TestExecutor() override { stop(); }
  void post(Turn* turn) override { post_at(0, turn); }
  void post_at(uint64_t due_ns, Turn* turn) override {
    if (stopped_) return;
    env_->add({std::max(due_ns, env_->clock_.now_ns()), this, turn, nullptr});
  }
  void stop() override {
    QUORATE_CHECK(!is_current(), "an executor cannot be stopped from a turn of its own");
    stopped_ = true;
    env_->drop_of(this);
  }
  bool is_current() const override { return env_->current_ == this; }

 private:
  TestEnv* env_;
  bool stopped_ = false;
};

class TestPool final : public Pool {
 public:
  explicit TestPool(TestEnv* env) : env_(env) {}
  ~TestPool() override { stop(); }
  void submit(std::unique_ptr<Job> job) override {
    if (stopped_) return;
    env_->add({env_->clock_.now_ns(), this, nullptr, std::move(job)});
  }
  void stop() override {
    stopped_ = true;
    env_->drop_of(this);
  }

 private:
  TestEnv* env_;
  bool stopped_ = false;
};

TestEnv::TestEnv(uint64_t seed) : random_(seed) {}
TestEnv::~TestEnv() = default;

void TestEnv::add(Item item) {
  const auto place =
      std::upper_bound(items_.begin(), items_.end(), item.due_ns,
                       [](uint64_t due_ns, const Item& other) { return due_ns < other.due_ns; });
  items_.insert(place, std::move(item));
}

void TestEnv::drop_of(const void* owner) {
  // Jobs may touch this queue as they go, so they go last.
  std::vector<Item> dropped;
  std::deque<Item> left;
  for (Item& item : items_) {
    if (item.owner == owner)
      dropped.push_back(std::move(item));
    else
      left.push_back(std::move(item));
  }
  items_ = std::move(left);
}

bool TestEnv::run_one() {
  const auto next = std::find_if(items_.begin(), items_.end(), [&](const Item& item) {
    return pools_run_ || item.turn != nullptr;
  });
  if (next == items_.end() || next->due_ns > clock_.now_ns()) return false;
  Item item = std::move(*next);
  items_.erase(next);
  const void* const before = std::exchange(current_, item.owner);
  if (item.turn != nullptr) {
    item.turn->run();
  } else if (item.job->step() == Job::Next::kMore) {
    item.due_ns = clock_.now_ns();
    add(std::move(item));
  }
  current_ = before;
  return true;
}

size_t TestEnv::run_until_idle() {
  size_t count = 0;
  while (run_one()) QUORATE_CHECK(++count < 1'000'000, "turns are posted without end");
  return count;
}

void TestEnv::advance_ns(uint64_t ns) {
  const uint64_t end_ns = clock_.now_ns() + ns;
  run_until_idle();
  for (;;) {
    const auto next = std::find_if(items_.begin(), items_.end(), [&](const Item& item) {
      return pools_run_ || item.turn != nullptr;
    });
    if (next == items_.end() || next->due_ns > end_ns) break;
    clock_.set_now_ns(std::max(clock_.now_ns(), next->due_ns));
    run_until_idle();
  }
  clock_.set_now_ns(end_ns);
}

void TestEnv::random_bytes(char* to, size_t size) {
  for (size_t i = 0; i < size; ++i) to[i] = static_cast<char>(random_.next());
}

std::unique_ptr<Executor> TestEnv::make_executor(std::string_view) {
  return std::make_unique<TestExecutor>(this);
}

std::unique_ptr<Pool> TestEnv::make_pool(std::string_view, int) {
  return std::make_unique<TestPool>(this);
}

}  // namespace quorate::test
