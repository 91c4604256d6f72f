// SPDX-License-Identifier: Apache-2.0
#include "support/linearizability/revision_check.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/check.h"
#include "support/linearizability/key_replay.h"
#include "support/linearizability/mismatch.h"

namespace quorate::linearizability {
namespace {

struct Write {
  int64_t revision;
  uint32_t operation;
};

// The highest revision that was answered so far, and by what.
struct Known {
  int64_t revision;
  uint32_t operation;
};

class RevisionCheck {
 public:
  explicit RevisionCheck(const History& history)
      : history_(history), operations_(history.operations) {}

  Report run() {
    collect_writes();
    check_real_time();
    collect_events();
    replay_keys();
    if (report_.verdict == Verdict::kOk) place_hidden();
    if (report_.verdict == Verdict::kOk && history_.closed) check_gaps();
    return std::move(report_);
  }

 private:
  // The rank of one key's unknown writes and the revision above which each stands.
  using HiddenOfKeys = std::map<Name, std::vector<Hidden>>;

  std::string said(uint32_t index) const { return describe(history_, operations_[index]); }
  void add(Rule rule, std::string sentence, std::vector<uint32_t> named) {
    report_.add({rule, std::move(sentence), std::move(named)});
  }

  void collect_writes() {
    for (uint32_t i = 0; i < operations_.size(); ++i) {
      const Operation& operation = operations_[i];
      QUORATE_CHECK(!operation.done() || operation.revision != kNoRevision,
                    "a history without revisions has another checker");
      if (operation.has_effect()) writes_.push_back({operation.revision, i});
    }
    std::sort(writes_.begin(), writes_.end(), [](const Write& a, const Write& b) {
      return std::pair(a.revision, a.operation) < std::pair(b.revision, b.operation);
    });
    for (size_t i = 1; i < writes_.size(); ++i) {
      if (writes_[i - 1].revision != writes_[i].revision) continue;
      const uint32_t a = writes_[i - 1].operation, b = writes_[i].operation;
      add(Rule::kDuplicateRevision,
          said(a) + " and " + said(b) + " were both answered with revision " +
              std::to_string(writes_[i].revision),
          {a, b});
    }
  }

  uint32_t written_at(int64_t revision) const {
    const auto found = std::lower_bound(
        writes_.begin(), writes_.end(), revision,
        [](const Write& write, int64_t wanted) { return write.revision < wanted; });
    return found != writes_.end() && found->revision == revision ? found->operation : kNobody;
  }

  // ---------------------------------------------------------------- real time

  std::vector<uint32_t> sorted_by(int64_t Operation::*time) const {
    std::vector<uint32_t> order(operations_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(operations_[a].*time, a) < std::pair(operations_[b].*time, b);
    });
    return order;
  }

  // Goes through the invocations with the highest revision that had been answered before each.
  void check_real_time() {
    const std::vector<uint32_t> returns = sorted_by(&Operation::returned);
    Known known{history_.start_revision, kNobody};
    std::map<Name, Known> members;
    size_t next = 0;
    for (const uint32_t index : sorted_by(&Operation::invoked)) {
      const Operation& operation = operations_[index];
      for (; next < returns.size() && operations_[returns[next]].returned < operation.invoked;
           ++next)
        learn(returns[next], &known, &members);
      if (operation.may_have_effect()) hidden_[operation.key].push_back({index, known.revision});
      if (!operation.done()) continue;
      if (!operation.serializable) {
        check_order(known, index);
      } else if (const auto found = members.find(operation.member); found != members.end()) {
        if (operation.revision < found->second.revision) stale(found->second.operation, index);
      }
    }
    // The floors are in order already: they rise with the time of invocation.
  }

  void learn(uint32_t index, Known* known, std::map<Name, Known>* members) const {
    const Operation& operation = operations_[index];
    if (!operation.done()) return;
    const auto raise = [&](Known* to) {
      if (operation.revision > to->revision) *to = {operation.revision, index};
    };
    raise(known);
    if (operation.member == kAbsent) return;
    raise(&members->try_emplace(operation.member, Known{kNoRevision, kNobody}).first->second);
  }

  void check_order(const Known& known, uint32_t index) {
    const Operation& operation = operations_[index];
    const int64_t least = known.revision + (operation.has_effect() ? 1 : 0);
    if (operation.revision >= least) return;
    if (known.operation == kNobody) {
      add(Rule::kRevisionWentBack,
          said(index) + " is not above revision " + std::to_string(known.revision) +
              ", where the history starts",
          {index});
      return;
    }
    const Operation& before = operations_[known.operation];
    if (!operation.has_effect()) return stale(known.operation, index);
    const std::string sentence = said(index) + " was answered with revision " +
                                 std::to_string(operation.revision) + ", but " +
                                 said(known.operation) + " had returned before it was invoked";
    if (!before.has_effect())
      add(Rule::kFutureRead,
          said(known.operation) + " read revision " + std::to_string(before.revision) +
              " and returned before " + said(index) + " was invoked, which wrote revision " +
              std::to_string(operation.revision),
          {known.operation, index});
    else
      add(before.client == operation.client ? Rule::kRevisionWentBack : Rule::kSwappedOrder,
          sentence, {known.operation, index});
  }

  void stale(uint32_t before, uint32_t index) {
    add(Rule::kStaleRead,
        said(index) + " was answered at revision " + std::to_string(operations_[index].revision) +
            ", but " + said(before) + " had returned before it was invoked",
        {before, index});
  }

  // ------------------------------------------------- what is known of each key

  void collect_events() {
    events_.reserve(operations_.size());
    for (uint32_t i = 0; i < operations_.size(); ++i) {
      const Operation& operation = operations_[i];
      if (!operation.done()) continue;
      const auto type = operation.has_effect() ? Event::kWrite : Event::kObserve;
      events_.push_back({operation.revision, i, operation.key, type});
      if (operation.kind == Kind::kGet) pin(i, operation.mod_revision);
      if (operation.kind == Kind::kCas && operation.effective) pin(i, operation.compare_mod);
    }
    for (const auto& [revision, index] : pins_)
      events_.push_back({revision, index, operations_[index].key, Event::kPin});
    std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      const auto rank = [](const Event& event) { return event.type == Event::kObserve ? 1 : 0; };
      return std::tuple(a.key, a.at, rank(a), a.operation) <
             std::tuple(b.key, b.at, rank(b), b.operation);
    });
  }

  // `index` knows that its key was modified at `revision`.
  void pin(uint32_t index, int64_t revision) {
    const Operation& operation = operations_[index];
    if (revision <= 0) return;
    if (revision > operation.revision) {
      add(Rule::kFutureRead, said(index) + " knows of a modification above its own revision",
          {index});
      return;
    }
    if (written_at(revision) != kNobody) return;
    const auto [found, added] = pins_.try_emplace(revision, index);
    if (added) return;
    const Operation& other = operations_[found->second];
    if (other.key != operation.key) {
      add(Rule::kDuplicateRevision,
          said(found->second) + " and " + said(index) + " show two keys modified at revision " +
              std::to_string(revision),
          {found->second, index});
    } else if (other.kind != Kind::kGet && operation.kind == Kind::kGet) {
      found->second = index;  // a get knows more: the value
    }
  }

  bool is_taken(int64_t revision) const {
    return pins_.contains(revision) || written_at(revision) != kNobody;
  }

  void replay_keys() {
    const std::function<bool(int64_t)> taken = [this](int64_t at) { return is_taken(at); };
    for (size_t from = 0; from < events_.size();) {
      size_t to = from;
      while (to < events_.size() && events_[to].key == events_[from].key) ++to;
      replay_key({events_.data() + from, to - from}, taken);
      from = to;
    }
  }

  void replay_key(std::span<const Event> events, const std::function<bool(int64_t)>& taken) {
    const auto found = hidden_.find(events.front().key);
    const std::span<const Hidden> hidden =
        found == hidden_.end() ? std::span<const Hidden>() : std::span(found->second);
    KeyReplay replay(history_, events, hidden, taken);
    switch (replay.run()) {
      case KeyReplay::End::kExplained:
        placements_.insert(placements_.end(), replay.placements().begin(),
                           replay.placements().end());
        break;
      case KeyReplay::End::kImpossible:
        report_.add(mismatch(history_, replay.failed(), replay.met()));
        break;
      case KeyReplay::End::kGaveUp:
        report_.add_unknown("too many ways to place the unknown writes to key \"" +
                            std::string(history_.text(events.front().key)) + "\" before " +
                            said(replay.failed().operation));
        break;
    }
  }

  // ------------------------------------------------ where unknown writes stand

  // Gives each placed write a revision of its own: the lowest free one to the one that ends first.
  void place_hidden() {
    std::vector<Placement> open;
    for (const Placement& placement : placements_)
      if (!placement.pinned) open.push_back(placement);
    std::stable_sort(open.begin(), open.end(),
                     [](const Placement& a, const Placement& b) { return a.above < b.above; });
    std::set<std::pair<int64_t, size_t>> waiting;  // (at_most, index of open)
    int64_t revision = history_.start_revision;
    for (size_t next = 0; next < open.size() || !waiting.empty(); ++revision) {
      if (waiting.empty()) revision = std::max(revision, open[next].above + 1);
      for (; next < open.size() && open[next].above < revision; ++next)
        waiting.emplace(open[next].at_most, next);
      if (waiting.begin()->first < revision) return no_place(open[waiting.begin()->second]);
      if (is_taken(revision)) continue;
      const auto one = std::find_if(waiting.begin(), waiting.end(), [&](const auto& entry) {
        const auto& not_at = open[entry.second].not_at;
        return std::find(not_at.begin(), not_at.end(), revision) == not_at.end();
      });
      if (one != waiting.end()) waiting.erase(one);
    }
  }

  void no_place(const Placement& placement) {
    report_.add_unknown("no free revision was found in " + std::to_string(placement.above + 1) +
                        ".." + std::to_string(placement.at_most) + " for " +
                        said(placement.operation) + ", which must have taken effect there");
  }

  // Each revision without an answered write must be an unknown write's: of the first n of them, at
  // least n unknown writes can stand there. Which of them stands where is left open, so a history
  // that passes may still have a gap.
  void check_gaps() {
    std::vector<int64_t> floors;
    for (const auto& [key, hidden] : hidden_)
      for (const Hidden& one : hidden) floors.push_back(one.floor);
    std::sort(floors.begin(), floors.end());
    const int64_t last = highest();
    size_t gaps = 0, able = 0;
    auto write = writes_.begin();
    for (int64_t at = history_.start_revision + 1; at <= last; ++at) {
      while (write != writes_.end() && write->revision < at) ++write;
      if (write != writes_.end() && write->revision == at) continue;
      while (able < floors.size() && floors[able] < at) ++able;
      if (++gaps <= able) continue;
      add(Rule::kGap, "revision " + std::to_string(at) + " is no operation's of the history", {});
      return;
    }
  }
  int64_t highest() const {
    int64_t revision = history_.start_revision;
    for (const Operation& operation : operations_)
      if (operation.done()) revision = std::max(revision, operation.revision);
    return revision;
  }

  const History& history_;
  const std::vector<Operation>& operations_;
  Report report_;
  std::vector<Write> writes_;  // by revision
  HiddenOfKeys hidden_;
  std::map<int64_t, uint32_t> pins_;  // the revision of an unknown write -> who saw it
  std::vector<Event> events_;         // by key, then as KeyReplay wants them
  std::vector<Placement> placements_;
};

}  // namespace

Report check_revisions(const History& history) {
  return RevisionCheck(history).run();
}

}  // namespace quorate::linearizability
