// SPDX-License-Identifier: Apache-2.0
#include "sim/steady.h"

#include <algorithm>

namespace quorate::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kRedialNs = 100 * kMs;    // until a broken connection stands again, at the most
constexpr uint64_t kRestartNs = 1500 * kMs;  // until a process that is started hears the leader

class Steady {
 public:
  Steady(const SteadyConfig& config, Random& random) : config_(config), random_(random) {}

  std::vector<Fault> draw() {
    disturb();
    between_followers();
    slow_down();
    sort_by_time(faults_);
    return std::move(faults_);
  }

 private:
  void add(uint64_t at_ns, FaultKind kind, size_t a, size_t b, uint64_t ns, uint64_t number = 0) {
    faults_.push_back({at_ns, kind, a, b, ns, number});
  }
  // Until whoever was disturbed has heard the leader again.
  uint64_t settle_ns() const { return kRedialNs + 5 * config_.heartbeat_ns; }
  size_t other_than(size_t a) {
    return (a + 1 + random_.below(config_.members - 1)) % config_.members;
  }
  // What passes between two, one way or the other; a few in a row are a link that flaps.
  void cuts(uint64_t at_ns, size_t a, size_t b, uint64_t end_ns) {
    if (random_.one_in(2)) return cut(at_ns, a, b, 1 + random_.below(end_ns - at_ns));
    for (uint64_t n = 2 + random_.below(8); n != 0 && at_ns < end_ns; --n) {
      const uint64_t ns = std::min(end_ns - at_ns, (1 + random_.below(200)) * kMs);
      cut(at_ns, a, b, ns);
      at_ns += ns + random_.below(200) * kMs;
    }
  }
  void cut(uint64_t at_ns, size_t a, size_t b, uint64_t ns) {
    const uint64_t way = random_.below(3);
    if (way != 0) add(at_ns, FaultKind::kCut, a, b, ns);
    if (way != 1) add(at_ns, FaultKind::kCut, b, a, ns);
  }

  // A minority of followers at a time, for as long as may be.
  void disturb() {
    for (uint64_t at_ns = random_.below(500) * kMs; at_ns < config_.length_ns;) {
      std::vector<size_t> victims;
      for (size_t i = 1; i < config_.members; ++i) victims.push_back(i);
      for (size_t i = 0; i + 1 < victims.size(); ++i)
        std::swap(victims[i], victims[i + random_.below(victims.size() - i)]);
      victims.resize(1 + random_.below((config_.members - 1) / 2));
      const uint64_t end_ns = at_ns + (50 + random_.below(random_.one_in(4) ? 6000 : 1500)) * kMs;
      bool restarted = false;
      for (uint64_t n = 1 + random_.below(6); n != 0; --n)
        restarted |= disturb(victims[random_.below(victims.size())], at_ns, end_ns);
      at_ns = end_ns + settle_ns() + (restarted ? kRestartNs : 0) + random_.below(500) * kMs;
    }
  }
  // True: its process ended.
  bool disturb(size_t a, uint64_t begin_ns, uint64_t end_ns) {
    const uint64_t at_ns = begin_ns + random_.below(end_ns - begin_ns);
    const uint64_t ns = 1 + random_.below(end_ns - at_ns);
    const size_t b = other_than(a);
    switch (random_.below(12)) {
      case 0: add(at_ns, FaultKind::kIsolate, a, a, ns); break;
      case 1: add(at_ns, FaultKind::kDeaf, a, a, ns); break;
      case 2: add(at_ns, FaultKind::kMute, a, a, ns); break;
      case 3: add(at_ns, FaultKind::kPause, a, a, ns); break;
      case 4: add(at_ns, FaultKind::kClog, a, b, ns); break;
      case 5: add(at_ns, FaultKind::kClog, b, a, ns); break;
      case 6: cuts(at_ns, a, b, end_ns); break;
      case 7: cuts(at_ns, a, 0, end_ns); break;
      case 8: {
        const bool power = random_.one_in(2);
        add(at_ns, power ? FaultKind::kPowerLoss : FaultKind::kKill, a, a, ns);
        return true;
      }
      default: add(at_ns, FaultKind::kReset, a, random_.one_in(2) ? 0 : b, 0); break;
    }
    return false;
  }

  // Followers need each other for nothing while somebody leads.
  void between_followers() {
    const uint64_t end_ns = config_.length_ns;
    for (uint64_t at_ns = random_.below(3000) * kMs; at_ns < end_ns;
         at_ns += (1 + random_.below(4000)) * kMs) {
      const size_t a = 1 + random_.below(config_.members - 1);
      const size_t b = 1 + a % (config_.members - 1);
      if (random_.one_in(2))
        add(at_ns, FaultKind::kReset, a, b, 0);
      else
        cuts(at_ns, a, b, std::min(end_ns, at_ns + 3000 * kMs) + 1);
    }
  }

  // One after the other, on whomever it falls. Of ten heartbeats in a timeout, nine are sure to lie
  // between the leader's last word and a campaign, less 5% where a follower's clock runs fast, and
  // the leader may just have been due to send the next: seven and a half are left. A pause takes
  // six at the most, a slow network or disk half a one for each way or write.
  void slow_down() {
    const uint64_t timeout_ns = config_.election_ns;
    for (uint64_t at_ns = random_.below(1000) * kMs; at_ns < config_.length_ns;) {
      const size_t a = random_.below(config_.members);
      uint64_t ns = (50 + random_.below(3000)) * kMs;
      switch (random_.below(9)) {
        case 0:
          add(at_ns, FaultKind::kSlowNetwork, a, a, ns, 1 + random_.below(timeout_ns / 20 / kMs));
          break;
        case 1: add(at_ns, FaultKind::kRepeating, a, a, ns, 1 + random_.below(10)); break;
        case 2:
          add(at_ns, FaultKind::kSlowDisk, a, a, ns, 1 + random_.below(timeout_ns / 20 / kMs));
          break;
        case 3:
          ns = 1 + random_.below(timeout_ns / 10 * 4);
          add(at_ns, FaultKind::kHeldDisk, a, a, ns);
          break;
        case 4:
          add(at_ns, FaultKind::kSlowMember, a, a, ns, 1 + random_.below(timeout_ns / 200 / 1000));
          break;
        case 5:
          ns = 0;
          add(at_ns, FaultKind::kWallJump, a, a, 0, random_.next() & 0xffffffff);
          break;
        default:
          ns = 1 + random_.below(timeout_ns / 10 * 6);
          add(at_ns, FaultKind::kPause, random_.one_in(2) ? 0 : a, a, ns);
          break;
      }
      at_ns += ns + settle_ns() + random_.below(1500) * kMs;
    }
  }

  const SteadyConfig& config_;
  Random& random_;
  std::vector<Fault> faults_;
};

}  // namespace

std::vector<Fault> draw_steady_schedule(const SteadyConfig& config, Random& random) {
  return Steady(config, random).draw();
}

}  // namespace quorate::sim
