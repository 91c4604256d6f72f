// SPDX-License-Identifier: Apache-2.0
// Members of one Raft group on a table: every message, append and apply waits until the test says
// that it happens. Each member has a model of a WAL that forgets what was not synced, and a model
// of an engine that remembers what was applied. After each event all invariants are checked.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "raft/invariants.h"
#include "raft/raft.h"

namespace quorate::raft {

// What a power cut leaves.
struct ModelDisk : DurableSource {
  HardState hard_state;
  EntryId base;  // the log begins after it
  std::vector<Entry> entries;
  std::optional<SnapshotMeta> snapshot;  // the last snapshot record

  // It is durable at once.
  Durable write(const Append& append);
  const Entry* find(Index index) const;
  EntryId last() const { return entries.empty() ? base : entries.back().id(); }
};

struct ModelEngine {
  EntryId applied;
  ConfState conf_state;
  std::map<Index, Entry> entries;  // all that was applied here, snapshots included
};

class RaftGroup {
 public:
  // Called for each change that a test may want to print or to count. May be empty.
  std::function<void(NodeId, const Ready&)> on_ready;

  // A member that starts with this configuration, at index `applied`, of term 1 when above 0.
  void add_node(Config config, const ConfState& conf_state, Index applied = 0);
  // Starts a member anew with a log of entries "old" of these terms, from index 1 on.
  void set_log(NodeId id, const std::vector<Term>& terms, Term term, Index commit);
  // Voters 1 to `count` with the default configuration, changed by `adjust`.
  void add_voters(size_t count, const std::function<void(Config&)>& adjust = {});

  RawNode& node(NodeId id) { return *member(id).node; }
  const Raft& raft(NodeId id) { return node(id).inner(); }
  const ModelEngine& engine(NodeId id) { return member(id).engine; }
  const ModelDisk& disk(NodeId id) { return member(id).disk; }
  bool running(NodeId id) { return member(id).node != nullptr; }
  std::vector<NodeId> ids() const;

  // One event at a member, then the checks.
  void event(NodeId id, const std::function<void(RawNode&)>& what);
  // Takes what is ready: messages go on the network, appends and entries to their queues.
  Ready process_ready(NodeId id);
  // The oldest waiting append becomes durable; its replies go out, or in. False: none waits.
  bool process_append(NodeId id);
  // The oldest waiting batch is applied. False: none waits.
  bool process_apply(NodeId id);
  // Windows asked for are read from the model disk. False: none was asked for.
  bool process_load(NodeId id);
  // A snapshot that `id` was asked to send arrives and is stepped in there. False: none.
  // Its sender hears how that ended if it is to be told.
  bool process_snapshot(NodeId id, bool arrives = true, bool report = true);

  // The snapshot that is to be sent next will be sent twice.
  void repeat_snapshot(NodeId id) { member(id).snapshots.push_back(member(id).snapshots.front()); }

  // The network: a message is on it until it is delivered or lost.
  std::deque<Message>& network() { return network_; }
  // Delivers network()[i]; lost when its receiver does not run or is cut off.
  void deliver(size_t i);
  // Delivers what is there for `to` now (0: for all), in order; returns how many.
  size_t deliver_all(NodeId to = 0);
  // One direction between two members is lost, or works again.
  void cut(NodeId from, NodeId to) { cut_.insert({from, to}); }
  void mend(NodeId from, NodeId to) { cut_.erase({from, to}); }
  void isolate(NodeId id) { member(id).isolated = true; }
  void rejoin(NodeId id) { member(id).isolated = false; }

  // Everything, until nothing moves any more.
  void stabilize();
  void tick(NodeId id, int times = 1);
  // Time passes for all that run, and everything else happens between two ticks.
  void run(int ticks);
  // Campaigns and stabilizes. REQUIRES: it can win.
  void elect(NodeId id);
  Status propose(NodeId id, std::string_view payload);
  Status propose_conf_change(NodeId id, const ConfChange& change);

  // The engine's state becomes durable; a crash falls back to the last time.
  void persist_engine(NodeId id) { member(id).durable_engine = member(id).engine; }
  // Power cut: what waits at the WAL is lost except for its first `kept` appends.
  void crash(NodeId id, size_t kept = 0);
  void restart(NodeId id);
  // The WAL forgets entries up to `index`.
  void release_wal(NodeId id, Index index);

  size_t waiting_appends(NodeId id) { return member(id).appends.size(); }
  const GroupInvariants& group() const { return group_; }
  NodeId leader();  // of the highest term; 0 for none

 private:
  struct Member {
    Config config;
    std::unique_ptr<RawNode> node;
    std::unique_ptr<NodeInvariants> invariants;
    ModelDisk disk;
    ModelEngine engine;
    ModelEngine durable_engine;
    std::deque<Append> appends;
    std::deque<std::vector<Entry>> applies;
    std::optional<SnapshotMeta> installing;  // durable, waits for apply
    std::map<Index, ModelEngine> incoming;   // received snapshots, complete and durable
    std::deque<LogWindow> loads;
    std::deque<Message> snapshots;  // to send
    bool isolated = false;
    uint64_t seed = 0;
    uint64_t starts = 0;
  };
  Member& member(NodeId id);
  void start(Member& member);
  void send(NodeId from, std::vector<Message>&& messages);
  void apply(Member& member, const std::vector<Entry>& batch);
  void check_promise(Member& member, const Message& reply);
  bool is_lost(NodeId from, NodeId to) const;
  std::map<NodeId, Member> members_;
  std::deque<Message> network_;
  std::set<std::pair<NodeId, NodeId>> cut_;
  GroupInvariants group_;
};

}  // namespace quorate::raft
