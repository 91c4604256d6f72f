// SPDX-License-Identifier: Apache-2.0
// Random histories of concurrent clients of a store that keeps its promises, and what spoils them.
#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/linearizability/history.h"

namespace quorate::linearizability {

struct Shape {
  size_t operations = 1000;
  size_t clients = 8;
  size_t keys = 4;
  size_t values = 0;  // 0: each write has a value of its own
  int unknown_percent = 8;
  int not_done_percent = 3;
  int serializable_percent = 15;
  bool members = true;
};

class Generated {
 public:
  Generated(uint64_t seed, const Shape& shape)
      : random_(seed), shape_(shape), free_at_(shape.clients, 0), member_revisions_(3, 1) {}

  History make() {
    for (size_t i = 0; i < shape_.operations; ++i) invoke(i);
    std::vector<size_t> order(effects_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(effects_[a], a) < std::pair(effects_[b], b);
    });
    for (const size_t index : order) take_effect(&history_.operations[index]);
    history_.closed = true;
    return std::move(history_);
  }

 private:
  struct Version {
    int64_t revision;
    Name value;
  };

  int64_t up_to(int64_t max) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(max + 1));
  }
  bool percent(int percent) { return up_to(99) < percent; }
  Name named(const char* prefix, int64_t number) {
    return history_.name(prefix + std::to_string(number));
  }

  void invoke(size_t index) {
    const size_t client =
        static_cast<size_t>(std::min_element(free_at_.begin(), free_at_.end()) - free_at_.begin());
    Operation operation;
    operation.id = index + 1;
    operation.client = named("c", static_cast<int64_t>(client));
    operation.kind = static_cast<Kind>(up_to(3));
    operation.key = named("k", up_to(static_cast<int64_t>(shape_.keys) - 1));
    operation.value =
        named("v", shape_.values == 0 ? static_cast<int64_t>(index)
                                      : up_to(static_cast<int64_t>(shape_.values) - 1));
    operation.invoked = free_at_[client] + 1 + up_to(9);
    int64_t effect = operation.invoked + up_to(20);
    operation.returned = effect + up_to(20);
    free_at_[client] = operation.returned;
    if (percent(shape_.unknown_percent)) {
      operation.outcome = Outcome::kUnknown;
      operation.returned = kNever;
      effect += up_to(100);
      if (percent(40)) effect = kNever;
    } else if (percent(shape_.not_done_percent)) {
      operation.outcome = Outcome::kNotDone;
      operation.returned = kNever;
      effect = kNever;
    }
    operation.serializable = operation.kind == Kind::kGet && percent(shape_.serializable_percent);
    history_.operations.push_back(operation);
    effects_.push_back(effect);
  }

  void take_effect(Operation* operation) {
    const bool never = effects_[operation->id - 1] == kNever;
    std::vector<Version>& versions =
        keys_.try_emplace(operation->key, 1, Version{0, kAbsent}).first->second;
    const Version now = versions.back();
    if (operation->kind == Kind::kCas) choose_condition(versions, operation);
    bool writes = operation->kind == Kind::kPut;
    if (operation->kind == Kind::kDelete) writes = now.value != kAbsent;
    if (operation->kind == Kind::kCas)
      writes = operation->compare_mod != kNoRevision
                   ? operation->compare_mod == (now.value == kAbsent ? 0 : now.revision)
                   : operation->compare_value == now.value;
    if (writes && !never)
      versions.push_back(
          {++revision_, operation->kind == Kind::kDelete ? kAbsent : operation->value});
    if (operation->done()) answer(versions, writes, operation);
  }

  void choose_condition(const std::vector<Version>& versions, Operation* cas) {
    const Version& version =
        percent(60)
            ? versions.back()
            : versions[static_cast<size_t>(up_to(static_cast<int64_t>(versions.size()) - 1))];
    if (percent(50))
      cas->compare_mod = version.value == kAbsent ? 0 : version.revision;
    else
      cas->compare_value = version.value;
  }

  void answer(const std::vector<Version>& versions, bool writes, Operation* operation) {
    const auto member = static_cast<size_t>(up_to(2));
    operation->revision = revision_;
    if (operation->serializable)
      operation->revision -= up_to(revision_ - member_revisions_[member]);
    if (shape_.members) {
      operation->member = named("m", static_cast<int64_t>(member));
      member_revisions_[member] = std::max(member_revisions_[member], operation->revision);
    }
    operation->effective = writes && operation->kind != Kind::kPut;
    if (operation->kind != Kind::kGet) return;
    const auto shown = std::find_if(versions.rbegin(), versions.rend(), [&](const Version& one) {
      return one.revision <= operation->revision;
    });
    operation->value = shown->value;
    if (shown->value != kAbsent) operation->mod_revision = shown->revision;
  }

  std::mt19937_64 random_;
  const Shape shape_;
  History history_;
  std::vector<int64_t> free_at_;
  std::vector<int64_t> effects_;  // by operation
  std::map<Name, std::vector<Version>> keys_;
  std::vector<int64_t> member_revisions_;
  int64_t revision_ = 1;
};

// As a client would have recorded it that sees no revisions: a cas by modification revision is a
// put, or nothing if it was refused.
inline void strip_revisions(History* history) {
  std::erase_if(history->operations, [](const Operation& operation) {
    return operation.compare_mod > 0 && operation.done() && !operation.effective;
  });
  for (Operation& operation : history->operations) {
    operation.revision = operation.mod_revision = kNoRevision;
    if (operation.compare_mod <= 0) continue;
    operation.kind = Kind::kPut;
    operation.compare_mod = kNoRevision;
  }
}

}  // namespace quorate::linearizability
