// SPDX-License-Identifier: Apache-2.0
#include "schedule.h"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <unordered_map>

#include "env/yield.h"

namespace quorate::interleave {
namespace {

namespace context = boost::context;

struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One point at which more than one fiber could go on.
struct Choice {
  std::vector<int> able;  // the one that ran first, if it still can
  size_t taken = 0;       // in `able`
  bool running_able = false;
  int cost() const { return running_able && taken != 0 ? 1 : 0; }
};

constexpr size_t kStackBytes = 128 * 1024;

// One run.
class Run {
 public:
  // The choices to make first, by place in Choice::able; after them the running fiber goes on.
  // forced: by fiber instead.
  Run(const Case& each, std::vector<size_t> choices, std::vector<int> forced = {})
      : case_(each), prefix_(std::move(choices)), forced_(std::move(forced)) {}

  void execute();
  const std::vector<Choice>& choices() const { return choices_; }
  const std::optional<std::string>& broken() const { return broken_; }
  Failure failure() const;
  static Run* current;

  // What the yield policy asks for, on the running fiber.
  void yield(const char* place);
  void block(const void* what, const char* place);
  void wake(const void* what);
  bool abandoned() const { return broken_.has_value(); }
  Seen& seen() { return clocks_[at_ + 1]; }
  void release(Seen& to);
  void acquire(const Seen& from);
  void wrote(const void* what) { written_[what] = {at_ + 1, seen().until[at_ + 1]}; }
  void reads(const void* what);

 private:
  struct Fiber {
    context::fiber context;
    const char* name = "";
    const char* place = "begin";
    const void* waits_for = nullptr;
    bool ended = false;
  };
  void resume(int fiber);
  int choose();
  void note(const std::string& what) {
    if (!broken_) broken_ = what;
  }
  void finish_abandoned();

  const Case& case_;
  const std::vector<size_t> prefix_;
  const std::vector<int> forced_;
  std::vector<Choice> choices_;
  std::vector<Fiber> fibers_;
  context::fiber main_;
  int at_ = -1;  // the running fiber; -1: none, it is the setup or the check
  int last_ = -1;
  std::optional<std::string> broken_;
  std::vector<std::pair<int, const char*>> steps_;
  Seen clocks_[kFibersMax + 1];
  struct Write {
    int writer;
    uint32_t at;
  };
  std::unordered_map<const void*, Write> written_;
};

Run* Run::current = nullptr;

context::pooled_fixedsize_stack& stacks() {
  static context::pooled_fixedsize_stack stacks(kStackBytes);
  return stacks;
}

void Run::execute() {
  current = this;
  for (int i = 0; i <= kFibersMax; ++i) clocks_[i].until[i] = 1;
  try {
    std::unique_ptr<Scene> scene = case_.make();
    std::vector<Operation> operations = scene->operations();
    // What the setup did is known to all.
    for (size_t i = 0; i < operations.size(); ++i) clocks_[i + 1].until[0] = clocks_[0].until[0];
    fibers_.resize(operations.size());
    for (size_t i = 0; i < operations.size(); ++i) {
      fibers_[i].name = operations[i].name;
      fibers_[i].context = context::fiber(
          std::allocator_arg, stacks(), [this, i, run = operations[i].run](context::fiber&& main) {
            main_ = std::move(main);
            try {
              run();
            } catch (const Broken& broken) {
              note(broken.what());
            }
            fibers_[i].ended = true;
            return std::move(main_);
          });
    }
    for (int next = choose(); next >= 0 && !broken_; next = choose()) resume(next);
    if (broken_) finish_abandoned();
    // The check sees what all have done.
    at_ = -1;
    for (size_t i = 0; i < fibers_.size(); ++i)
      for (int k = 0; k <= kFibersMax; ++k)
        clocks_[0].until[k] = std::max(clocks_[0].until[k], clocks_[i + 1].until[k]);
    if (!broken_) scene->check();
  } catch (const Broken& broken) {
    note(broken.what());
  }
  current = nullptr;
}

void Run::resume(int fiber) {
  at_ = last_ = fiber;
  fibers_[fiber].context = std::move(fibers_[fiber].context).resume();
  at_ = -1;
}

// -1: all have ended, or none can go on.
int Run::choose() {
  Choice choice;
  bool waits = false;
  const auto able = [&](int i) { return !fibers_[i].ended && fibers_[i].waits_for == nullptr; };
  choice.running_able = last_ >= 0 && able(last_);
  if (choice.running_able) choice.able.push_back(last_);
  for (int i = 0; i < static_cast<int>(fibers_.size()); ++i) {
    if (able(i) && i != last_) choice.able.push_back(i);
    if (!fibers_[i].ended && fibers_[i].waits_for != nullptr) waits = true;
  }
  if (choice.able.empty()) {
    if (waits) note("deadlock: nobody can go on");
    return -1;
  }
  if (choice.able.size() > 1) {
    const size_t n = choices_.size();
    if (n < prefix_.size()) {
      choice.taken = prefix_[n];
    } else if (n < forced_.size()) {
      const auto found = std::find(choice.able.begin(), choice.able.end(), forced_[n]);
      if (found == choice.able.end()) {
        note("the schedule does not fit this program");
        return -1;
      }
      choice.taken = static_cast<size_t>(found - choice.able.begin());
    }
    choices_.push_back(choice);
  }
  const int next = choice.able[choice.taken];
  steps_.push_back({next, fibers_[next].place});
  return next;
}

void Run::finish_abandoned() {
  for (size_t i = 0; i < fibers_.size(); ++i)
    while (!fibers_[i].ended) resume(static_cast<int>(i));
}

void Run::yield(const char* place) {
  if (at_ < 0 || broken_) return;
  fibers_[at_].place = place;
  main_ = std::move(main_).resume();
}

void Run::block(const void* what, const char* place) {
  if (broken_) return;
  if (at_ < 0) fail("the setup or the check waits for a lock that nobody gives back");
  fibers_[at_].waits_for = what;
  fibers_[at_].place = place;
  main_ = std::move(main_).resume();
}

void Run::wake(const void* what) {
  for (Fiber& fiber : fibers_)
    if (fiber.waits_for == what) fiber.waits_for = nullptr;
}

void Run::release(Seen& to) {
  for (int k = 0; k <= kFibersMax; ++k) to.until[k] = std::max(to.until[k], seen().until[k]);
  ++seen().until[at_ + 1];
}

void Run::acquire(const Seen& from) {
  for (int k = 0; k <= kFibersMax; ++k) seen().until[k] = std::max(seen().until[k], from.until[k]);
}

void Run::reads(const void* what) {
  const auto found = written_.find(what);
  if (found == written_.end()) return;  // of another run's memory, used again
  if (seen().until[found->second.writer] >= found->second.at || broken_) return;
  fail("a read of memory whose writing did not happen before it (a release, or an acquire, lacks)");
}

Failure Run::failure() const {
  Failure failure;
  failure.what = broken_.value_or("a check in the code failed");
  for (const Choice& choice : choices_) {
    failure.preemptions += choice.cost();
    failure.schedule += static_cast<char>('a' + choice.able[choice.taken]);
  }
  for (const auto& [fiber, place] : steps_) {
    failure.steps += std::string("  ") + static_cast<char>('a' + fiber) + " (" +
                     fibers_[fiber].name + ") from " + place + "\n";
  }
  return failure;
}

}  // namespace

void print(const Case& each, const Failure& failure) {
  std::printf("%s: %s\n%swith %d preemptions; again: interleave --case %s --schedule %s\n",
              each.name, failure.what.c_str(), failure.steps.c_str(), failure.preemptions,
              each.name, failure.schedule.c_str());
  std::fflush(stdout);
}

namespace {

// A failed check of our own code ends the process; the schedule that led there must not be lost.
const Case* current_case = nullptr;
void print_at_abort(int) {
  if (Run::current != nullptr && current_case != nullptr)
    print(*current_case, Run::current->failure());
  std::_Exit(1);
}

}  // namespace

void fail(const std::string& what) {
  throw Broken(what);
}

// ---------------------------------------------------------------- the policy

void yield_point(const char* place) {
  if (Run::current != nullptr) Run::current->yield(place);
}
void block(const void* what, const char* place) {
  if (Run::current != nullptr) Run::current->block(what, place);
}
void wake(const void* what) {
  if (Run::current != nullptr) Run::current->wake(what);
}
void release(Seen& to) {
  if (Run::current != nullptr) Run::current->release(to);
}
void acquire(const Seen& from) {
  if (Run::current != nullptr) Run::current->acquire(from);
}
void wrote(const void* what) {
  if (Run::current != nullptr) Run::current->wrote(what);
}
void reads(const void* what) {
  if (Run::current != nullptr) Run::current->reads(what);
}
bool abandoned() {
  return Run::current != nullptr && Run::current->abandoned();
}

// ---------------------------------------------------------------- exploring

namespace {

// The next choices in depth-first order that keep to the bound; nothing when all were made.
std::optional<std::vector<size_t>> after(const std::vector<Choice>& choices, int bound) {
  std::vector<int> spent(choices.size() + 1);
  for (size_t i = 0; i < choices.size(); ++i) spent[i + 1] = spent[i] + choices[i].cost();
  for (size_t i = choices.size(); i-- > 0;) {
    const Choice& choice = choices[i];
    if (choice.taken + 1 == choice.able.size()) continue;
    if (spent[i] + (choice.running_able ? 1 : 0) > bound) continue;
    std::vector<size_t> next;
    for (size_t k = 0; k < i; ++k) next.push_back(choices[k].taken);
    next.push_back(choice.taken + 1);
    return next;
  }
  return std::nullopt;
}

int preemptions(const std::vector<Choice>& choices) {
  int sum = 0;
  for (const Choice& choice : choices) sum += choice.cost();
  return sum;
}

}  // namespace

Outcome explore(const Case& each, int preemptions_max) {
  Outcome outcome;
  current_case = &each;
  std::signal(SIGABRT, print_at_abort);
  for (int bound = 0; bound <= preemptions_max; ++bound) {
    std::optional<std::vector<size_t>> next = std::vector<size_t>();
    while (next) {
      Run run(each, *next);
      run.execute();
      // Those with fewer were counted under the smaller bounds.
      if (preemptions(run.choices()) == bound) ++outcome.schedules;
      if (run.broken()) {
        outcome.failure = run.failure();
        return outcome;
      }
      next = after(run.choices(), bound);
    }
  }
  return outcome;
}

Outcome replay(const Case& each, const std::string& schedule) {
  std::vector<int> forced;
  for (const char fiber : schedule) forced.push_back(fiber - 'a');
  current_case = &each;
  std::signal(SIGABRT, print_at_abort);
  Run run(each, {}, forced);
  run.execute();
  Outcome outcome;
  outcome.schedules = 1;
  if (run.broken()) outcome.failure = run.failure();
  return outcome;
}

}  // namespace quorate::interleave
