// SPDX-License-Identifier: Apache-2.0
#include "support/linearizability/key_replay.h"

#include <algorithm>
#include <tuple>

namespace quorate::linearizability {
namespace {

constexpr size_t kPlanLengthMax = 5;
constexpr size_t kPlansMax = 256;
constexpr int64_t kSearchedMax = 200;
constexpr size_t kAheadMax = 64;
constexpr size_t kExtraStepsMax = 5'000'000;

}  // namespace

KeyReplay::KeyReplay(const History& history, std::span<const Event> events,
                     std::span<const Hidden> hidden, const std::function<bool(int64_t)>& taken)
    : history_(history),
      events_(events),
      hidden_(hidden),
      taken_(taken),
      used_(hidden.size(), false) {}

KeyReplay::End KeyReplay::run() {
  const size_t steps_max = 2 * events_.size() + kExtraStepsMax;
  for (size_t steps = 0; event_ < events_.size(); ++steps) {
    if (steps > steps_max) return End::kGaveUp;
    const Event& event = events_[event_];
    if (event.type != Event::kPin && explained(event, state_)) {
      if (event.type == Event::kWrite) {
        state_ = after(history_.operations[event.operation], event.operation, event.at);
        placed_at_write_ = placements_.size();
      } else if (state_.mod_revision == kFloating) {
        refuse_at(history_.operations[event.operation].compare_mod);
      }
      ++event_;
      continue;
    }
    std::vector<Plan> plans = plans_for(event_, state_, false);
    if (!plans.empty()) {
      choices_.push_back({event_, state_, placements_.size(), placed_at_write_,
                          placements_.empty() ? Placement{} : placements_.back(), std::move(plans),
                          1});
      take(choices_.back().plans.front());
      continue;
    }
    if (event_ >= failed_) {
      failed_ = event_;
      met_ = state_;
    }
    // Behind a known or seen write the state is the same whatever was chosen before it: where not
    // even all unknown writes together help, no other choice does.
    const bool certain = placed_at_write_ == placements_.size() && event_ > 0 &&
                         plans_for(event_, state_, true).empty();
    if (certain || !go_back()) return left_out_ ? End::kGaveUp : End::kImpossible;
  }
  return End::kExplained;
}

bool KeyReplay::explained(const Event& event, const KeyState& state) const {
  // What a floating write is compared with is a revision known to be another's.
  const Operation& operation = history_.operations[event.operation];
  const Answer answer = allows(operation, state);
  if (answer != Answer::kMaybe) return answer == Answer::kYes;
  return operation.kind == Kind::kCas && !operation.effective;
}

std::vector<KeyReplay::Plan> KeyReplay::plans_for(size_t event, const KeyState& state, bool reuse) {
  std::vector<Plan> plans;
  Plan plan;
  if (!hidden_.empty()) extend(event, state, reuse, &plan, &plans);
  if (plans.size() < 2) return plans;
  // First what takes the fewest revisions now and later: others need them too.
  std::vector<std::tuple<size_t, size_t, Plan>> ranked;
  for (Plan& one : plans)
    ranked.emplace_back(one.size(), kAheadMax - explained_by(event, one), std::move(one));
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return std::pair(std::get<0>(a), std::get<1>(a)) < std::pair(std::get<0>(b), std::get<1>(b));
  });
  for (size_t i = 0; i < plans.size(); ++i) plans[i] = std::move(std::get<2>(ranked[i]));
  return plans;
}

// How many events from `event` on need nothing but `plan`, up to the next write; kAheadMax when
// that is reached.
size_t KeyReplay::explained_by(size_t event, const Plan& plan) const {
  const uint32_t last = hidden_[plan.back()].operation;
  const bool pins = events_[event].type == Event::kPin;
  const KeyState made =
      after(history_.operations[last], last, pins ? events_[event].at : kFloating);
  size_t ahead = 0;
  for (size_t i = event + (pins ? 1 : 0); i < events_.size() && ahead < kAheadMax; ++i, ++ahead) {
    if (events_[i].type == Event::kPin) return kAheadMax;
    if (!explained(events_[i], made)) return ahead;
    if (events_[i].type == Event::kWrite) return kAheadMax;
  }
  return kAheadMax;
}

void KeyReplay::extend(size_t event, const KeyState& state, bool reuse, Plan* plan,
                       std::vector<Plan>* plans) {
  // Of writes that do the same, the one with the lowest floor restricts the others least.
  using Deed = std::tuple<Kind, Name, int64_t, Name>;
  std::vector<Deed> tried;
  for (uint32_t i = 0; i < hidden_.size(); ++i) {
    const Hidden& hidden = hidden_[i];
    if (hidden.floor >= events_[event].at) break;
    if ((used_[i] && !reuse) || std::find(plan->begin(), plan->end(), i) != plan->end()) continue;
    const Operation& write = history_.operations[hidden.operation];
    const Deed deed(write.kind, write.value, write.compare_mod, write.compare_value);
    if (std::find(tried.begin(), tried.end(), deed) != tried.end()) continue;
    if (!applies(write, state, *plan)) continue;
    const KeyState made = after(write, hidden.operation, kFloating);
    // What would do, but stands too early to, may still be there for the sake of a cas behind it.
    const bool last =
        reaches(event, write, made) && has_room(event, hidden, made, true, plan->size());
    if (!last && !has_room(event, hidden, made, false, plan->size())) continue;
    tried.push_back(deed);
    plan->push_back(i);
    if (last) {
      plans->push_back(*plan);
    } else if (plan->size() < kPlanLengthMax && plans->size() < kPlansMax) {
      extend(event, made, reuse, plan, plans);
    } else {
      left_out_ = true;
    }
    plan->pop_back();
  }
}

// In a row of unknown writes each must be there for the sake of the next: only a cas asks for
// something before it.
bool KeyReplay::applies(const Operation& write, const KeyState& state, const Plan& plan) const {
  if (write.kind == Kind::kPut) return plan.empty();
  if (write.kind == Kind::kDelete) return plan.empty() && state.present();
  const Answer answer = compare(write, state);
  if (answer == Answer::kMaybe) return may_stand_at(write.compare_mod, plan);
  return answer == Answer::kYes;
}

// Whether the floating write, the last of `plan` or of what is placed, can be where a cas compares.
bool KeyReplay::may_stand_at(int64_t revision, const Plan& plan) const {
  if (taken_(revision)) return false;
  if (!plan.empty()) return hidden_[plan.back()].floor < revision;
  const Placement& last = placements_.back();
  return last.above < revision && revision <= last.at_most;
}

bool KeyReplay::reaches(size_t event, const Operation& last, const KeyState& made) const {
  const Event& goal = events_[event];
  if (goal.type != Event::kPin) return explained(goal, made);
  if (last.kind == Kind::kDelete) return false;
  const Operation& seen_by = history_.operations[goal.operation];
  return seen_by.kind != Kind::kGet || seen_by.value == last.value;
}

// Whether enough revisions are left for `hidden` and for all that is placed since the last known
// write. A wide range is not searched to its end: RevisionCheck has the last word.
bool KeyReplay::has_room(size_t event, const Hidden& hidden, const KeyState& made, bool last,
                         size_t in_front) const {
  const int64_t limit = at_most(events_[event], last);
  if (hidden.floor >= limit) return false;
  if (last && events_[event].type == Event::kPin) return true;
  const int64_t low = std::max(hidden.floor, above(event, last ? &made : nullptr));
  if (!has_free(low, limit, 1)) return false;
  size_t needed = 1 + in_front;
  int64_t lowest = low;
  for (size_t i = placed_at_write_; i < placements_.size(); ++i) {
    lowest = std::min(lowest, placements_[i].above);
    if (!placements_[i].pinned) ++needed;
  }
  return needed == 1 || has_free(in_front == 0 ? lowest : above(event, nullptr), limit, needed);
}

bool KeyReplay::has_free(int64_t above, int64_t at_most, size_t needed) const {
  if (above < at_most - kSearchedMax) return true;
  for (int64_t revision = above + 1; revision <= at_most && needed > 0; ++revision)
    if (!taken_(revision)) --needed;
  return needed == 0;
}

// The revision above which a write stands that `event` needs: that of the last known write, or of
// the last answer that could not have been given from what it made.
int64_t KeyReplay::above(size_t event, const KeyState* made) const {
  for (size_t i = event; i > 0; --i) {
    const Event& earlier = events_[i - 1];
    if (earlier.type != Event::kObserve) return earlier.at;
    if (made != nullptr && !explained(earlier, *made)) return earlier.at;
  }
  return std::numeric_limits<int64_t>::min();
}

int64_t KeyReplay::at_most(const Event& event, bool last) const {
  if (event.type == Event::kObserve) return event.at;
  return event.type == Event::kPin && last ? event.at : event.at - 1;
}

// The floating write, the last that was placed, does not stand where a refused swap looked for it.
void KeyReplay::refuse_at(int64_t revision) {
  if (revision > 0) placements_.back().not_at.push_back(revision);
}

void KeyReplay::take(const Plan& plan) {
  const Event& event = events_[event_];
  for (size_t i = 0; i < plan.size(); ++i) {
    const Hidden& hidden = hidden_[plan[i]];
    const bool last = i + 1 == plan.size();
    const bool pinned = last && event.type == Event::kPin;
    const Operation& write = history_.operations[hidden.operation];
    if (write.kind == Kind::kCas && compare(write, state_) == Answer::kMaybe) {
      placements_.back().above = std::max(placements_.back().above, write.compare_mod - 1);
      placements_.back().at_most = std::min(placements_.back().at_most, write.compare_mod);
    }
    state_ = after(write, hidden.operation, pinned ? event.at : kFloating);
    const int64_t limit = at_most(event, last);
    int64_t low = pinned ? limit - 1 : above(event_, last ? &state_ : nullptr);
    low = std::max(low, hidden.floor);
    // Behind those that were placed before it since the last known write.
    if (placements_.size() > placed_at_write_) low = std::max(low, placements_.back().above);
    placements_.push_back({hidden.operation, low, limit, pinned});
    placed_.push_back(plan[i]);
    used_[plan[i]] = true;
  }
  if (event.type != Event::kPin) return;
  ++event_;
  // Whoever wrote it, it is what the get saw.
  if (history_.operations[event.operation].kind == Kind::kGet) placed_at_write_ = placed_.size();
}

bool KeyReplay::go_back() {
  while (!choices_.empty()) {
    Choice& choice = choices_.back();
    release(choice.placed);
    if (choice.next < choice.plans.size()) {
      event_ = choice.event;
      state_ = choice.state;
      placed_at_write_ = choice.placed_at_write;
      if (choice.placed > 0) placements_.back() = choice.last_placed;
      take(choice.plans[choice.next++]);
      return true;
    }
    choices_.pop_back();
  }
  return false;
}

void KeyReplay::release(size_t placed) {
  while (placed_.size() > placed) {
    used_[placed_.back()] = false;
    placed_.pop_back();
    placements_.pop_back();
  }
}

}  // namespace quorate::linearizability
