// SPDX-License-Identifier: Apache-2.0
// What the checkers of one run found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quorate::sim {

enum class Checker : uint8_t {
  kRaft,       // a node's own invariants; one leader a term, log matching, committed entries
  kEntries,    // each index: the same entry with the same outcome, once, in order, everywhere
  kHash,       // equal rolling state hash at equal applied index
  kHistory,    // linearizability of single-key calls
  kContent,    // acknowledged writes, ranges and transactions against the model, at most once
  kWatch,      // in order, none lost, none twice, progress never ahead
  kLease,      // no live lease's key removed, no dead lease's key kept
  kCalls,      // each accepted call is answered once, each stream closed once
  kMember,     // no member stops, refuses to start or aborts without a fault that explains it
  kLiveness,   // once healed, everything goes on within a bound
  kElections,  // steady runs: the term and the leader stay
  kQueues,     // nothing waits beyond its limit or its deadline; at rest nothing does
  kCount,
};
inline constexpr std::string_view kCheckerNames[] = {"raft",    "entries",  "hash",      "history",
                                                     "content", "watch",    "lease",     "calls",
                                                     "member",  "liveness", "elections", "queues"};
static_assert(std::size(kCheckerNames) == static_cast<size_t>(Checker::kCount));
inline std::string_view name_of(Checker checker) {
  return kCheckerNames[static_cast<size_t>(checker)];
}

struct Violation {
  Checker checker;
  uint64_t at_ns;  // of virtual time; 0: found at the end
  std::string sentence;
};

class Verdicts {
 public:
  void turn_off(Checker checker) { off_ |= bit(checker); }
  bool is_on(Checker checker) const { return (off_ & bit(checker)) == 0; }
  // Kept unless the checker is off.
  void add(Checker checker, uint64_t at_ns, std::string sentence) {
    if (is_on(checker) && violations_.size() < kKept)
      violations_.push_back({checker, at_ns, std::move(sentence)});
  }
  bool clean() const { return violations_.empty(); }
  const std::vector<Violation>& violations() const { return violations_; }

 private:
  static constexpr size_t kKept = 20;
  static uint32_t bit(Checker checker) { return 1u << static_cast<uint32_t>(checker); }
  uint32_t off_ = 0;
  std::vector<Violation> violations_;
};

}  // namespace quorate::sim
