// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace quorate::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;

constexpr std::string_view kNames[] = {
    "power-loss",  "kill",      "crash-at-call", "stop",        "pause",     "cut",
    "isolate",     "deaf",      "mute",          "split",       "clog",      "reset",
    "lossy",       "repeating", "slow-network",  "slow-disk",   "held-disk", "sync-fails",
    "write-fails", "disk-full", "engine-fails",  "slow-member", "wall-jump", "move-leader",
    "add-member",  "remove",    "replace"};
static_assert(std::size(kNames) == static_cast<size_t>(FaultKind::kCount));

Fault draw(FaultKind kind, size_t members, Random& random) {
  Fault fault;
  fault.kind = kind;
  fault.a = random.below(members);
  fault.b = random.below(members);
  // Mostly short; a few outlast every timeout.
  fault.ns = (20 + random.below(random.one_in(5) ? 6000 : 1500)) * kMs;
  switch (kind) {
    case FaultKind::kCrashAtCall: fault.number = random.below(60); break;
    case FaultKind::kSplit: fault.number = random.below(uint64_t{1} << members); break;
    case FaultKind::kLossy: fault.number = 2 + random.below(30); break;
    case FaultKind::kRepeating: fault.number = 1 + random.below(20); break;
    case FaultKind::kSlowNetwork: fault.number = 2 + random.below(150); break;
    case FaultKind::kSlowDisk: fault.number = 5 + random.below(400); break;
    case FaultKind::kHeldDisk: fault.ns += random.below(4000) * kMs; break;
    case FaultKind::kSlowMember: fault.number = 100 + random.below(20'000); break;
    case FaultKind::kWallJump: fault.number = random.next() & 0xffffffff; break;
    default: break;
  }
  return fault;
}

}  // namespace

std::string_view name_of(FaultKind kind) {
  return kNames[static_cast<size_t>(kind)];
}

std::string to_text(const Fault& fault) {
  return fmt::format("{:>6} ms  {:<13} a={} b={} for {} ms, number {}", fault.at_ns / kMs,
                     name_of(fault.kind), fault.a, fault.b, fault.ns / kMs, fault.number);
}

void sort_by_time(std::vector<Fault>& faults) {
  std::stable_sort(faults.begin(), faults.end(),
                   [](const Fault& x, const Fault& y) { return x.at_ns < y.at_ns; });
}

std::vector<Fault> draw_schedule(const ScheduleConfig& config, Random& random) {
  std::vector<FaultKind> kinds;
  for (uint64_t kind = 0; kind < static_cast<uint64_t>(FaultKind::kCount); ++kind)
    if ((config.kinds >> kind) & 1) kinds.push_back(static_cast<FaultKind>(kind));
  std::vector<Fault> faults;
  if (kinds.empty() || config.gap_ns == 0) return faults;
  for (uint64_t at_ns = random.below(2 * config.gap_ns); at_ns < config.length_ns;
       at_ns += 1 + random.below(2 * config.gap_ns)) {
    faults.push_back(draw(kinds[random.below(kinds.size())], config.members, random));
    faults.back().at_ns = at_ns;
  }
  return faults;
}

}  // namespace quorate::sim
