// SPDX-License-Identifier: Apache-2.0
// Groups under random faults: loss, repetition and reordering of messages, cut-off members, power
// cuts that take away what was not synced, changes of the configuration, tiny limits; with lease
// reads one clock for all, and processes that stop for a while. Safety is checked after each event
// (raft_group.h); then all is healed and the group must make progress.
// QUORATE_RAFT_SEEDS="first count" runs other seeds than those of every day.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>
#include <sstream>

#include "raft/text.h"
#include "support/raft_group/raft_group.h"

namespace quorate::raft {
namespace {

constexpr NodeId kNodes = 5;

class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : random_(seed) {
    const bool pre_vote = random_.below(4) != 0;
    const bool check_quorum = random_.below(4) != 0;
    const bool tiny = random_.one_in(2);
    lease_reads_ = check_quorum && random_.one_in(3);
    const size_t voters = 1 + random_.below(kNodes);
    ConfState conf_state;
    for (NodeId id = 1; id <= voters; ++id) conf_state.voters.push_back(id);
    for (NodeId id = 1; id <= kNodes; ++id) {
      Config config;
      config.id = id;
      config.seed = seed * kNodes + id;
      config.pre_vote = pre_vote;
      config.check_quorum = check_quorum;
      config.lease_reads = lease_reads_;
      if (tiny) make_tiny(config);
      group_.add_node(config, conf_state);
    }
    faults_ = random_.below(4);
    changes_conf_ = random_.one_in(2);
    group_.on_ready = [this](NodeId, const Ready& ready) {
      for (const ReadState& state : ready.read_states) note_read(state);
    };
  }

  void safety(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }

  // Everybody is back; within bounded time a leader leads and all its members have all entries.
  void liveness() {
    resume();
    for (NodeId id : group_.ids()) {
      group_.rejoin(id);
      if (!group_.running(id)) group_.restart(id);
    }
    NodeId leader = 0;
    for (int round = 0; round < 200; ++round) {
      for (NodeId id : group_.ids()) group_.tick(id);
      group_.stabilize();
      leader = group_.leader();
      if (leader != 0 && round > 60 && group_.propose(leader, "final").ok()) break;
    }
    REQUIRE(leader != 0);
    for (int round = 0; round < 60; ++round) {
      group_.stabilize();
      for (NodeId id : group_.ids()) group_.tick(id);
    }
    group_.stabilize();
    leader = group_.leader();
    REQUIRE(leader != 0);
    const auto& newest = group_.engine(leader).applied;
    CHECK(newest.index == group_.node(leader).last_index());
    CHECK(group_.raft(leader).log().uncommitted_bytes() == 0);
    for (NodeId id : members_of(group_.raft(leader).conf_state())) {
      INFO("member " << id);
      CHECK(group_.engine(id).applied == newest);
      CHECK(group_.engine(id).entries == group_.engine(leader).entries);
      CHECK(group_.engine(id).conf_state == group_.engine(leader).conf_state);
    }
    for (const Progress& peer : group_.raft(leader).progress())
      CHECK(peer.state() == ProgressState::kReplicate);
    const auto& committed = group_.group().committed();
    REQUIRE(committed.size() == newest.index);
    CHECK(group_.engine(leader).entries == committed);
    CHECK(newest.index >= entries_min_);
  }

  uint64_t committed() { return group_.group().committed().size(); }
  uint64_t reads_answered() const { return reads_answered_; }

 private:
  static constexpr uint64_t kEvents = 1000;

  void make_tiny(Config& config) {
    config.append_bytes_max = 1 + random_.below(40);
    config.inflight_messages_max = 1 + random_.below(4);
    config.inflight_bytes_max = 1 + random_.below(100);
    config.append_in_progress_bytes_max = 1 + random_.below(60);
    config.committed_bytes_max = 1 + random_.below(60);
    config.log_memory_bytes_max = 100 + random_.below(600);
    config.uncommitted_bytes_max = 50 + random_.below(400);
  }

  NodeId any() { return 1 + random_.below(kNodes); }

  void step() {
    const NodeId id = any();
    if (id == paused_) {
      // What arrived meanwhile is looked at before the clock is.
      if (random_.one_in(20)) resume();
      return;
    }
    if (!group_.running(id)) {
      if (random_.below(40) == 0) group_.restart(id);
      return;
    }
    const uint64_t event = random_.below(kEvents);
    if (event < 450) {
      network();
    } else if (event < 650) {
      if (group_.node(id).has_ready()) group_.process_ready(id);
    } else if (event < 750) {
      group_.process_append(id);
    } else if (event < 820) {
      group_.process_apply(id);
    } else if (event < 840) {
      group_.process_load(id);
      group_.process_snapshot(id, random_.below(4) != 0);
    } else if (event < 900) {
      if (!lease_reads_) {
        group_.tick(id);
      } else if (random_.one_in(kNodes)) {
        tick_all();
      }
    } else if (event < 950) {
      static_cast<void>(group_.propose(id, "payload " + std::to_string(++proposals_)));
    } else if (event < 970) {
      read(id);
    } else {
      rare(id, random_.below(30));
    }
  }

  // With lease reads one clock serves all: that is what the lease assumes.
  void tick_all() {
    for (NodeId id : group_.ids()) {
      if (id == paused_) {
        ++missed_;
      } else if (group_.running(id)) {
        group_.tick(id);
      }
    }
  }
  void resume() {
    const NodeId id = std::exchange(paused_, 0);
    const uint64_t passed = std::exchange(missed_, 0);
    if (passed == 0 || !group_.running(id)) return;
    group_.event(id, [&](RawNode& node) { node.tick(passed); });
    read_at(id);
  }

  void network() {
    auto& network = group_.network();
    if (network.empty()) return;
    const size_t i = random_.one_in(2) ? 0 : random_.below(network.size());
    const uint64_t fate = random_.below(100);
    if (fate < 5 * faults_ || network.size() > 100) {
      network.erase(network.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      if (fate > 100 - 3 * faults_) network.push_back(network[i]);
      group_.deliver(i);
    }
  }

  void rare(NodeId id, uint64_t what) {
    if (what < 4) {
      group_.persist_engine(id);
    } else if (what < 6) {
      group_.release_wal(id, random_.below(group_.engine(id).applied.index + 1));
    } else if (what < 9) {
      if (faults_ != 0) group_.crash(id, random_.below(3));
    } else if (what < 11) {
      // A leader cut off, with readers, is where stale reads come from.
      if (faults_ > 1) group_.isolate(random_.one_in(2) ? id : some_leader(id));
    } else if (what < 14) {
      group_.rejoin(id);
    } else if (what < 16) {
      group_.event(id, [&](RawNode& node) { node.campaign(); });
    } else if (what < 18) {
      group_.event(id, [&](RawNode& node) { node.report_peer_reset(any()); });
      if (random_.one_in(2))
        group_.event(id, [&](RawNode& node) { node.report_peer_connected(any()); });
    } else if (what < 20) {
      group_.event(id, [&](RawNode& node) { node.report_unreachable(any()); });
    } else if (what < 22) {
      group_.event(id, [&](RawNode& node) { node.transfer_leader(any()); });
    } else if (what < 26 && changes_conf_) {
      change_conf(id);
    } else if (what < 28) {
      for (int i = 0; i < 10; ++i) tick_all();
    } else if (lease_reads_ && paused_ == 0) {
      paused_ = random_.one_in(2) ? id : some_leader(id);
    }
  }

  void change_conf(NodeId id) {
    ConfChange change;
    change.transition = static_cast<ConfTransition>(random_.below(3));
    for (uint64_t steps = random_.below(3); steps != 0; --steps)
      change.steps.push_back({static_cast<ConfChangeType>(random_.below(4)), any()});
    static_cast<void>(group_.propose_conf_change(id, change));
  }

  NodeId some_leader(NodeId otherwise) {
    const NodeId id = any();
    return group_.running(id) && group_.raft(id).role() == Role::kLeader ? id : otherwise;
  }

  void read(NodeId id) { read_at(random_.one_in(2) ? some_leader(id) : id); }
  void read_at(NodeId id) {
    const RequestId request = ++reads_;
    const auto& committed = group_.group().committed();
    waiting_reads_[request] = committed.empty() ? 0 : committed.rbegin()->first;
    group_.event(id, [&](RawNode& node) { node.read_index(request); });
  }

  void note_read(const ReadState& state) {
    const auto waiting = waiting_reads_.find(state.request);
    if (waiting == waiting_reads_.end()) throw std::logic_error("a read is answered twice");
    if (state.ok && state.index < waiting->second)
      throw std::logic_error("a read is answered at " + std::to_string(state.index) + " though " +
                             std::to_string(waiting->second) + " was committed");
    if (state.ok) ++reads_answered_;
    waiting_reads_.erase(waiting);
  }

  Random random_;
  RaftGroup group_;
  uint64_t faults_ = 0;
  bool changes_conf_ = false;
  bool lease_reads_ = false;
  NodeId paused_ = 0;    // its process does not run; the clock does
  uint64_t missed_ = 0;  // ticks of it
  uint64_t proposals_ = 0;
  uint64_t reads_ = 0;
  uint64_t reads_answered_ = 0;
  uint64_t entries_min_ = 1;
  std::map<RequestId, Index> waiting_reads_;
};

TEST_CASE("groups under random faults stay safe, and recover when healed", "[raft][random]") {
  uint64_t first = 1, count = 150;
  if (const char* seeds = std::getenv("QUORATE_RAFT_SEEDS"))
    std::istringstream(seeds) >> first >> count;
  uint64_t committed = 0, reads = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed);
    RandomRun run(seed);
    run.safety(4000);
    run.liveness();
    committed += run.committed();
    reads += run.reads_answered();
  }
  // The faults leave room for work, else the test would show nothing.
  CHECK(committed > count * 15);
  CHECK(reads > count * 2);
}

}  // namespace
}  // namespace quorate::raft
