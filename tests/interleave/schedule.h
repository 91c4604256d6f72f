// SPDX-License-Identifier: Apache-2.0
// Runs two or three operations on fibers under every schedule with at most so many preemptions, the
// fewest first (iterative context bounding, Musuvathi and Qadeer 2007). A schedule is the choice
// made at each point at which more than one fiber could go on; from the same choices comes the same
// run, so a failure is replayed by its schedule.
//
// Beside wrong answers it finds deadlocks, and reads of memory that the reader was not told of by a
// lock or by a release that it acquired.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quorate::interleave {

struct Operation {
  const char* name;
  std::function<void()> run;
};

// One world in which operations meet. Made anew for each schedule.
class Scene {
 public:
  virtual ~Scene() = default;
  virtual std::vector<Operation> operations() = 0;
  // After the last of them has ended.
  virtual void check() {}
};

struct Case {
  const char* name;
  std::function<std::unique_ptr<Scene>()> make;
};

// Ends the run: this schedule breaks what was promised.
[[noreturn]] void fail(const std::string& what);
inline void expect(bool condition, const char* what) {
  if (!condition) fail(what);
}

struct Failure {
  std::string what;
  std::string schedule;  // for replay()
  std::string steps;     // one a line
  int preemptions = 0;
};
struct Outcome {
  uint64_t schedules = 0;
  std::optional<Failure> failure;
};

// What went wrong, step by step, and the command that shows it again.
void print(const Case& each, const Failure& failure);

// All schedules with up to `preemptions_max`, until one fails.
Outcome explore(const Case& each, int preemptions_max);
// One run along `schedule`, steps included if it fails.
Outcome replay(const Case& each, const std::string& schedule);

}  // namespace quorate::interleave
