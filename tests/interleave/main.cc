// SPDX-License-Identifier: Apache-2.0
// interleave                              every case, under all schedules of up to 3 preemptions
// interleave --case NAME [--bound N]      one of them
// interleave --case NAME --schedule S     one run, as a failure printed it
// interleave --list                       their names
// interleave --rig                        judges the rig: toys with a bug each
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cases.h"

namespace quorate::interleave {
namespace {

using Time = std::chrono::steady_clock;

bool run(const Case& each, int bound) {
  const Time::time_point start = Time::now();
  const Outcome outcome = explore(each, bound);
  const double seconds = std::chrono::duration<double>(Time::now() - start).count();
  std::printf("%-34s %8llu schedules of up to %d preemptions  %6.2f s  %s\n", each.name,
              static_cast<unsigned long long>(outcome.schedules), bound, seconds,
              outcome.failure ? "FAILED" : "ok");
  if (outcome.failure) print(each, *outcome.failure);
  std::fflush(stdout);
  return !outcome.failure;
}

bool run_all(const std::vector<Case>& cases, int bound) {
  bool ok = true;
  for (const Case& each : cases) ok &= run(each, bound);
  return ok;
}

bool run_rig() {
  bool ok = true;
  for (const Case& each : rig_cases()) {
    const int needed = std::atoi(each.name + std::strlen("rig."));
    const bool silent_below = needed == 0 || !explore(each, needed - 1).failure;
    const Outcome outcome = explore(each, needed);
    bool found = outcome.failure && outcome.failure->preemptions == needed;
    // And its schedule shows it again.
    found = found && replay(each, outcome.failure->schedule).failure &&
            replay(each, outcome.failure->schedule).failure->what == outcome.failure->what;
    std::printf("%-34s %s\n", each.name, found && silent_below ? "found" : "NOT FOUND");
    ok &= found && silent_below;
  }
  return ok;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto* cases : {index_cases, view_cases, buffer_cases, pending_cases, token_cases})
    for (Case& each : cases()) all.push_back(std::move(each));
  return all;
}

int usage() {
  std::fprintf(stderr, "interleave [--list | --rig | --case NAME [--bound N | --schedule S]]\n");
  return 2;
}

int main_of(int argc, char** argv) {
  const char* name = nullptr;
  const char* schedule = nullptr;
  int bound = 3;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (option == "--rig" && argc == 2) return run_rig() ? 0 : 1;
    if (option == "--list" && argc == 2) {
      for (const Case& each : all_cases()) std::printf("%s\n", each.name);
      return 0;
    }
    if (value == nullptr) return usage();
    ++i;
    if (option == "--case") {
      name = value;
    } else if (option == "--schedule") {
      schedule = value;
    } else if (option == "--bound") {
      bound = std::atoi(value);
    } else {
      return usage();
    }
  }
  if (name == nullptr) return run_all(all_cases(), bound) ? 0 : 1;
  std::vector<Case> cases = all_cases();
  for (Case& toy : rig_cases()) cases.push_back(std::move(toy));
  for (const Case& each : cases) {
    if (std::strcmp(each.name, name) != 0) continue;
    if (schedule == nullptr) return run(each, bound) ? 0 : 1;
    const Outcome outcome = replay(each, schedule);
    if (!outcome.failure) {
      std::printf("%s: this schedule is fine\n", name);
      return 0;
    }
    print(each, *outcome.failure);
    return 1;
  }
  std::fprintf(stderr, "interleave: there is no case '%s'; --list names them\n", name);
  return 2;
}

}  // namespace
}  // namespace quorate::interleave

int main(int argc, char** argv) {
  return quorate::interleave::main_of(argc, argv);
}
