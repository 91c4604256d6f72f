// SPDX-License-Identifier: Apache-2.0
#include "raft/message.h"

#include <spdlog/fmt/fmt.h>

#include "raft/conf_change.h"
#include "raft/text.h"

namespace quorate::raft {
namespace {

constexpr const char* kTypeNames[] = {
    "MsgHup",           "MsgBeat",           "MsgProp",        "MsgApp",
    "MsgAppResp",       "MsgVote",           "MsgVoteResp",    "MsgSnap",
    "MsgHeartbeat",     "MsgHeartbeatResp",  "MsgUnreachable", "MsgSnapStatus",
    "MsgCheckQuorum",   "MsgTransferLeader", "MsgTimeoutNow",  "MsgReadIndex",
    "MsgReadIndexResp", "MsgPreVote",        "MsgPreVoteResp", "MsgLogLoaded"};
static_assert(std::size(kTypeNames) == static_cast<size_t>(MessageType::kMsgLogLoaded) + 1);

std::string quoted(Slice bytes) {
  std::string text = "\"";
  for (char c : bytes) {
    if (c == '"' || c == '\\') text.push_back('\\');
    if (c >= 0x20 && c < 0x7f) {
      text.push_back(c);
    } else {
      text += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
  }
  return text + "\"";
}

}  // namespace

const char* message_type_name(MessageType type) {
  const auto number = static_cast<size_t>(type);
  return number < std::size(kTypeNames) ? kTypeNames[number] : "MsgUnknown";
}

std::string to_text(const ConfChange& change) {
  std::string text;
  for (const ConfChangeStep& step : change.steps)
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", "vrul"[static_cast<size_t>(step.type)],
                        step.node);
  return text;
}

std::string to_text(const ConfState& state) {
  std::string text = fmt::format("voters=({})", fmt::join(state.voters, " "));
  if (!state.voters_outgoing.empty())
    text += fmt::format("&&({})", fmt::join(state.voters_outgoing, " "));
  if (!state.learners.empty())
    text += fmt::format(" learners=({})", fmt::join(state.learners, " "));
  if (!state.learners_next.empty())
    text += fmt::format(" learners_next=({})", fmt::join(state.learners_next, " "));
  if (state.auto_leave) text += " autoleave";
  return text;
}

std::string to_text(const Entry& entry) {
  if (entry.type == EntryType::kNormal)
    return fmt::format("{}/{} EntryNormal {}", entry.term, entry.index,
                       quoted(entry.payload.slice()));
  const auto decoded = decode_conf_change(entry.payload);
  const std::string change = decoded ? to_text(decoded->change) : quoted(entry.payload.slice());
  return fmt::format("{}/{} EntryConfChangeV2{}{}", entry.term, entry.index,
                     change.empty() ? "" : " ", change);
}

std::string to_text(const SnapshotMeta& snapshot) {
  return fmt::format("Index:{} Term:{} ConfState:{}", snapshot.index, snapshot.term,
                     to_text(snapshot.conf_state));
}

std::string to_text(const HardState& state) {
  std::string text = fmt::format("Term:{}", state.term);
  if (state.vote != 0) text += fmt::format(" Vote:{}", state.vote);
  return text + fmt::format(" Commit:{}", state.commit);
}

const char* to_text(Role role) {
  constexpr const char* kNames[] = {"StateFollower", "StatePreCandidate", "StateCandidate",
                                    "StateLeader"};
  return kNames[static_cast<size_t>(role)];
}

std::string to_text(const Message& message) {
  std::string text =
      fmt::format("{}->{} {} Term:{} Log:{}/{}", message.from, message.to,
                  message_type_name(message.type), message.term, message.log_term, message.index);
  if (message.reject) text += fmt::format(" Rejected (Hint: {})", message.reject_hint);
  if (message.commit != 0) text += fmt::format(" Commit:{}", message.commit);
  if (message.context != 0) text += fmt::format(" Context:{}", message.context);
  if (message.force) text += " Force";
  for (size_t i = 0; i < message.entries.size(); ++i)
    text += (i == 0 ? " Entries:[" : ", ") + to_text(message.entries[i]);
  if (!message.entries.empty()) text += "]";
  if (message.snapshot) text += fmt::format(" Snapshot: {}", to_text(*message.snapshot));
  return text;
}

}  // namespace quorate::raft
