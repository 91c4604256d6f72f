// SPDX-License-Identifier: Apache-2.0
#include "env/thread_executor.h"

#include <pthread.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "env/loop.h"

namespace quorate {
namespace {

// A turn that keeps what it is given to do.
class Call final : public Turn {
 public:
  explicit Call(std::function<void()> call) : call_(std::move(call)) {}
  void run() override { call_(); }

 private:
  std::function<void()> call_;
};

struct LoopFixture {
  std::unique_ptr<Env> env = make_posix_env();
  std::unique_ptr<Executor> executor = env->make_executor("a-name-of-many-letters");

  // Returns when everything that was posted before has run.
  void drain() {
    std::promise<void> reached;
    Call mark([&] { reached.set_value(); });
    executor->post(&mark);
    reached.get_future().wait();
  }
};

TEST_CASE("turns run in the order they were posted, on a thread with the name", "[env]") {
  LoopFixture f;
  std::vector<int> order;
  std::string name(16, '\0');
  Call one([&] { order.push_back(1); });
  Call two([&] {
    order.push_back(2);
    pthread_getname_np(pthread_self(), name.data(), name.size());
  });
  for (Turn* turn : {&one, &two, &one}) f.executor->post(turn);
  f.drain();
  CHECK(order == std::vector<int>{1, 2, 1});
  CHECK(name.c_str() == std::string("a-name-of-many-"));
}

TEST_CASE("an executor knows its own thread", "[env]") {
  LoopFixture f;
  bool inside = false;
  Call look([&] { inside = f.executor->is_current(); });
  f.executor->post(&look);
  f.drain();
  CHECK(inside);
  CHECK_FALSE(f.executor->is_current());
}

TEST_CASE("timers run by their time, not before it, and equal times by their posting", "[env]") {
  LoopFixture f;
  std::vector<int> order;
  std::promise<void> all;
  const uint64_t due_ns = f.env->clock().now_ns() + 2'000'000;
  Call early([&] { order.push_back(f.env->clock().now_ns() >= due_ns - 1'000'000 ? 1 : -1); });
  Call second([&] { order.push_back(f.env->clock().now_ns() >= due_ns ? 2 : -2); });
  Call last([&] {
    order.push_back(3);
    all.set_value();
  });
  f.executor->post_at(due_ns, &second);
  f.executor->post_at(due_ns, &last);
  f.executor->post_at(due_ns - 1'000'000, &early);
  all.get_future().wait();
  CHECK(order == std::vector<int>{1, 2, 3});
}

TEST_CASE("a deadline at the end of time does not disturb the others", "[env]") {
  LoopFixture f;
  Call never([] { FAIL_CHECK("ran"); });
  f.executor->post_at(~uint64_t{0}, &never);
  f.drain();
  f.executor->stop();
}

TEST_CASE("after stop nothing runs, and stop may be called again", "[env]") {
  LoopFixture f;
  std::atomic<int> ran{0};
  Call again([&] {
    ++ran;
    f.executor->post(&again);
  });
  f.executor->post(&again);
  f.drain();
  f.executor->stop();
  const int before = ran;
  f.executor->post(&again);
  f.executor->stop();
  CHECK(ran == before);
  CHECK(before > 0);
}

class Adder final : public Loop<int> {
 public:
  explicit Adder(Executor* executor) : Loop(executor) {}
  std::atomic<int64_t> sum{0};
  std::atomic<int> turns{0};

 private:
  void on_turn(std::vector<int>& events) override {
    ++turns;
    for (int event : events) sum += event;
  }
};

TEST_CASE("a loop takes everything from many threads, in batches", "[env]") {
  LoopFixture f;
  Adder adder(f.executor.get());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 1; i <= 1000; ++i) adder.post(i);
    });
  for (std::thread& thread : threads) thread.join();
  f.drain();
  CHECK(adder.sum == 4 * 500'500);
  CHECK(adder.turns <= 4000);
  f.executor->stop();
}

class Countdown final : public Job {
 public:
  Countdown(int steps, std::atomic<int>* ran, std::promise<void>* end)
      : steps_(steps), ran_(ran), end_(end) {}
  ~Countdown() override {
    if (end_) end_->set_value();
  }
  Next step() override {
    ++*ran_;
    return --steps_ > 0 ? Next::kMore : Next::kDone;
  }

 private:
  int steps_;
  std::atomic<int>* ran_;
  std::promise<void>* end_;
};

TEST_CASE("a pool steps its jobs until they are done, then destroys them", "[env]") {
  auto env = make_posix_env();
  auto pool = env->make_pool("readers", 2);
  std::atomic<int> ran{0};
  std::promise<void> ends[3];
  for (auto& end : ends) pool->submit(std::make_unique<Countdown>(5, &ran, &end));
  for (auto& end : ends) end.get_future().wait();
  CHECK(ran == 15);
}

TEST_CASE("stopping a pool destroys the jobs that are left", "[env]") {
  auto env = make_posix_env();
  auto pool = env->make_pool("readers", 1);
  std::atomic<int> ran{0};
  std::promise<void> ended;
  pool->submit(std::make_unique<Countdown>(1'000'000'000, &ran, &ended));
  pool->stop();
  ended.get_future().wait();
  pool->submit(std::make_unique<Countdown>(1, &ran, nullptr));
  pool->stop();
}

TEST_CASE("the posix world has a clock that only rises, and chance", "[env]") {
  auto env = make_posix_env();
  const uint64_t before = env->clock().now_ns();
  CHECK(env->clock().now_ns() >= before);
  CHECK(env->clock().wall_ms() > 1'600'000'000'000);
  CHECK(env->random_seed() != env->random_seed());
}

}  // namespace
}  // namespace quorate
