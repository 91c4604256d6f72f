// SPDX-License-Identifier: Apache-2.0
#include "support/raft_group/raft_group.h"

#include <algorithm>
#include <stdexcept>

#include "raft/text.h"

namespace quorate::raft {
namespace {

void require(bool condition, const std::string& sentence) {
  if (!condition) throw std::logic_error(sentence);
}

}  // namespace

Durable ModelDisk::write(const Append& append) {
  if (append.snapshot) {
    snapshot = append.snapshot;
    base = append.snapshot->id();
    entries.clear();
  }
  if (!append.entries.empty()) {
    const Index first = append.entries.front().index;
    require(first > base.index && first <= last().index + 1, "an append leaves a gap in the WAL");
    entries.resize(first - base.index - 1);
    entries.insert(entries.end(), append.entries.begin(), append.entries.end());
  }
  if (append.hard_state) hard_state = *append.hard_state;
  require(hard_state.commit <= last().index, "the durable commit index is beyond the WAL's end");
  return durable_to(append.sequence);
}

const Entry* ModelDisk::find(Index index) const {
  return index > base.index && index <= last().index ? &entries[index - base.index - 1] : nullptr;
}

RaftGroup::Member& RaftGroup::member(NodeId id) {
  const auto found = members_.find(id);
  require(found != members_.end(), "there is no node " + std::to_string(id));
  return found->second;
}

std::vector<NodeId> RaftGroup::ids() const {
  std::vector<NodeId> ids;
  for (const auto& [id, unused] : members_) ids.push_back(id);
  return ids;
}

void RaftGroup::add_node(Config config, const ConfState& conf_state, Index applied) {
  Member& added = members_[config.id];
  added.config = std::move(config);
  added.seed = added.config.seed;
  const Term term = applied == 0 ? 0 : 1;
  added.disk.base = {term, applied};
  added.disk.hard_state = {term, 0, applied};
  added.engine.applied = added.disk.base;
  added.engine.conf_state = conf_state;
  added.durable_engine = added.engine;
  start(added);
}

void RaftGroup::set_log(NodeId id, const std::vector<Term>& terms, Term term, Index commit) {
  crash(id);
  ModelDisk& disk = member(id).disk;
  disk.hard_state = {term, 0, commit};
  disk.entries.clear();
  for (Term each : terms)
    disk.entries.push_back({each, disk.entries.size() + 1, EntryType::kNormal, Bytes::copy("old")});
  restart(id);
}

void RaftGroup::add_voters(size_t count, const std::function<void(Config&)>& adjust) {
  ConfState conf_state;
  for (NodeId id = 1; id <= count; ++id) conf_state.voters.push_back(id);
  for (NodeId id = 1; id <= count; ++id) {
    Config config;
    config.id = id;
    if (adjust) adjust(config);
    add_node(config, conf_state);
  }
}

void RaftGroup::start(Member& member) {
  member.config.seed = member.seed + 1000 * member.starts++;
  member.invariants = std::make_unique<NodeInvariants>();
  group_.restarted(member.config.id);
  InitialState state;
  state.hard_state = member.disk.hard_state;
  state.conf_state = member.engine.conf_state;
  state.applied = member.engine.applied.index;
  state.log = {member.disk.base, member.disk.entries};
  member.node = std::make_unique<RawNode>(member.config, std::move(state));
}

void RaftGroup::event(NodeId id, const std::function<void(RawNode&)>& what) {
  Member& at = member(id);
  what(*at.node);
  const std::string broken = at.invariants->check(at.node->inner());
  require(broken.empty(), broken);
  const std::string apart = group_.check(at.node->inner());
  require(apart.empty(), apart);
}

void RaftGroup::send(NodeId from, std::vector<Message>&& messages) {
  for (Message& message : messages) {
    if (message.type == MessageType::kMsgSnap) {
      member(from).snapshots.push_back(std::move(message));
    } else {
      network_.push_back(std::move(message));
    }
  }
}

Ready RaftGroup::process_ready(NodeId id) {
  Member& at = member(id);
  Ready ready;
  event(id, [&](RawNode& node) { ready = node.ready(); });
  if (on_ready) on_ready(id, ready);
  std::vector<Message> messages = ready.messages;
  for (const Message& message : messages) check_promise(at, message);
  send(id, std::move(messages));
  if (!ready.append.empty()) at.appends.push_back(ready.append);
  for (const Entry& entry : ready.committed) {
    const Entry* durable = at.disk.find(entry.index);
    require(durable != nullptr && *durable == entry,
            "node " + std::to_string(id) + " applies what is not durable: " + to_text(entry));
  }
  if (!ready.committed.empty()) at.applies.push_back(ready.committed);
  at.loads.insert(at.loads.end(), ready.load.begin(), ready.load.end());
  return ready;
}

// What leaves must be true after a power cut at this moment.
void RaftGroup::check_promise(Member& at, const Message& reply) {
  const HardState& durable = at.disk.hard_state;
  const bool promises = reply.type == MessageType::kMsgAppResp ||
                        reply.type == MessageType::kMsgVoteResp ||
                        reply.type == MessageType::kMsgVote;
  require(!promises || durable.term >= reply.term,
          "a message leaves before its term is durable: " + to_text(reply));
  if (reply.reject || durable.term != reply.term) return;
  if (reply.type == MessageType::kMsgVote)
    require(durable.vote == reply.from && (at.node->inner().role() != Role::kCandidate ||
                                           at.disk.last().index == reply.index),
            "a vote is asked for before the own one and the log are durable: " + to_text(reply));
  if (reply.type == MessageType::kMsgVoteResp)
    require(durable.vote == reply.to, "a vote leaves before it is durable: " + to_text(reply));
  if (reply.type == MessageType::kMsgAppResp)
    require(at.disk.last().index >= reply.index,
            "an acknowledgement leaves before its entries are durable: " + to_text(reply));
}

bool RaftGroup::process_append(NodeId id) {
  Member& at = member(id);
  if (at.appends.empty()) return false;
  Append append = std::move(at.appends.front());
  at.appends.pop_front();
  const Durable durable = at.disk.write(append);
  AppendDone done{append.sequence, append.term, {}, std::nullopt};
  if (!append.entries.empty()) done.last = append.entries.back().id();
  if (append.snapshot) {
    done.snapshot = append.snapshot->id();
    at.installing = append.snapshot;
  }
  for (Message& reply : std::move(append.replies).release(durable)) {
    check_promise(at, reply);
    if (reply.to != id) {
      network_.push_back(std::move(reply));
    } else {
      event(id, [&](RawNode& node) { static_cast<void>(node.step(std::move(reply))); });
    }
  }
  event(id, [&](RawNode& node) { node.append_done(done, durable); });
  return true;
}

bool RaftGroup::process_apply(NodeId id) {
  Member& at = member(id);
  if (at.installing) {
    const SnapshotMeta snapshot = *std::exchange(at.installing, std::nullopt);
    at.applies.clear();
    at.engine = at.incoming.at(snapshot.index);
    at.durable_engine = at.engine;
    event(id, [&](RawNode& node) { node.apply_done(snapshot.index, 0); });
    return true;
  }
  if (at.applies.empty()) return false;
  const std::vector<Entry> batch = std::move(at.applies.front());
  at.applies.pop_front();
  apply(at, batch);
  return true;
}

void RaftGroup::apply(Member& at, const std::vector<Entry>& batch) {
  uint64_t bytes = 0;
  std::vector<std::pair<Index, ConfState>> changes;
  for (const Entry& entry : batch) {
    require(entry.index == at.engine.applied.index + 1, "apply gets entries out of order");
    require(group_.committed().at(entry.index) == entry, "apply gets what is not committed");
    bytes += entry.payload.size();
    at.engine.applied = entry.id();
    at.engine.entries[entry.index] = entry;
    if (entry.type != EntryType::kConfChange) continue;
    const auto decoded = decode_conf_change(entry.payload);
    require(decoded.has_value(), "a configuration change does not decode");
    const auto next = apply_conf_change(at.engine.conf_state, decoded->change);
    if (next) at.engine.conf_state = *next;
    changes.emplace_back(entry.index, at.engine.conf_state);
  }
  for (const auto& [index, state] : changes)
    event(at.config.id, [&](RawNode& node) { node.conf_state_applied(index, state); });
  event(at.config.id, [&](RawNode& node) { node.apply_done(batch.back().index, bytes); });
}

bool RaftGroup::process_load(NodeId id) {
  Member& at = member(id);
  if (at.loads.empty()) return false;
  const LogWindow window = at.loads.front();
  at.loads.pop_front();
  Message loaded;
  loaded.type = MessageType::kMsgLogLoaded;
  loaded.to = id;
  loaded.from = window.peer;
  loaded.index = window.first - 1;
  const Entry* before = at.disk.find(loaded.index);
  loaded.reject = before == nullptr && loaded.index != at.disk.base.index;
  if (!loaded.reject) loaded.log_term = before ? before->term : at.disk.base.term;
  uint64_t bytes = 0;
  for (Index i = window.first; !loaded.reject; ++i) {
    const Entry* entry = at.disk.find(i);
    if (entry == nullptr || (bytes += entry->payload.size()) > window.bytes_max) break;
    loaded.entries.push_back(*entry);
  }
  event(id, [&](RawNode& node) { static_cast<void>(node.step(std::move(loaded))); });
  return true;
}

bool RaftGroup::process_snapshot(NodeId id, bool arrives, bool report) {
  Member& from = member(id);
  if (from.snapshots.empty()) return false;
  Message message = std::move(from.snapshots.front());
  from.snapshots.pop_front();
  const NodeId peer = message.to;
  Member& to = member(peer);
  arrives = arrives && !is_lost(id, peer);
  if (arrives) {
    const EntryId applied = from.engine.applied;
    to.incoming[applied.index] = from.engine;
    message.snapshot = SnapshotMeta{applied.index, applied.term, from.engine.conf_state};
    event(peer, [&](RawNode& node) { static_cast<void>(node.step(std::move(message))); });
  }
  if (!report) return true;
  event(id, [&](RawNode& node) {
    node.report_snapshot(peer, arrives ? SnapshotStatus::kFinished : SnapshotStatus::kFailed);
  });
  return true;
}

bool RaftGroup::is_lost(NodeId from, NodeId to) const {
  const auto sender = members_.find(from);
  const auto receiver = members_.find(to);
  return receiver == members_.end() || !receiver->second.node || receiver->second.isolated ||
         (sender != members_.end() && sender->second.isolated) || cut_.contains({from, to});
}

void RaftGroup::deliver(size_t i) {
  Message message = std::move(network_.at(i));
  network_.erase(network_.begin() + static_cast<std::ptrdiff_t>(i));
  if (is_lost(message.from, message.to)) return;
  event(message.to, [&](RawNode& node) { static_cast<void>(node.step(std::move(message))); });
}

size_t RaftGroup::deliver_all(NodeId to) {
  size_t delivered = 0;
  size_t i = 0;
  for (size_t left = network_.size(); left != 0; --left) {
    if (to != 0 && network_[i].to != to) {
      ++i;
      continue;
    }
    deliver(i);
    ++delivered;
  }
  return delivered;
}

void RaftGroup::stabilize() {
  for (int round = 0; round < 10000; ++round) {
    bool moved = deliver_all() != 0;
    for (NodeId id : ids()) {
      if (!running(id)) continue;
      while (node(id).has_ready()) {
        process_ready(id);
        moved = true;
      }
      while (process_append(id)) moved = true;
      while (process_apply(id)) moved = true;
      while (process_load(id)) moved = true;
      while (process_snapshot(id)) moved = true;
    }
    if (!moved) return;
  }
  require(false, "the group does not come to rest");
}

void RaftGroup::tick(NodeId id, int times) {
  for (int i = 0; i < times; ++i) event(id, [](RawNode& node) { node.tick(); });
}

void RaftGroup::run(int ticks) {
  for (int i = 0; i < ticks; ++i) {
    for (NodeId id : ids())
      if (running(id)) tick(id);
    stabilize();
  }
}

void RaftGroup::elect(NodeId id) {
  event(id, [](RawNode& node) { node.campaign(); });
  stabilize();
  require(node(id).soft_state().role == Role::kLeader, "the node was not elected");
}

Status RaftGroup::propose(NodeId id, std::string_view payload) {
  Status status;
  const Bytes bytes = Bytes::copy(payload);
  event(id, [&](RawNode& node) { status = node.propose({&bytes, 1}); });
  return status;
}

Status RaftGroup::propose_conf_change(NodeId id, const ConfChange& change) {
  Status status;
  event(id, [&](RawNode& node) { status = node.propose_conf_change(change, {}); });
  return status;
}

void RaftGroup::crash(NodeId id, size_t kept) {
  Member& at = member(id);
  for (size_t i = 0; i < std::min(kept, at.appends.size()); ++i) at.disk.write(at.appends[i]);
  at.node.reset();
  at.appends.clear();
  at.applies.clear();
  at.loads.clear();
  at.snapshots.clear();
  at.installing.reset();
  at.engine = at.durable_engine;
  // A complete store that the WAL's last snapshot record names is taken over at the next start.
  if (at.disk.base.index > at.engine.applied.index) at.engine = at.incoming.at(at.disk.base.index);
  at.durable_engine = at.engine;
}

void RaftGroup::restart(NodeId id) {
  start(member(id));
  event(id, [](RawNode&) {});
}

void RaftGroup::release_wal(NodeId id, Index index) {
  ModelDisk& disk = member(id).disk;
  index = std::min(index, member(id).durable_engine.applied.index);
  const Entry* last = disk.find(index);
  if (last == nullptr) return;
  const EntryId base = last->id();
  disk.entries.erase(disk.entries.begin(),
                     disk.entries.begin() + static_cast<std::ptrdiff_t>(index - disk.base.index));
  disk.base = base;
}

NodeId RaftGroup::leader() {
  NodeId leader = 0;
  for (NodeId id : ids())
    if (running(id) && raft(id).role() == Role::kLeader &&
        (leader == 0 || raft(id).term() > raft(leader).term()))
      leader = id;
  return leader;
}

}  // namespace quorate::raft
