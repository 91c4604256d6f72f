// SPDX-License-Identifier: Apache-2.0
// Proposals, MsgApp, heartbeats and the commit rule (paper 5.3, 5.4.2).
#include <algorithm>

#include "base/check.h"
#include "raft/raft.h"

namespace quorate::raft {
namespace {

constexpr uint64_t kWindowBytesMax = 4 << 20;  // read from the WAL for a laggard at a time

Status dropped(const char* why) {
  return Status(Code::kProposalDropped, std::string("the proposal was dropped: ") + why);
}

}  // namespace

Status Raft::admit(uint64_t bytes) const {
  if (transferee_ != 0) return dropped("leadership is being transferred, try again");
  if (log_.uncommitted_bytes() != 0 &&
      log_.uncommitted_bytes() + bytes > config_.uncommitted_bytes_max)
    return dropped("too much waits to be committed, try again later");
  return {};
}

Status Raft::propose(std::span<const Bytes> payloads) {
  if (role_ == Role::kLeader) {
    uint64_t bytes = 0;
    for (const Bytes& payload : payloads) bytes += payload.size();
    QUORATE_TRY(admit(bytes));
    for (const Bytes& payload : payloads) log_.append(term_, EntryType::kNormal, payload);
    replicate_due_ = true;
    return {};
  }
  std::vector<Entry> entries;
  entries.reserve(payloads.size());
  for (const Bytes& payload : payloads) entries.push_back({0, 0, EntryType::kNormal, payload});
  return forward_proposal(std::move(entries));
}

Status Raft::forward_proposal(std::vector<Entry>&& entries) {
  if (leader_ == 0) return dropped("no leader is known, try again");
  Message message = message_to(leader_, MessageType::kMsgProp);
  message.term = 0;
  message.entries = std::move(entries);
  send(std::move(message));
  return {};
}

Status Raft::append_proposal(std::vector<Entry>&& entries) {
  uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.payload.size();
  QUORATE_TRY(admit(bytes));
  for (Entry& entry : entries) {
    // Thesis 4.1: one change at a time. The entry keeps its place, without effect.
    if (entry.type == EntryType::kConfChange && !may_take_conf_change(entry.payload)) {
      log_.append(term_, EntryType::kNormal, {});
    } else {
      log_.append(term_, entry.type, std::move(entry.payload));
    }
  }
  replicate_due_ = true;
  return {};
}

void Raft::replicate_all() {
  for (Progress& peer : progress_)
    while (replicate_once(peer)) {
    }
}

bool Raft::wants_append(const Progress& peer) const {
  if (peer.id == config_.id) return false;
  if (peer.paused()) return peer.append_due && peer.may_ask();
  return peer.append_due || peer.state() == ProgressState::kProbe ||
         peer.next() <= log_.last_index() ||
         std::min(log_.commit(), peer.next() - 1) > peer.told_commit();
}

std::optional<EntryId> Raft::place_of(const Progress& peer) const {
  const Index previous = peer.next() - 1;
  if (const std::optional<Term> term = log_.term(previous)) return EntryId{*term, previous};
  if (!peer.window || previous < peer.window->previous.index ||
      previous > peer.window->last().index)
    return std::nullopt;
  if (previous == peer.window->previous.index) return peer.window->previous;
  return peer.window->entries[previous - peer.window->previous.index - 1].id();
}

uint64_t Raft::copy_for(const Progress& peer, std::vector<Entry>& to) const {
  if (peer.next() >= log_.first_index())
    return log_.copy(peer.next(), log_.last_index(), config_.append_bytes_max, to);
  const std::vector<Entry>& loaded = peer.window->entries;
  uint64_t bytes = 0;
  for (size_t i = peer.next() - peer.window->previous.index - 1; i < loaded.size(); ++i) {
    if (!to.empty() && bytes + loaded[i].payload.size() > config_.append_bytes_max) break;
    bytes += loaded[i].payload.size();
    to.push_back(loaded[i]);
  }
  return bytes;
}

bool Raft::replicate_once(Progress& peer) {
  if (!wants_append(peer)) return false;
  const std::optional<EntryId> before = place_of(peer);
  const bool window_ends =
      before && peer.next() < log_.first_index() && before->index == peer.window->last().index;
  if (!before || (window_ends && !peer.append_due)) {
    ask_for_window(peer);
    return false;
  }
  Message message = message_to(peer.id, MessageType::kMsgApp);
  message.log_term = before->term;
  message.index = before->index;
  message.commit = log_.commit();
  const uint64_t bytes = peer.paused() ? 0 : copy_for(peer, message.entries);
  const size_t entries = message.entries.size();
  peer.append_due = false;
  peer.sent(entries, bytes, message.commit);
  send(std::move(message));
  return entries != 0;
}

void Raft::ask_for_window(Progress& peer) {
  const bool unacknowledged = peer.window && place_of(peer);
  if (peer.load_asked || unacknowledged) return;
  peer.window.reset();
  peer.load_asked = true;
  load_.push_back({peer.id, peer.next(), kWindowBytesMax});
}

void Raft::handle_log_loaded(Message& message) {
  Progress* peer = find(message.from);
  if (peer == nullptr || !peer->load_asked) return;
  peer->load_asked = false;
  if (peer->state() == ProgressState::kSnapshot) return;
  if (message.reject || message.entries.empty()) {
    send_snapshot(*peer);
    return;
  }
  // Only what has left memory is sure to be committed; the file may hold more, which can be cut.
  while (!message.entries.empty() && message.entries.back().index > log_.previous().index)
    message.entries.pop_back();
  replicate_due_ = true;
  // It may have acknowledged all of it meanwhile: a window that nothing would ever take away.
  if (message.index + message.entries.size() <= peer->match()) return;
  peer->window = LogSlice{{message.log_term, message.index}, std::move(message.entries)};
}

void Raft::handle_append(Message& message) {
  Message reply = message_to(message.from, MessageType::kMsgAppResp);
  const EntryId before{message.log_term, message.index};
  const Index last_new = message.index + message.entries.size();
  if (before.index < log_.commit()) {
    reply.index = log_.commit();
  } else if (log_.follow(before, std::move(message.entries))) {
    log_.commit_to(std::min(message.commit, last_new));
    reply.index = last_new;
  } else {
    // The leader can skip all terms above its own at this place, and we can skip ours.
    const EntryId hint = log_.last_not_above(before.index, before.term);
    reply.index = before.index;
    reply.reject = true;
    reply.reject_hint = hint.index;
    reply.log_term = hint.term;
  }
  reply_when_durable(std::move(reply));
}

void Raft::handle_append_reply(const Message& message) {
  Progress* peer = find(message.from);
  if (peer == nullptr) return;
  if (message.index > log_.last_index()) {
    config_.logger.warn("dropped {} from {}: index {} is beyond the log's end {}",
                        message_type_name(message.type), message.from, message.index,
                        log_.last_index());
    return;
  }
  peer->recent_active = true;
  if (message.reject) {
    Index hint = message.reject_hint;
    if (message.log_term != 0 && hint > log_.previous().index)
      hint = log_.last_not_above(hint, message.log_term).index;
    if (peer->refused(message.index, hint)) replicate_due_ = true;
    return;
  }
  const bool news = peer->acknowledged(message.index);
  if (peer->state() == ProgressState::kProbe && peer->match() == message.index)
    peer->become_replicate();
  else if (peer->state() == ProgressState::kSnapshot && news &&
           peer->match() >= std::min(log_.previous().index, peer->pending_snapshot()))
    peer->become_replicate();
  replicate_due_ = true;
  if (!news) return;
  maybe_commit();
  maybe_finish_transfer(*peer);
}

bool Raft::maybe_commit() {
  const Index index = committed_index(conf_, [this](NodeId id) {
    const Progress* peer = find(id);
    return peer == nullptr ? 0 : peer->match();
  });
  // Raft thesis 3.6.2: never count replicas of an older term.
  if (index < term_start_ || !log_.commit_to(index)) return false;
  replicate_due_ = true;
  return true;
}

void Raft::send_heartbeats(RequestId context) {
  for (const Progress& peer : progress_) {
    if (peer.id == config_.id) continue;
    Message message = message_to(peer.id, MessageType::kMsgHeartbeat);
    // A member may not hear of a commit that it has not got.
    message.commit = std::min(peer.match(), log_.commit());
    message.context = context;
    send(std::move(message));
  }
}

void Raft::handle_heartbeat(const Message& message) {
  log_.commit_to(message.commit);
  Message reply = message_to(message.from, MessageType::kMsgHeartbeatResp);
  reply.context = message.context;
  // It promises nothing that a crash could take back: only that no higher term was seen before.
  send(std::move(reply));
}

void Raft::handle_heartbeat_reply(const Message& message) {
  Progress* peer = find(message.from);
  if (peer == nullptr) return;
  peer->recent_active = true;
  peer->unpause_probe();
  // Its log may lack what was lost on the way: an empty MsgApp finds out.
  if (peer->match() < log_.last_index() || peer->state() == ProgressState::kProbe) {
    peer->append_due = true;
    replicate_due_ = true;
  }
  acknowledge_read(message.from, message.context);
}

void Raft::report_unreachable(NodeId id) {
  Progress* peer = find(id);
  if (peer != nullptr && peer->state() == ProgressState::kReplicate) peer->become_probe();
}

}  // namespace quorate::raft
