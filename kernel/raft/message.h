// SPDX-License-Identifier: Apache-2.0
// What members say to one another. Names and text forms are etcd raft's.
#pragma once

#include <string>
#include <vector>

#include "raft/types.h"

namespace quorate::raft {

enum class MessageType : uint8_t {
  kMsgHup,             // local: campaign
  kMsgBeat,            // local: send heartbeats
  kMsgProp,            // propose entries; followers forward it
  kMsgApp,             // append entries
  kMsgAppResp,         //
  kMsgVote,            //
  kMsgVoteResp,        //
  kMsgSnap,            // install a snapshot
  kMsgHeartbeat,       //
  kMsgHeartbeatResp,   //
  kMsgUnreachable,     // local: a message was not delivered
  kMsgSnapStatus,      // local: how the sending of a snapshot ended
  kMsgCheckQuorum,     // local
  kMsgTransferLeader,  //
  kMsgTimeoutNow,      // campaign at once (thesis 3.10)
  kMsgReadIndex,       //
  kMsgReadIndexResp,   //
  kMsgPreVote,         //
  kMsgPreVoteResp,     //
  kMsgLogLoaded,       // local: entries read back from the WAL
};

// "MsgApp" for kMsgApp.
const char* message_type_name(MessageType type);

// One message. Fields that a type does not use stay zero, as in etcd raft:
//  MsgApp: log_term and index are the previous entry's, entries follow it, commit is the leader's.
//  MsgAppResp: index is the acknowledged (or, rejected, the refused previous) index; when rejected
//    reject_hint and log_term name the last place where the logs may agree.
//  MsgVote, MsgPreVote: log_term and index of the candidate's last entry.
//  MsgProp: context is its number at the member that it comes from, 0 for none.
//  MsgHeartbeat, MsgReadIndex and their answers: context is the read request's id, 0 for none.
//  MsgSnap: snapshot. Sent by a leader it asks the leader's server for a stream of its store, and
//    the snapshot in it is only a first word; the receiving server steps it with the one that the
//    stream held, when that is safe on its disk.
//  MsgLogLoaded: as MsgApp, answers a LogWindow: to is this node, from the window's peer, log_term
//    and index are the entry before the window; reject: the WAL no longer holds it.
//  MsgTransferLeader: from is the transferee.
struct Message {
  MessageType type = MessageType::kMsgHup;
  NodeId to = 0;
  NodeId from = 0;
  Term term = 0;
  Term log_term = 0;
  Index index = 0;
  std::vector<Entry> entries;
  Index commit = 0;
  bool reject = false;
  Index reject_hint = 0;
  RequestId context = 0;
  bool force =
      false;  // MsgVote of a leadership transfer: the lease of the old leader does not bind
  std::optional<SnapshotMeta> snapshot;
  friend bool operator==(const Message&, const Message&) = default;
};

inline bool is_vote_request(const Message& message) {
  return message.type == MessageType::kMsgVote || message.type == MessageType::kMsgPreVote;
}
// Only who leads the message's term sends these.
inline bool is_from_leader(const Message& message) {
  return message.type == MessageType::kMsgApp || message.type == MessageType::kMsgHeartbeat ||
         message.type == MessageType::kMsgSnap;
}

// "1->2 MsgApp Term:1 Log:1/11 Commit:11 Entries:[1/12 EntryNormal \"x\"]", etcd raft's form.
std::string to_text(const Message& message);

}  // namespace quorate::raft
