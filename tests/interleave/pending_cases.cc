// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <string>

#include "cases.h"
#include "server/pending.h"

namespace quorate::interleave {
namespace {

using server::PendingCall;
using server::PendingCalls;

// Each call that was added is taken out once, by whoever completes it.
class PendingScene : public Scene {
 protected:
  uint64_t add(uint64_t deadline_ns) {
    PendingCall call;
    call.id = calls.reserve(1);
    call.deadline_ns = deadline_ns;
    expect(added_.insert(call.id).second, "an id was given out twice");
    calls.add({&call, 1});
    return call.id;
  }
  void took(const PendingCall& call, const char* by) {
    expect(added_.contains(call.id), "a call that was never added was taken");
    const auto [first, fresh] = taken_.emplace(call.id, by);
    if (!fresh)
      fail(std::string("a call is completed twice: by ") + first->second + ", and by " + by);
  }
  void take(uint64_t id, const char* by) {
    if (const auto call = calls.take(id)) took(*call, by);
  }
  void expire(uint64_t now_ns) {
    for (const PendingCall& call : calls.take_expired(now_ns)) {
      expect(call.deadline_ns <= now_ns, "a call expires before its deadline");
      took(call, "its deadline");
    }
  }
  void stop() {
    for (const PendingCall& call : calls.take_all()) took(call, "the stop");
  }
  void check() override {
    expect(calls.size() + taken_.size() == added_.size(), "a call was lost");
    stop();
    expect(taken_.size() == added_.size(), "a call is never completed");
  }

  PendingCalls calls{100};
  std::set<uint64_t> added_;
  std::map<uint64_t, const char*> taken_;
};

class CompleteCancelExpire final : public PendingScene {
 public:
  CompleteCancelExpire() : first_(add(50)), second_(add(500)) {}
  std::vector<Operation> operations() override {
    return {{"complete",
             [this] {
               take(first_, "its answer");
               take(second_, "its answer");
             }},
            {"cancel",
             [this] {
               take(second_, "its cancel");
               take(first_, "its cancel");
             }},
            {"expire", [this] { expire(100); }}};
  }

 private:
  const uint64_t first_, second_;
};

class AddAndStop final : public PendingScene {
 public:
  AddAndStop() : first_(add(50)) {}
  std::vector<Operation> operations() override {
    return {{"submit", [this] { take(add(500), "its answer"); }},
            {"stop",
             [this] {
               stop();
               stop();
             }},
            {"expire", [this] {
               expire(100);
               take(first_, "its answer");
             }}};
  }

 private:
  const uint64_t first_;
};

class TwoFrontends final : public PendingScene {
  std::vector<Operation> operations() override {
    return {{"submit",
             [this] {
               add(500);
               add(500);
             }},
            {"submit",
             [this] {
               add(500);
               add(50);
             }},
            {"expire", [this] { expire(100); }}};
  }
};

}  // namespace

std::vector<Case> pending_cases() {
  return {
      {"pending.complete-cancel-expire", [] { return std::make_unique<CompleteCancelExpire>(); }},
      {"pending.submit-stop-expire", [] { return std::make_unique<AddAndStop>(); }},
      {"pending.two-front-ends", [] { return std::make_unique<TwoFrontends>(); }}};
}

}  // namespace quorate::interleave
