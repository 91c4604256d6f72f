// SPDX-License-Identifier: Apache-2.0
// Who changes the cluster's members while it runs: adds a machine as a learner or a voter, promotes
// it, removes another; one change at a time, and gives up what is refused for long.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "base/random.h"
#include "sim/cluster.h"
#include "sim/timers.h"

namespace quorate::sim {

class Operator {
 public:
  Operator(Cluster& cluster, Timers& timers, uint64_t seed)
      : cluster_(cluster), timers_(timers), random_(seed) {}

  // The machine is a member since the cluster was founded.
  void founded(size_t i) { members_.insert(i); }
  // At most so many machines are ever made.
  static constexpr size_t kMachinesMax = 8;

  // Each does nothing while a change is under way.
  void add();
  void remove(size_t victim);
  // add(), and when the new one serves, remove().
  void replace(size_t victim);

  bool changed_any() const { return changed_; }
  // Asks the cluster who belongs to it, until somebody says so; then machines that do not are
  // retired, and those that do are started. done: when that was done once; it goes on.
  void settle(std::function<void()> done);

 private:
  using Done = std::function<void(const Call&)>;
  // Of a machine that is a member and runs; any when none is.
  size_t any_member();
  void ask(const Bytes& request, Done done);
  void join(size_t machine, uint64_t id, bool learner, size_t victim);
  void promote(uint64_t id, size_t victim, int tries);
  void joined(size_t victim);
  void remove_now(size_t victim, int tries);
  // The peer URLs of the members in an answer.
  static std::set<std::string> listed(const Call& call);
  void tell_members(size_t joiner, const std::set<std::string>& urls);
  void help_joiners();

  Cluster& cluster_;
  Timers& timers_;
  Random random_;
  std::set<size_t> members_;  // machines that belong to the cluster, as far as is known
  bool busy_ = false, stopped_ = false, changed_ = false;
};

}  // namespace quorate::sim
