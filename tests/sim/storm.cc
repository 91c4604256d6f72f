// SPDX-License-Identifier: Apache-2.0
#include "sim/storm.h"

namespace quorate::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;

class Storm {
 public:
  Storm(const StormConfig& config, Random& random) : config_(config), random_(random) {}

  std::vector<Fault> draw() {
    const uint64_t gap_ms = 40 + random_.below(400);
    for (uint64_t at_ns = 0; at_ns < config_.length_ns;
         at_ns += (1 + random_.below(2 * gap_ms)) * kMs)
      draw_at(at_ns);
    sort_by_time(faults_);
    return std::move(faults_);
  }

 private:
  void add(uint64_t at_ns, FaultKind kind, size_t a, uint64_t ns, uint64_t number = 0) {
    faults_.push_back({at_ns, kind, a, a, ns, number});
  }
  // Mostly back before the messages of an election are; now and then so late that it needs a
  // snapshot.
  uint64_t away_ns() {
    return (1 + random_.below(random_.one_in(8) ? 4000 : random_.one_in(3) ? 500 : 60)) * kMs;
  }
  uint64_t while_ns() { return (50 + random_.below(1200)) * kMs; }

  void draw_at(uint64_t at_ns) {
    const size_t a = random_.below(config_.members);
    const uint64_t slow_ms = 2 + random_.below(config_.election_ns / kMs * 3 / 4);
    switch (random_.below(22)) {
      case 0:
      case 1:
      case 2:
      case 3: return add(at_ns, FaultKind::kPowerLoss, a, away_ns());
      case 4: return add(at_ns, FaultKind::kPowerLoss, 0, away_ns());
      case 5: return add(at_ns, FaultKind::kKill, a, away_ns());
      case 6:
      case 7: return add(at_ns, FaultKind::kCrashAtCall, a, away_ns(), random_.below(20));
      case 8:
      case 9: return add(at_ns, FaultKind::kSlowNetwork, a, while_ns(), slow_ms);
      case 10:
      case 11: return add(at_ns, FaultKind::kSlowDisk, a, while_ns(), slow_ms);
      case 12: return add(at_ns, FaultKind::kHeldDisk, a, (20 + random_.below(400)) * kMs);
      case 13:
      case 14: return sleep(at_ns);
      case 15: return hand_over(at_ns, 1 + random_.below(config_.members - 1));
      case 16: return add(at_ns, FaultKind::kIsolate, random_.one_in(2) ? 0 : a, while_ns());
      case 17:
        return add(at_ns, random_.one_in(2) ? FaultKind::kDeaf : FaultKind::kMute, a, while_ns());
      case 18:
      case 19: return resets(at_ns);
      case 20:
        return add(at_ns, FaultKind::kSplit, 0, while_ns(),
                   random_.below(uint64_t{1} << config_.members));
      default: return add(at_ns, FaultKind::kLossy, a, while_ns(), 2 + random_.below(10));
    }
  }
  // The leader is cut off and sleeps until others may have elected another; it wakes alone.
  void sleep(uint64_t at_ns) {
    const uint64_t ns = config_.election_ns + random_.below(3 * config_.election_ns);
    add(at_ns, FaultKind::kIsolate, 0, ns + random_.below(2 * config_.election_ns));
    add(at_ns, FaultKind::kPause, 0, ns);
  }
  // A leader whose connection breaks before a new follower has answered knows nothing of its log.
  void resets(uint64_t at_ns) {
    const size_t a = 1 + random_.below(config_.members - 1);
    for (uint64_t n = 1 + random_.below(4); n != 0; --n) {
      faults_.push_back({at_ns, FaultKind::kReset, 0, a, 0, 0});
      at_ns += random_.below(150) * kMs;
    }
  }
  // To one that is gone before it can take over.
  void hand_over(uint64_t at_ns, size_t to) {
    faults_.push_back({at_ns, FaultKind::kMoveLeader, to, 0, 0, 0});
    add(at_ns + random_.below(20) * kMs / 4, FaultKind::kPowerLoss, to, away_ns());
  }

  const StormConfig& config_;
  Random& random_;
  std::vector<Fault> faults_;
};

}  // namespace

std::vector<Fault> draw_storm_schedule(const StormConfig& config, Random& random) {
  return Storm(config, random).draw();
}

}  // namespace quorate::sim
