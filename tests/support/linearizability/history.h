// SPDX-License-Identifier: Apache-2.0
// What clients asked of a store and what they were told: the input of the linearizability checkers.
// Plain data, owned by whoever records it; texts are kept once and named by number.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quorate::linearizability {

// A text of a History's table. kAbsent is no text: the value of a key that does not exist.
using Name = uint32_t;
constexpr Name kAbsent = 0;

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int64_t kNoRevision = -1;

enum class Kind : uint8_t { kPut, kGet, kDelete, kCas };

// kUnknown: it may take effect at any time after its invocation, or never. kNotDone: it never did
// and never will.
enum class Outcome : uint8_t { kDone, kUnknown, kNotDone };

// One call on one key. Of two calls one came before the other only if it returned at a smaller time
// than the other was invoked at.
struct Operation {
  uint64_t id = 0;
  Name client = kAbsent;
  Name member = kAbsent;  // the process that answered, where recorded
  Kind kind = Kind::kPut;
  Outcome outcome = Outcome::kDone;
  bool serializable = false;  // a get only
  bool effective = false;     // a delete that found its key; a cas that succeeded
  Name key = kAbsent;
  Name value = kAbsent;  // what a put or cas writes; what a get was shown
  // A cas compares the modification revision (0: absent), or where that is kNoRevision the value.
  Name compare_value = kAbsent;
  int64_t compare_mod = kNoRevision;
  int64_t invoked = 0;
  int64_t returned = kNever;           // ignored unless kDone
  int64_t revision = kNoRevision;      // of the answer's header
  int64_t mod_revision = kNoRevision;  // what a get was shown

  bool done() const { return outcome == Outcome::kDone; }
  bool has_effect() const { return done() && (kind == Kind::kPut || effective); }
  bool may_have_effect() const { return outcome == Outcome::kUnknown && kind != Kind::kGet; }
};

class History {
 public:
  History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  History(History&&) = default;
  History& operator=(History&&) = default;

  // The name of `text`, the same for the same text.
  Name name(std::string_view text);
  // Valid as long as the History.
  std::string_view text(Name name) const { return texts_[name]; }

  std::vector<Operation> operations;
  // The store's revision before the first operation; all keys of the history are absent then.
  int64_t start_revision = 1;
  // Nobody else writes: each revision belongs to an operation of the history. Otherwise others may
  // write to other keys.
  bool closed = false;

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, Name> names_;
};

}  // namespace quorate::linearizability
