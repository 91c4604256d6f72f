// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <string>

#include "auth/token_table.h"
#include "cases.h"

namespace quorate::interleave {
namespace {

using auth::TokenTable;

constexpr uint64_t kTtl = 300;
constexpr size_t kMost = 3;

// A token is never found by a look-up that begins after its drop has returned, and always by one
// that ends before its drop begins and before its time is over.
class TokenScene : public Scene {
 protected:
  // What has begun and ended so far, as the look-ups see it: nothing else runs between a statement
  // here and the next step of the table.
  struct Life {
    bool assigned = false, dropping = false, dropped = false;
  };

  void assign(std::string token, Life& life, uint64_t now_ns) {
    tokens.assign(token, "ann", now_ns);
    life.assigned = true;
  }
  void drop(std::initializer_list<Life*> lives) {
    for (Life* life : lives) life->dropping = true;
    tokens.drop_user("ann");
    for (Life* life : lives) life->dropped = true;
  }
  bool look(std::string token, Life& life, uint64_t now_ns, bool in_time = true) {
    const Life before = life;
    const auto owner = tokens.find(token, now_ns);
    expect(!owner || owner->user == "ann", "a token is somebody else's");
    expect(!owner || !before.dropped, "a token is found after its drop");
    expect(owner || life.dropping || !before.assigned || !in_time, "a living token is unknown");
    return owner.has_value();
  }

  TokenTable tokens{kTtl, kMost};
};

// A password changes while the old token is in use.
class UseAndDrop final : public TokenScene {
 public:
  UseAndDrop() { assign("a.1", life_, 0); }
  std::vector<Operation> operations() override {
    return {{"use",
             [this] {
               look("a.1", life_, 100);
               look("a.1", life_, 200);
             }},
            {"use", [this] { look("a.1", life_, 150); }},
            {"drop", [this] { drop({&life_}); }}};
  }
  void check() override {
    expect(!tokens.find("a.1", 201), "a use brought a dropped token back");
    expect(tokens.size() == 0, "a dropped token is kept");
  }

 private:
  Life life_;
};

// Apply assigns a token and drops it; reads come from elsewhere, and time goes on.
class AssignUseSweep final : public TokenScene {
  std::vector<Operation> operations() override {
    return {{"apply",
             [this] {
               assign("a.1", first_, 0);
               drop({&first_});
               assign("a.2", second_, 0);
             }},
            {"use",
             [this] {
               look("a.1", first_, 10);
               look("a.2", second_, 10);
             }},
            {"tick", [this] { tokens.sweep(kTtl - 1); }}};
  }
  void check() override {
    expect(!tokens.find("a.1", 10), "a dropped token is found");
    expect(tokens.find("a.2", 10).has_value(), "a living token is unknown");
    expect(tokens.size() == 1, "the table keeps more than what lives");
  }

  Life first_, second_;
};

// A use at the last moment against the sweep of a later one: the token lives on, or it is gone for
// good, and who found it can use it for another span.
class RefreshAndSweep final : public TokenScene {
 public:
  RefreshAndSweep() { assign("a.1", life_, 0); }
  std::vector<Operation> operations() override {
    return {{"use", [this] { found_ = look("a.1", life_, kTtl - 1, false); }},
            {"tick", [this] { tokens.sweep(kTtl); }},
            {"late use", [this] { late_ = look("a.1", life_, kTtl, false); }}};
  }
  void check() override {
    expect(!late_ || found_, "a token that ended is found");
    expect(tokens.find("a.1", kTtl + 1).has_value() == found_,
           "a token that was used in time is unknown, or one that ended lives");
  }

 private:
  Life life_;
  bool found_ = false, late_ = false;
};

// Two members of the pool remember what they have checked, while the table is full and is cleared.
class FullAndCleared final : public TokenScene {
  std::vector<Operation> operations() override {
    return {{"check",
             [this] {
               remember("j.1.x");
               remember("j.2.x");
             }},
            {"check",
             [this] {
               remember("j.3.x");
               remember("j.4.x");
             }},
            {"clear", [this] {
               tokens.clear();
               kept_.clear();
             }}};
  }
  void remember(std::string token) {
    tokens.remember(token, {"ann", 4}, 1000);
    kept_.push_back(token);
    if (kept_.size() > kMost) kept_.pop_front();
    expect(tokens.size() <= kMost, "the table holds more than it may");
  }
  void check() override {
    expect(tokens.size() == kept_.size(), "the table keeps something else than the newest");
    for (const std::string& token : kept_)
      expect(tokens.find(token, 10).has_value(), "one of the newest is unknown");
  }

  std::deque<std::string> kept_;
};

}  // namespace

std::vector<Case> token_cases() {
  return {{"tokens.use-drop", [] { return std::make_unique<UseAndDrop>(); }},
          {"tokens.assign-use-sweep", [] { return std::make_unique<AssignUseSweep>(); }},
          {"tokens.refresh-sweep", [] { return std::make_unique<RefreshAndSweep>(); }},
          {"tokens.full-cleared", [] { return std::make_unique<FullAndCleared>(); }}};
}

}  // namespace quorate::interleave
