// SPDX-License-Identifier: Apache-2.0
#include "sim/operator.h"

#include "schemas/api.capnp.h"
#include "schemas/segment.h"
#include "support/requests.h"

namespace quorate::sim {
namespace {

constexpr uint64_t kAgainNs = 300'000'000;
constexpr uint64_t kSettleNs = 2'000'000'000;
constexpr uint64_t kCallTimeoutMs = 3000;
constexpr int kTriesMax = 12;
constexpr size_t kNobody = ~size_t{0};

Bytes add_request(const std::string& url, bool learner) {
  return test::request([&](schema::Request::Builder root) {
    auto add = root.initCluster().initAdd();
    add.initPeerUrls(1).set(0, url.c_str());
    add.setLearner(learner);
  });
}

}  // namespace

size_t Operator::any_member() {
  std::vector<size_t> running;
  for (const size_t i : members_)
    if (cluster_.member(i).is_ready()) running.push_back(i);
  return running.empty() ? *members_.begin() : running[random_.below(running.size())];
}

void Operator::ask(const Bytes& request, Done done) {
  cluster_.member(any_member()).call(request, kCallTimeoutMs, std::move(done));
}

void Operator::add() {
  replace(kNobody);
}

void Operator::replace(size_t victim) {
  if (busy_ || stopped_ || cluster_.size() >= kMachinesMax) return;
  if (victim != kNobody && !members_.contains(victim)) return;
  // Until the last one is there, nobody knows whether it belongs to the cluster.
  for (const size_t i : members_)
    if (cluster_.member(i).is_joining()) return;
  busy_ = changed_ = true;
  const size_t machine = cluster_.add_machine();
  const bool learner = !random_.one_in(3);
  ask(add_request(SimMember::url_of(machine), learner), [=, this](const Call& call) {
    const bool unknown =
        call.died || call.code == Code::kTimeout || call.code == Code::kUnknownOutcome;
    if (call.code != Code::kOk && !unknown) {
      cluster_.retire(machine);
      busy_ = false;
      return;
    }
    uint64_t id = 0;
    if (call.code == Code::kOk) {
      schema::SegmentReader reader(call.response.slice());
      id = reader.root<schema::Response>().getCluster().getMember().getId();
    }
    join(machine, id, learner, victim);
  });
}

// id 0: it is not known whether it was added. It finds out when it starts.
void Operator::join(size_t machine, uint64_t id, bool learner, size_t victim) {
  SimMember& joiner = cluster_.member(machine);
  joiner.config.initial_cluster_existing = true;
  members_.insert(machine);
  for (const size_t i : members_)
    joiner.config.initial_cluster.push_back({SimMember::name_of(i), {SimMember::url_of(i)}});
  cluster_.start(machine);
  if (learner && id != 0)
    promote(id, victim, 0);
  else
    joined(victim);
}

void Operator::promote(uint64_t id, size_t victim, int tries) {
  timers_.after(kAgainNs, [=, this] {
    if (tries == kTriesMax || stopped_) return joined(kNobody);
    ask(test::request([&](schema::Request::Builder root) { root.initCluster().setPromote(id); }),
        [=, this](const Call& call) {
          if (call.code == Code::kOk)
            joined(victim);
          else
            promote(id, victim, tries + 1);
        });
  });
}

void Operator::joined(size_t victim) {
  if (victim == kNobody || stopped_) {
    busy_ = false;
    return;
  }
  remove_now(victim, 0);
}

void Operator::remove(size_t victim) {
  if (busy_ || stopped_ || members_.size() < 3 || !members_.contains(victim)) return;
  busy_ = changed_ = true;
  remove_now(victim, 0);
}

void Operator::remove_now(size_t victim, int tries) {
  SimMember& member = cluster_.member(victim);
  if (tries == kTriesMax || stopped_ || member.id() == 0) {
    busy_ = false;
    return;
  }
  ask(test::request(
          [&](schema::Request::Builder root) { root.initCluster().setRemove(member.id()); }),
      [=, this](const Call& call) {
        if (call.code == Code::kOk || call.code == Code::kMemberNotFound) {
          members_.erase(victim);
          // Sometimes its process goes on for a while, and must not disturb the others.
          const uint64_t rest_ns = random_.one_in(2) ? 0 : random_.below(4'000'000'000);
          timers_.after(rest_ns, [=, this] { cluster_.retire(victim); });
          busy_ = false;
          return;
        }
        timers_.after(kAgainNs, [=, this] { remove_now(victim, tries + 1); });
      });
}

std::set<std::string> Operator::listed(const Call& call) {
  std::set<std::string> urls;
  schema::SegmentReader reader(call.response.slice());
  for (const auto& member : reader.root<schema::Response>().getCluster().getMembers())
    for (const auto& url : member.getPeerUrls()) urls.insert(url.cStr());
  return urls;
}

void Operator::tell_members(size_t joiner, const std::set<std::string>& urls) {
  auto& names = cluster_.member(joiner).config.initial_cluster;
  names.clear();
  for (size_t i = 0; i < cluster_.size(); ++i)
    if (urls.contains(SimMember::url_of(i)))
      names.push_back({SimMember::name_of(i), {SimMember::url_of(i)}});
}

// The quorum may need a joiner that was told of members that are none any more. Some member knows
// better, though nobody can say so for sure.
void Operator::help_joiners() {
  ask(test::request([&](schema::Request::Builder root) { root.initCluster().setList(false); }),
      [this](const Call& call) {
        if (call.code != Code::kOk) return;
        const std::set<std::string> urls = listed(call);
        for (size_t i = 0; i < cluster_.size(); ++i)
          if (cluster_.member(i).is_joining() && urls.contains(SimMember::url_of(i)))
            tell_members(i, urls);
      });
}

void Operator::settle(std::function<void()> done) {
  stopped_ = true;
  // A machine that is being added belongs to it or not once that has ended.
  if (busy_) {
    timers_.after(kAgainNs, [=, this] { settle(done); });
    return;
  }
  ask(test::request([&](schema::Request::Builder root) { root.initCluster().setList(true); }),
      [this, done = std::move(done)](const Call& call) {
        if (call.code != Code::kOk) {
          help_joiners();
          timers_.after(kAgainNs, [this, done] { settle(done); });
          return;
        }
        const std::set<std::string> urls = listed(call);
        for (size_t i = 0; i < cluster_.size(); ++i) {
          if (!urls.contains(SimMember::url_of(i))) {
            cluster_.retire(i);
            continue;
          }
          if (cluster_.member(i).is_joining()) tell_members(i, urls);
          cluster_.start(i);
        }
        if (done) done();
        // A change that was asked for before may take effect only now.
        timers_.after(kSettleNs, [this] { settle(nullptr); });
      });
}

}  // namespace quorate::sim
