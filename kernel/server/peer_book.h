// SPDX-License-Identifier: Apache-2.0
// What is known of the peers by whoever asks: which ids were removed from the cluster, who is
// connected since when, who spoke without an address that is known here. A shared class: any
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "raft/types.h"

namespace quorate::server {

class PeerBook {
 public:
  // The peers that have an address, replaced as a whole.
  void set_known(const std::vector<raft::NodeId>& peers) {
    std::lock_guard lock(mutex_);
    known_ = {peers.begin(), peers.end()};
  }
  // For good: ids are never used again.
  void set_removed(raft::NodeId peer) {
    std::lock_guard lock(mutex_);
    removed_.insert(peer);
  }
  bool was_removed(raft::NodeId peer) const {
    std::lock_guard lock(mutex_);
    return removed_.contains(peer);
  }

  bool knows_any() const {
    std::lock_guard lock(mutex_);
    return !known_.empty();
  }

  void connected(raft::NodeId peer, uint64_t now_ns) {
    std::lock_guard lock(mutex_);
    connected_since_ns_.emplace(peer, now_ns);
  }
  void disconnected(raft::NodeId peer) {
    std::lock_guard lock(mutex_);
    connected_since_ns_.erase(peer);
  }
  // Monotonic; 0: it is not connected.
  uint64_t connected_since_ns(raft::NodeId peer) const {
    std::lock_guard lock(mutex_);
    const auto found = connected_since_ns_.find(peer);
    return found == connected_since_ns_.end() ? 0 : found->second;
  }

  // Notes who refused this member.
  void refused_by(raft::NodeId peer) {
    std::lock_guard lock(mutex_);
    refused_by_ = peer;
  }
  // The last who did since the last call; 0: nobody.
  raft::NodeId take_refusal() {
    std::lock_guard lock(mutex_);
    return std::exchange(refused_by_, 0);
  }

  // Notes who spoke; one without an address is a stranger until it has one.
  void heard_of(raft::NodeId peer) {
    std::lock_guard lock(mutex_);
    if (!known_.contains(peer) && !removed_.contains(peer)) has_stranger_ = true;
  }
  // Whether a stranger spoke since the last call.
  bool take_stranger() {
    std::lock_guard lock(mutex_);
    return std::exchange(has_stranger_, false);
  }

 private:
  mutable std::mutex mutex_;  // of all below
  std::set<raft::NodeId> known_, removed_;
  std::map<raft::NodeId, uint64_t> connected_since_ns_;
  bool has_stranger_ = false;
  raft::NodeId refused_by_ = 0;
};

}  // namespace quorate::server
