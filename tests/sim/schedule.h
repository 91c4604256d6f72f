// SPDX-License-Identifier: Apache-2.0
// The faults of one run, drawn before it from its seed. A part of a schedule is a schedule too, so
// a failing one can be made smaller.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace quorate::sim {

enum class FaultKind : uint8_t {
  kPowerLoss,    // a: what it had not synced may be gone; back after ns
  kKill,         // a: kill -9; back after ns
  kCrashAtCall,  // a: as its `number`th call from now that changes a disk has ended; back after ns
  kStop,         // a: in good order; back after ns
  kPause,        // a: SIGSTOP for ns
  kCut,          // what a says does not reach b, for ns
  kIsolate,      // a and all others, both ways, for ns
  kDeaf,         // a hears nobody, for ns
  kMute,         // nobody hears a, for ns
  kSplit,        // the members in the bits of `number` and the others, for ns
  kClog,         // what a says to b comes after ns, all at once
  kReset,        // the connections of a and b break
  kLossy,        // one message in `number` is lost, for ns
  kRepeating,    // one in `number` comes twice, for ns
  kSlowNetwork,  // messages take up to `number` ms, for ns
  kSlowDisk,     // a: writes take up to `number` ms, for ns
  kHeldDisk,     // a: no write ends for ns
  kSyncFails,    // a: its next sync fails
  kWriteFails,   // a: its next write fails
  kDiskFull,     // a: for ns
  kEngineFails,  // a: its engine's next write fails
  kSlowMember,   // a: every turn takes up to `number` us, for ns
  kWallJump,     // a: its wall clock jumps by `number` - 2^31 ms
  kMoveLeader,   // to a, asked of b
  kAddMember,    // one more
  kRemove,       // a leaves the cluster
  kReplace,      // one more joins, then a leaves
  kCount,
};
std::string_view name_of(FaultKind kind);

struct Fault {
  uint64_t at_ns = 0;  // after the workload's start
  FaultKind kind = FaultKind::kKill;
  size_t a = 0, b = 0;
  uint64_t ns = 0;
  uint64_t number = 0;
};
std::string to_text(const Fault& fault);
// Those of one moment stay in their order.
void sort_by_time(std::vector<Fault>& faults);

struct ScheduleConfig {
  size_t members = 3;
  uint64_t length_ns = 0;
  uint64_t gap_ns = 0;            // between two faults, on average
  uint64_t kinds = ~uint64_t{0};  // bits of FaultKind
};
std::vector<Fault> draw_schedule(const ScheduleConfig& config, Random& random);

}  // namespace quorate::sim
