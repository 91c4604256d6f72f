// SPDX-License-Identifier: Apache-2.0
#include "support/linearizability/search_check.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <unordered_map>

#include "support/linearizability/key_state.h"

namespace quorate::linearizability {
namespace {

constexpr size_t kPendingMax = 256;

// A set of pending operations, by slot.
struct Slots {
  std::array<uint64_t, kPendingMax / 64> words{};

  bool has(size_t slot) const { return (words[slot / 64] >> slot % 64 & 1) != 0; }
  void add(size_t slot) { words[slot / 64] |= uint64_t{1} << slot % 64; }
  void remove(size_t slot) { words[slot / 64] &= ~(uint64_t{1} << slot % 64); }
  bool operator==(const Slots&) const = default;
  bool within(const Slots& other) const {
    for (size_t i = 0; i < words.size(); ++i)
      if ((words[i] & ~other.words[i]) != 0) return false;
    return true;
  }
};

// A way to explain all answers so far: the key's state, and which pending operations are placed.
// Those with unknown outcome stand apart: one that has not been placed may still be, so fewer of
// them placed is never worse.
struct Candidate {
  KeyState state;
  Slots placed;
  Slots unknown_placed;
};

class Candidates {
 public:
  // False when one that is at least as good is there already.
  bool add(const Candidate& candidate) {
    std::vector<size_t>& alike =
        alike_[{candidate.state.value, candidate.state.mod_revision, candidate.placed}];
    for (const size_t i : alike)
      if (all_[i].unknown_placed.within(candidate.unknown_placed)) return false;
    alike.push_back(all_.size());
    all_.push_back(candidate);
    return true;
  }
  const std::vector<Candidate>& all() const { return all_; }
  size_t size() const { return all_.size(); }

 private:
  struct Group {
    Name value;
    int64_t mod_revision;
    Slots placed;
    bool operator==(const Group&) const = default;
  };
  struct Hash {
    size_t operator()(const Group& group) const {
      uint64_t hash = group.value * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(group.mod_revision);
      for (const uint64_t word : group.placed.words)
        hash = (hash ^ word ^ hash >> 29) * 0xBF58476D1CE4E5B9u;
      return hash ^ hash >> 32;
    }
  };

  std::vector<Candidate> all_;
  std::unordered_map<Group, std::vector<size_t>, Hash> alike_;
};

struct Moment {
  int64_t time;
  bool returns;
  uint32_t operation;
};

class KeySearch {
 public:
  KeySearch(const History& history, const SearchBudget& budget)
      : history_(history), budget_(budget) {
    candidates_.push_back({});
  }

  enum class End : uint8_t { kExplained, kImpossible, kGaveUp };

  End run(std::span<const Moment> moments) {
    for (const Moment& moment : moments) {
      at_ = moment.operation;
      const End end = moment.returns ? returned(moment.operation) : invoked(moment.operation);
      if (end != End::kExplained) return end;
    }
    return End::kExplained;
  }
  // The operation at which it ended.
  uint32_t at() const { return at_; }

 private:
  const Operation& operation(size_t slot) const { return history_.operations[pending_[slot]]; }

  End invoked(uint32_t index) {
    const auto free = std::find(pending_.begin(), pending_.end(), kNobody);
    const auto slot = static_cast<size_t>(free - pending_.begin());
    if (slot == kPendingMax) return End::kGaveUp;
    if (free == pending_.end()) pending_.push_back(index);
    pending_[slot] = index;
    if (!writes(operation(slot)))
      for (Candidate& candidate : candidates_) place_reads(&candidate);
    return End::kExplained;
  }

  End returned(uint32_t index) {
    const auto slot =
        static_cast<size_t>(std::find(pending_.begin(), pending_.end(), index) - pending_.begin());
    Candidates done, open;
    for (const Candidate& candidate : candidates_) keep(candidate, slot, &done, &open);
    for (size_t i = 0; i < open.size(); ++i) {
      if (open.size() + done.size() > budget_.candidates_max) return End::kGaveUp;
      const Candidate from = open.all()[i];
      for (size_t next = 0; next < pending_.size(); ++next) {
        if (++steps_ > budget_.steps_max) return End::kGaveUp;
        if (can_place(from, next)) keep(with(from, next), slot, &done, &open);
      }
    }
    candidates_ = done.all();
    pending_[slot] = kNobody;
    return candidates_.empty() ? End::kImpossible : End::kExplained;
  }

  // In `done` when the operation that returns is placed; else it needs more before it.
  static void keep(Candidate candidate, size_t slot, Candidates* done, Candidates* open) {
    if (!candidate.placed.has(slot)) {
      open->add(candidate);
      return;
    }
    candidate.placed.remove(slot);
    done->add(candidate);
  }

  static bool writes(const Operation& operation) {
    return operation.has_effect() || operation.may_have_effect();
  }

  bool can_place(const Candidate& candidate, size_t slot) const {
    if (pending_[slot] == kNobody || candidate.placed.has(slot) ||
        candidate.unknown_placed.has(slot) || !writes(operation(slot)))
      return false;
    const Operation& write = operation(slot);
    if (write.done()) return allows(write, candidate.state) != Answer::kNo;
    if (write.kind == Kind::kCas) return compare(write, candidate.state) != Answer::kNo;
    return write.kind == Kind::kPut || candidate.state.present();
  }

  Candidate with(Candidate candidate, size_t slot) const {
    const Operation& write = operation(slot);
    const bool known = write.done() && write.revision != kNoRevision;
    candidate.state = after(write, pending_[slot], known ? write.revision : kFloating);
    (write.done() ? candidate.placed : candidate.unknown_placed).add(slot);
    place_reads(&candidate);
    return candidate;
  }

  // A read that is right where the state stands now is placed at once: it changes nothing.
  void place_reads(Candidate* candidate) const {
    for (size_t slot = 0; slot < pending_.size(); ++slot) {
      if (pending_[slot] == kNobody || writes(operation(slot))) continue;
      if (allows(operation(slot), candidate->state) != Answer::kNo) candidate->placed.add(slot);
    }
  }

  const History& history_;
  const SearchBudget& budget_;
  std::vector<Candidate> candidates_;
  std::vector<uint32_t> pending_;  // by slot; kNobody: free
  size_t steps_ = 0;
  uint32_t at_ = kNobody;
};

class SearchCheck {
 public:
  SearchCheck(const History& history, const SearchBudget& budget)
      : history_(history), budget_(budget) {
    report_.level = Level::kSearch;
  }

  Report run() {
    std::map<Name, std::vector<Moment>> keys;
    std::vector<uint32_t> serializable;
    for (uint32_t i = 0; i < history_.operations.size(); ++i) {
      const Operation& operation = history_.operations[i];
      if (operation.serializable && operation.done()) serializable.push_back(i);
      if (operation.serializable || !(operation.done() || operation.may_have_effect())) continue;
      keys[operation.key].push_back({operation.invoked, false, i});
      if (operation.done()) keys[operation.key].push_back({operation.returned, true, i});
    }
    for (auto& [key, moments] : keys) search(key, &moments);
    check_serializable(serializable);
    return std::move(report_);
  }

 private:
  void search(Name key, std::vector<Moment>* moments) {
    std::sort(moments->begin(), moments->end(), [](const Moment& a, const Moment& b) {
      return std::tuple(a.time, a.returns, a.operation) <
             std::tuple(b.time, b.returns, b.operation);
    });
    KeySearch search(history_, budget_);
    const KeySearch::End end = search.run(*moments);
    if (end == KeySearch::End::kImpossible) report_.add(impossible(search.at()));
    if (end == KeySearch::End::kGaveUp)
      report_.add_unknown("the search for an order of key \"" + std::string(history_.text(key)) +
                          "\" was given up at " +
                          describe(history_, history_.operations[search.at()]));
  }

  // No order explains the answers up to the return of `index`.
  Violation impossible(uint32_t index) const {
    const Operation& operation = history_.operations[index];
    const std::string said = describe(history_, operation);
    if (operation.kind == Kind::kGet && operation.value != kAbsent) {
      const Source source = source_of(operation);
      if (source.rule != Rule::kNotLinearizable) return blame(index, source);
      return {Rule::kNotLinearizable,
              said + " shows what " + describe(history_, history_.operations[source.write]) +
                  " wrote, and no order of the operations explains that together with the answers"
                  " before it",
              {index, source.write}};
    }
    return {Rule::kNotLinearizable,
            said +
                " was answered so that no order of the operations explains it together with the"
                " answers before it",
            {index}};
  }

  // Where the value that a get shows may come from; write: kNobody when nobody tried to write it.
  struct Source {
    Rule rule;
    uint32_t write;
  };
  Source source_of(const Operation& get) const {
    Source best{Rule::kNeverWritten, kNobody};
    for (uint32_t i = 0; i < history_.operations.size(); ++i) {
      const Operation& write = history_.operations[i];
      if (write.key != get.key || write.value != get.value) continue;
      if (write.kind != Kind::kPut && write.kind != Kind::kCas) continue;
      const bool possible = write.has_effect() || write.may_have_effect();
      if (possible && write.invoked <= get.returned) return {Rule::kNotLinearizable, i};
      if (possible || best.write == kNobody)
        best = {possible ? Rule::kFutureRead : Rule::kPhantomWrite, i};
    }
    return best;
  }

  Violation blame(uint32_t index, const Source& source) const {
    const std::string said = describe(history_, history_.operations[index]);
    if (source.write == kNobody)
      return {source.rule, said + " shows a value that nobody wrote", {index}};
    const std::string write = describe(history_, history_.operations[source.write]);
    return {source.rule,
            said + " shows the value of " + write +
                (source.rule == Rule::kFutureRead ? ", which was invoked after it had returned"
                                                  : ", which had no effect"),
            {index, source.write}};
  }

  // Only the values that were written are gone through once, for any number of gets.
  void check_serializable(const std::vector<uint32_t>& gets) {
    if (gets.empty()) return;
    std::map<std::pair<Name, Name>, int64_t> first_written;
    for (const Operation& write : history_.operations) {
      if (write.kind == Kind::kDelete || !(write.has_effect() || write.may_have_effect())) continue;
      const auto [found, added] =
          first_written.try_emplace({write.key, write.value}, write.invoked);
      if (!added) found->second = std::min(found->second, write.invoked);
    }
    for (const uint32_t index : gets) {
      const Operation& get = history_.operations[index];
      if (get.value == kAbsent) continue;
      const auto found = first_written.find({get.key, get.value});
      if (found != first_written.end() && found->second <= get.returned) continue;
      report_.add(blame(index, source_of(get)));
      if (report_.violations.size() == kViolationsMax) return;
    }
  }

  const History& history_;
  const SearchBudget& budget_;
  Report report_;
};

}  // namespace

Report check_by_search(const History& history, const SearchBudget& budget) {
  return SearchCheck(history, budget).run();
}

}  // namespace quorate::linearizability
