// SPDX-License-Identifier: Apache-2.0
// What a checker says of a history, and how it is put into words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/linearizability/history.h"

namespace quorate::linearizability {

// kOk: an order of all operations was found that explains every answer. kViolation: there is none.
// kUnknown: neither was shown.
enum class Verdict : uint8_t { kOk, kViolation, kUnknown };

// kRevisions takes the order of the writes from the answers' revisions and needs near-linear time;
// kSearch looks for an order, key by key, and needs no revision.
enum class Level : uint8_t { kRevisions, kSearch };

enum class Rule : uint8_t {
  kDuplicateRevision,  // two writes were answered with one revision
  kSwappedOrder,       // a write got a smaller revision than one that had returned before
  kRevisionWentBack,   // the same, of one client or below the start
  kStaleRead,          // a read at a revision below one that was known before it began
  kFutureRead,         // a read that shows what was asked for only after it had returned
  kLostWrite,          // an acknowledged write is not in the state that a later read shows
  kVanishedWrite,      // the same, of a write with unknown outcome that had been seen
  kResurrected,        // a read shows what an acknowledged delete had removed
  kNeverWritten,       // a read shows what nobody wrote
  kPhantomWrite,       // a read shows what only a write without effect tried to write
  kBrokenCondition,    // a cas or delete took effect in a state that did not allow it
  kFalseRefusal,       // a cas or delete had no effect in a state that allowed it
  kGap,                // a revision that is nobody's, in a closed history
  kNotLinearizable,    // no order explains the answers (kSearch)
};
// "lost_write" for kLostWrite, and so on.
std::string_view rule_name(Rule rule);
std::string_view verdict_name(Verdict verdict);
std::string_view level_name(Level level);

constexpr uint32_t kNobody = std::numeric_limits<uint32_t>::max();

struct Violation {
  Rule rule;
  std::string sentence;
  std::vector<uint32_t> operations;  // that the sentence names, as indexes into the history
};

constexpr size_t kViolationsMax = 10;

struct Report {
  Verdict verdict = Verdict::kOk;
  Level level = Level::kRevisions;
  std::vector<Violation> violations;  // the first kViolationsMax
  std::string unknown_because;        // a sentence; of kUnknown

  // A violation outweighs what is unknown.
  void add(Violation violation);
  void add_unknown(std::string because);
};

// "#7 (client w1, put a="x", 100..200, revision 5)"
std::string describe(const History& history, const Operation& operation);

// The operations on the violation's keys that touch the time its operations span, in the order of
// invocation; at most `operations_max`, the violation's own always among them.
std::vector<uint32_t> window(const History& history, const Violation& violation,
                             size_t operations_max);

// For people: one line when clean, else each violation with its window.
std::string to_text(const History& history, const Report& report);
// One line: {"verdict":"violation","level":"revisions","operations":N,"violations":[{"rule":...,
// "sentence":...,"operations":[ids],"window":[operations in the format of histories]}]}
std::string to_json(const History& history, const Report& report);

}  // namespace quorate::linearizability
