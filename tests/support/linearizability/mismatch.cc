// SPDX-License-Identifier: Apache-2.0
#include "support/linearizability/mismatch.h"

namespace quorate::linearizability {
namespace {

class Mismatch {
 public:
  Mismatch(const History& history, const Event& event, const KeyState& met)
      : history_(history),
        event_(event),
        met_(met),
        index_(event.operation),
        seen_by_(history.operations[index_]) {}

  Violation found() const {
    if (event_.type == Event::kPin) return not_written();
    if (event_.type == Event::kWrite) return broken_condition();
    if (seen_by_.kind == Kind::kCas) return false_refusal();
    if (seen_by_.value == kAbsent) return missing("found no such key");
    return wrong_value();
  }

 private:
  std::string said(uint32_t index) const { return describe(history_, history_.operations[index]); }
  std::string at() const { return "revision " + std::to_string(event_.at); }
  std::string met() const {
    if (met_.writer == kNobody) return "the key did not exist";
    if (met_.value == kAbsent) return "the key did not exist since " + said(met_.writer);
    return "the key held what " + said(met_.writer) + " wrote";
  }
  Violation violation(Rule rule, std::string sentence, uint32_t other) const {
    Violation made{rule, std::move(sentence), {index_}};
    if (other != kNobody && other != index_) made.operations.push_back(other);
    return made;
  }

  Violation broken_condition() const {
    return violation(Rule::kBrokenCondition,
                     said(index_) + " took effect at " + at() + ", but before that " + met(),
                     met_.writer);
  }
  Violation false_refusal() const {
    return violation(Rule::kFalseRefusal,
                     said(index_) + " was refused at " + at() + ", but there " + met(),
                     met_.writer);
  }

  // The state has a value that was not shown.
  Violation missing(const std::string& what) const {
    const bool known = history_.operations[met_.writer].done();
    return violation(
        known ? Rule::kLostWrite : Rule::kVanishedWrite,
        said(index_) + " " + what + " at " + at() + ", where " +
            (known ? "the acknowledged write " + said(met_.writer) + " must show"
                   : said(met_.writer) + ", of unknown outcome, had taken effect already"),
        met_.writer);
  }

  Violation wrong_value() const {
    const uint32_t shown = writer_of_shown();
    if (shown == kNobody) return not_written();
    const Operation& write = history_.operations[shown];
    if (write.has_effect() && write.revision > event_.at)
      return violation(Rule::kFutureRead,
                       said(index_) + " shows at " + at() + " what only " + said(shown) + " wrote",
                       shown);
    if (met_.present()) return missing("shows something older");
    if (met_.writer == kNobody) return not_written();
    return violation(
        Rule::kResurrected,
        said(index_) + " shows at " + at() + " what " + said(met_.writer) + " had removed",
        met_.writer);
  }

  // The write whose value was shown and that could have been in the state once; kNobody if none.
  uint32_t writer_of_shown() const {
    for (uint32_t i = 0; i < history_.operations.size(); ++i) {
      const Operation& write = history_.operations[i];
      if (!wrote_shown(write)) continue;
      if (write.may_have_effect()) return i;
      if (!write.has_effect()) continue;
      if (seen_by_.mod_revision == kNoRevision || seen_by_.mod_revision == write.revision) return i;
    }
    return kNobody;
  }
  bool wrote_shown(const Operation& write) const {
    return (write.kind == Kind::kPut || write.kind == Kind::kCas) && write.key == seen_by_.key &&
           write.value == seen_by_.value;
  }

  Violation not_written() const {
    if (seen_by_.kind == Kind::kCas)
      return violation(Rule::kNeverWritten,
                       said(index_) + " succeeded, but nobody wrote the key at " + compared(),
                       kNobody);
    for (uint32_t i = 0; i < history_.operations.size(); ++i) {
      const Operation& write = history_.operations[i];
      if (!wrote_shown(write)) continue;
      if (write.has_effect())
        return violation(Rule::kNeverWritten,
                         said(index_) + " shows another modification revision than " + said(i) +
                             ", which wrote the value, was answered with",
                         i);
      if (write.may_have_effect())
        return violation(Rule::kNeverWritten,
                         said(index_) + " shows the value of " + said(i) +
                             " where that cannot have taken effect",
                         i);
      return violation(Rule::kPhantomWrite,
                       said(index_) + " shows the value of " + said(i) + ", which had no effect",
                       i);
    }
    return violation(Rule::kNeverWritten, said(index_) + " shows a value that nobody wrote",
                     kNobody);
  }
  std::string compared() const { return "revision " + std::to_string(seen_by_.compare_mod); }

  const History& history_;
  const Event& event_;
  const KeyState& met_;
  const uint32_t index_;
  const Operation& seen_by_;
};

}  // namespace

Violation mismatch(const History& history, const Event& event, const KeyState& met) {
  return Mismatch(history, event, met).found();
}

}  // namespace quorate::linearizability
