// SPDX-License-Identifier: Apache-2.0
#include "raft/memory_group.h"

#include <algorithm>
#include <stdexcept>

namespace quorate::bench {

using raft::RawNode;

MemoryGroup::MemoryGroup(size_t members) {
  raft::InitialState state;
  for (size_t i = 1; i <= members; ++i) state.conf_state.voters.push_back(i);
  for (size_t i = 1; i <= members; ++i) {
    raft::Config config;
    config.id = i;
    nodes_.emplace_back(config, state);
  }
  nodes_.front().campaign();
  settle();
  if (nodes_.front().soft_state().role != raft::Role::kLeader)
    throw std::logic_error("member 1 was not elected");
}

void MemoryGroup::propose(std::span<const Bytes> payloads) {
  const Status status = nodes_.front().propose(payloads);
  if (!status.ok()) throw std::logic_error(status.to_string());
}

void MemoryGroup::step(raft::Message message) {
  const Status status = nodes_[message.to - 1].step(std::move(message));
  if (!status.ok()) throw std::logic_error(status.to_string());
}

bool MemoryGroup::work(RawNode& node) {
  if (!node.has_ready()) return false;
  raft::Ready ready = node.ready();
  std::move(ready.messages.begin(), ready.messages.end(), std::back_inserter(sent_));
  if (!ready.append.empty()) {
    const raft::AppendDone done{ready.append.sequence, ready.append.term, {}, {}};
    const raft::Durable durable = durable_to(done.sequence);
    for (raft::Message& reply : std::move(ready.append.replies).release(durable)) {
      if (reply.to == reply.from) {
        step(std::move(reply));
      } else {
        sent_.push_back(std::move(reply));
      }
    }
    node.append_done(done, durable);
  }
  if (!ready.committed.empty()) {
    uint64_t bytes = 0;
    for (const raft::Entry& entry : ready.committed) bytes += entry.payload.size();
    node.apply_done(ready.committed.back().index, bytes);
  }
  return true;
}

void MemoryGroup::settle() {
  for (bool moved = true; moved;) {
    arriving_.swap(sent_);
    moved = !arriving_.empty();
    for (raft::Message& message : arriving_) step(std::move(message));
    arriving_.clear();
    for (RawNode& node : nodes_) moved = work(node) || moved;
  }
}

raft::Index MemoryGroup::applied() const {
  raft::Index least = UINT64_MAX;
  for (const RawNode& node : nodes_) least = std::min(least, node.applied());
  return least;
}

}  // namespace quorate::bench
