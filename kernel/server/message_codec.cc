// SPDX-License-Identifier: Apache-2.0
#include "server/message_codec.h"

#include <kj/exception.h>

#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/coding.h"
#include "schemas/raft.capnp.h"

namespace quorate::server {
namespace {

using raft::MessageType;
using Wire = schema::RaftMessageType;

constexpr size_t kFrameBytes = 8;  // in front of the header

struct TypePair {
  MessageType local;
  Wire wire;
};
constexpr TypePair kTypes[] = {
    {MessageType::kMsgProp, Wire::PROP},
    {MessageType::kMsgApp, Wire::APP},
    {MessageType::kMsgAppResp, Wire::APP_RESP},
    {MessageType::kMsgVote, Wire::VOTE},
    {MessageType::kMsgVoteResp, Wire::VOTE_RESP},
    {MessageType::kMsgPreVote, Wire::PRE_VOTE},
    {MessageType::kMsgPreVoteResp, Wire::PRE_VOTE_RESP},
    {MessageType::kMsgSnap, Wire::SNAP},
    {MessageType::kMsgHeartbeat, Wire::HEARTBEAT},
    {MessageType::kMsgHeartbeatResp, Wire::HEARTBEAT_RESP},
    {MessageType::kMsgTransferLeader, Wire::TRANSFER_LEADER},
    {MessageType::kMsgTimeoutNow, Wire::TIMEOUT_NOW},
    {MessageType::kMsgReadIndex, Wire::READ_INDEX},
    {MessageType::kMsgReadIndexResp, Wire::READ_INDEX_RESP},
};

Wire to_wire(MessageType type) {
  for (const TypePair& pair : kTypes)
    if (pair.local == type) return pair.wire;
  QUORATE_CHECK(false, "a message that never leaves its member was to be sent");
  return Wire::PROP;
}

Status damaged(const char* why) {
  return Status(Code::kCorrupt, std::string("a peer's message is damaged: ") + why);
}

void write_ids(capnp::List<uint64_t>::Builder list, const std::vector<raft::NodeId>& ids) {
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, ids[i]);
}

std::vector<raft::NodeId> read_ids(capnp::List<uint64_t>::Reader list) {
  std::vector<raft::NodeId> ids;
  for (const uint64_t id : list) ids.push_back(id);
  return ids;
}

void write_snapshot(schema::SnapshotHead::Builder to, const raft::SnapshotMeta& snapshot) {
  const auto size = [](const auto& ids) { return static_cast<unsigned>(ids.size()); };
  to.setIndex(snapshot.index);
  to.setTerm(snapshot.term);
  auto conf = to.initConfState();
  const raft::ConfState& state = snapshot.conf_state;
  write_ids(conf.initVoters(size(state.voters)), state.voters);
  write_ids(conf.initLearners(size(state.learners)), state.learners);
  write_ids(conf.initVotersOutgoing(size(state.voters_outgoing)), state.voters_outgoing);
  write_ids(conf.initLearnersNext(size(state.learners_next)), state.learners_next);
  conf.setAutoLeave(state.auto_leave);
}

raft::SnapshotMeta read_snapshot(schema::SnapshotHead::Reader from) {
  raft::SnapshotMeta snapshot;
  snapshot.index = from.getIndex();
  snapshot.term = from.getTerm();
  const auto conf = from.getConfState();
  snapshot.conf_state = {read_ids(conf.getVoters()), read_ids(conf.getLearners()),
                         read_ids(conf.getVotersOutgoing()), read_ids(conf.getLearnersNext()),
                         conf.getAutoLeave()};
  return snapshot;
}

Result<raft::Message> read_message(schema::RaftMessage::Reader head, Slice payloads, Slab& slab) {
  raft::Message message;
  const auto wire = static_cast<size_t>(head.getType());
  if (wire >= std::size(kTypes)) return damaged("its type is unknown");
  message.type = kTypes[wire].local;
  message.to = head.getTo();
  message.from = head.getFrom();
  message.term = head.getTerm();
  message.log_term = head.getLogTerm();
  message.index = head.getIndex();
  message.commit = head.getCommit();
  message.reject = head.getReject();
  message.reject_hint = head.getRejectHint();
  message.context = head.getContext();
  message.force = head.getForce();
  const auto entries = head.getEntries();
  message.entries.reserve(entries.size());
  raft::Index index = message.type == MessageType::kMsgApp ? message.index : 0;
  for (const auto entry : entries) {
    if (entry.getSize() > payloads.size()) return damaged("it ends within an entry");
    if (entry.getType() > 1) return damaged("an entry's type is unknown");
    if (message.type == MessageType::kMsgApp) ++index;
    const Slice payload = payloads.substr(0, entry.getSize());
    payloads.remove_prefix(payload.size());
    message.entries.push_back({entry.getTerm(), index,
                               static_cast<raft::EntryType>(entry.getType()),
                               payload.empty() ? Bytes() : slab.copy(payload)});
  }
  if (!payloads.empty()) return damaged("bytes follow its last entry");
  if (head.hasSnapshot()) message.snapshot = read_snapshot(head.getSnapshot());
  if (message.type == MessageType::kMsgSnap && !message.snapshot)
    return damaged("a snapshot's message names none");
  return message;
}

}  // namespace

void MessageEncoder::encode(const raft::Message& message, std::vector<Bytes>& parts) {
  auto head = builder_.start<schema::RaftMessage>(128 + message.entries.size() * 16);
  head.setType(to_wire(message.type));
  head.setTo(message.to);
  head.setFrom(message.from);
  head.setTerm(message.term);
  head.setLogTerm(message.log_term);
  head.setIndex(message.index);
  head.setCommit(message.commit);
  head.setReject(message.reject);
  head.setRejectHint(message.reject_hint);
  head.setContext(message.context);
  head.setForce(message.force);
  if (!message.entries.empty()) {
    auto entries = head.initEntries(static_cast<unsigned>(message.entries.size()));
    for (unsigned i = 0; i < entries.size(); ++i) {
      entries[i].setTerm(message.entries[i].term);
      entries[i].setSize(static_cast<uint32_t>(message.entries[i].payload.size()));
      entries[i].setType(static_cast<uint8_t>(message.entries[i].type));
    }
  }
  if (message.snapshot) write_snapshot(head.initSnapshot(), *message.snapshot);
  const Slice header = builder_.finish();
  std::string bytes;
  bytes.reserve(kFrameBytes + header.size());
  put_le(bytes, static_cast<uint32_t>(header.size() / 8));
  put_le(bytes, uint32_t{0});
  bytes += header;
  parts.push_back(Bytes::take(std::move(bytes)));
  for (const raft::Entry& entry : message.entries)
    if (!entry.payload.empty()) parts.push_back(entry.payload);
}

// An entry's head takes 16 bytes of the message, more than the rounding of its payload.
size_t decoded_size_max(size_t message_bytes) {
  return Slab::rounded(message_bytes);
}

Result<raft::Message> decode_message(Slice bytes, Slab& slab) {
  if (bytes.size() < kFrameBytes) return damaged("it is too short");
  const uint64_t header_bytes = uint64_t{get_le<uint32_t>(bytes.data())} * 8;
  if (header_bytes == 0 || header_bytes > bytes.size() - kFrameBytes)
    return damaged("its header's size is impossible");
  // Where the transport's buffer lies is its own affair; the reader wants words.
  const Bytes header = Bytes::copy(bytes.substr(kFrameBytes, header_bytes));
  try {
    schema::SegmentReader reader(header.slice());
    return read_message(reader.root<schema::RaftMessage>(),
                        bytes.substr(kFrameBytes + header_bytes), slab);
  } catch (const kj::Exception&) {
    return damaged("its header cannot be read");
  }
}

}  // namespace quorate::server
