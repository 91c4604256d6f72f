// SPDX-License-Identifier: Apache-2.0
// One run: a cluster of real servers, its clients and its faults, all from one seed. First anything
// may fail (safety); then what is broken is healed, but perhaps for a minority, and everything must
// go on within a bound (liveness); then what was answered is judged.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugin/backend.h"
#include "sim/report.h"
#include "sim/schedule.h"

namespace quorate::sim {

struct Engine {
  std::string name = "memory";
  const quorate_backend_factory* table = nullptr;
  bool in_memory = true;
};

// A quiet run, to measure the simulator: no faults, default timeouts, a few clients.
struct Calm {
  uint64_t simulated_ns = 0;
  size_t clients = 0;
  uint64_t think_ns_max = 0;
};

// What the faults of a run may be.
enum class Profile : uint8_t {
  kAny,
  kSteady,  // such as are no reason for an election (steady.h), and none may be held
  kKills,   // leaders of a healthy cluster die, one after the other, to measure how long it takes
  kStorm,   // leaders come and go (storm.h)
  kTight,   // limits of what may wait are so small that they are reached
};

inline constexpr std::string_view kProfileNames[] = {"any", "steady", "kills", "storm", "tight"};
inline std::string_view name_of(Profile profile) {
  return kProfileNames[static_cast<size_t>(profile)];
}

struct Options {
  uint64_t seed = 1;
  Profile profile = Profile::kAny;
  Engine engine;
  std::string real_dir;                    // for engines that need one; exists
  std::optional<std::set<size_t>> faults;  // only these of the schedule, by number
  std::optional<Calm> calm;
  Verdicts verdicts;   // with checkers that are off
  bool trace = false;  // faults and the members' log lines to standard error
};

struct RunResult {
  uint64_t seed = 0;
  std::vector<Violation> violations;
  std::vector<Fault> schedule;
  uint64_t trace_hash = 0;
  uint64_t events = 0;  // turns and steps
  uint64_t simulated_ns = 0;
  uint64_t calls = 0, unknown_calls = 0, watch_events = 0, entries = 0, starts = 0, snapshots = 0;
  std::array<uint64_t, static_cast<size_t>(FaultKind::kCount)> faults{};  // that took place
  std::vector<uint64_t> failovers_ns;  // kKills: each time without a leader
  bool clean() const { return violations.empty(); }
};

RunResult run(const Options& options);
// The schedule that run() would draw.
std::vector<Fault> schedule_of(uint64_t seed, Profile profile);

}  // namespace quorate::sim
