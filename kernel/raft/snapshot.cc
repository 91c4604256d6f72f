// SPDX-License-Identifier: Apache-2.0
// Members too far behind for the log. A MsgSnap asks the server to send its store as a stream; the
// receiving server steps a MsgSnap with what the stream really held, once that is safe on its disk.
#include <algorithm>

#include "raft/raft.h"
#include "raft/text.h"

namespace quorate::raft {

void Raft::send_snapshot(Progress& peer) {
  // A stream to a member that is gone would only be in the way. It is probed again when it answers.
  if (!peer.recent_active) {
    peer.become_probe();
    peer.pause_probe();
    return;
  }
  Message message = message_to(peer.id, MessageType::kMsgSnap);
  const Index applied = log_.applied();
  message.snapshot = SnapshotMeta{applied, log_.term(applied).value_or(0), conf_};
  peer.become_snapshot(applied);
  config_.logger.info("asked for a snapshot at index {} for {}, which is at {}", applied, peer.id,
                      peer.match());
  send(std::move(message));
}

void Raft::report_snapshot(NodeId id, SnapshotStatus status) {
  Progress* peer = find(id);
  if (peer == nullptr || peer->state() != ProgressState::kSnapshot) return;
  if (status == SnapshotStatus::kFinished) {
    peer->snapshot_finished();
  } else {
    peer->become_probe();
  }
  // Whichever it was, the next heartbeat's answer shows that the member is there again.
  peer->pause_probe();
}

void Raft::handle_snapshot(const Message& message) {
  if (!message.snapshot || role_ == Role::kLeader) return;
  const SnapshotMeta& snapshot = *message.snapshot;
  if (restore(snapshot)) {
    config_.logger.info("the log begins after the snapshot {}", to_text(snapshot));
  } else {
    config_.logger.info("ignored the snapshot {} at commit {}", to_text(snapshot), log_.commit());
  }
  Message reply = message_to(leader_ != 0 ? leader_ : message.from, MessageType::kMsgAppResp);
  reply.index = log_.commit();
  reply_when_durable(std::move(reply));
}

bool Raft::restore(const SnapshotMeta& snapshot) {
  if (snapshot.index <= log_.commit()) return false;
  const std::vector<NodeId> members = members_of(snapshot.conf_state);
  if (!std::binary_search(members.begin(), members.end(), config_.id)) {
    config_.logger.warn("{} is no member in the snapshot {}", config_.id, to_text(snapshot));
    return false;
  }
  if (log_.matches(snapshot.id())) {
    // All of it is in the log: going on from there is cheaper than installing.
    log_.commit_to(snapshot.index);
    return false;
  }
  // A candidate's votes were counted by the old configuration.
  if (role_ != Role::kFollower) become_follower(term_, 0);
  log_.restore(snapshot.id());
  unstable_snapshot_ = snapshot;
  conf_index_ = snapshot.index;
  conf_ = snapshot.conf_state;
  return true;
}

}  // namespace quorate::raft
