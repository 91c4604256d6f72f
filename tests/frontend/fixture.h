// SPDX-License-Identifier: Apache-2.0
// A front-end that runs, with a fake kernel behind it and a fake host around it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "frontend/fake_kernel.h"

struct quorate_metric {
  std::string name;
  std::mutex* mutex;
  double sum;
};

namespace quorate::tests {

class FakeHost {
 public:
  FakeHost();
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  const quorate_host* host() { return &host_; }
  std::vector<std::string> log_lines();

  // What the member's state becomes, told to the front-end as a kernel tells it.
  void change(const std::function<void(quorate_member_info&)>& how);
  // After it returned the front-end is told nothing more.
  void end_subscription();
  // The sum that the front-end recorded under `name`; 0 for a metric that it never defined.
  double recorded(const std::string& name);

  quorate_member_info member{};                 // set before start
  std::map<std::string, std::string> settings;  // by flag, set before create
  std::string metrics = "a_metric 1\n";

 private:
  friend struct FakeHostCalls;
  quorate_host host_{};
  quorate_host_member member_table_{};
  quorate_host_metrics metrics_table_{};
  quorate_host_config config_table_{};
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::deque<quorate_metric> metrics_;
  void (*on_change_)(void*) = nullptr;
  void* user_ = nullptr;
};

// What a test gives besides the defaults.
struct Given {
  std::vector<std::string> urls{"http://127.0.0.1:0"};
  std::vector<std::pair<std::string, std::string>> options;
};

class Frontend {
 public:
  explicit Frontend(Given given = {});
  ~Frontend();  // stops it as a host would
  Frontend(const Frontend&) = delete;
  Frontend& operator=(const Frontend&) = delete;

  FakeKernel kernel;
  FakeHost host;

  // start() is called by the first that needs it.
  void start();
  std::string address();  // "127.0.0.1:port"
  uint16_t port();
  // The error of create or start; empty when it started.
  std::string start_error();
  void stop(uint64_t drain_ms);
  void destroy();

 private:
  void create();

  Given given_;
  quorate_frontend* frontend_ = nullptr;
  std::string error_;
  bool started_ = false;
  bool stopped_ = false;
};

// A record and an event in wire form, small and by hand.
std::string record(const std::string& key, const std::string& value, int64_t create = 1,
                   int64_t mod = 1, int64_t version = 1, int64_t lease = 0);
std::string put_event(const std::string& key, const std::string& value, int64_t revision);
std::string run_of(const std::vector<std::string>& records, char tag = 0x12);

}  // namespace quorate::tests
