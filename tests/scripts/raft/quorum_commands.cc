// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "raft/quorum.h"
#include "raft/text.h"
#include "scripts/raft/commands.h"

namespace quorate::raft {
namespace {

using script::BadCommand;
using script::Command;

ConfState to_conf_state(const Command& command) {
  ConfState state{command.numbers("voters"), command.numbers("learners"),
                  command.numbers("outgoing"), command.numbers("learners-next"), false};
  for (auto* list : {&state.voters, &state.learners, &state.voters_outgoing, &state.learners_next})
    std::sort(list->begin(), list->end());
  return state;
}

std::string run_committed(const Command& command) {
  std::map<NodeId, Index> acks;
  for (const std::string& ack : command.list("acks")) {
    const size_t colon = ack.find(':');
    acks[script::to_number(ack.substr(0, colon))] = script::to_number(ack.substr(colon + 1));
  }
  const Index index = committed_index(to_conf_state(command), [&](NodeId id) { return acks[id]; });
  return index == std::numeric_limits<Index>::max() ? "all\n" : std::to_string(index) + "\n";
}

std::string run_vote(const Command& command) {
  std::map<NodeId, bool> votes;
  for (NodeId id : command.numbers("yes")) votes[id] = true;
  for (NodeId id : command.numbers("no")) votes[id] = false;
  const VoteResult result =
      vote_result(to_conf_state(command), [&](NodeId id) -> std::optional<bool> {
        const auto vote = votes.find(id);
        return vote == votes.end() ? std::nullopt : std::optional<bool>(vote->second);
      });
  constexpr const char* kNames[] = {"pending\n", "lost\n", "won\n"};
  return kNames[static_cast<size_t>(result)];
}

std::string run_conf_change(const Command& command) {
  const auto next = apply_conf_change(to_conf_state(command), to_conf_change(command, 0));
  return (next ? to_text(*next) : next.error().to_string()) + "\n";
}

}  // namespace

ConfChange to_conf_change(const Command& command, size_t first) {
  ConfChange change;
  const std::string transition = command.text("transition", "auto");
  if (transition == "implicit") change.transition = ConfTransition::kJointImplicit;
  if (transition == "explicit") change.transition = ConfTransition::kJointExplicit;
  for (size_t i = first; i < command.words().size(); ++i) {
    const std::string& word = command.word(i);
    const size_t type = std::string("vrul").find(word[0]);
    if (type == std::string::npos) throw BadCommand("'" + word + "' is none of v1 r1 u1 l1");
    change.steps.push_back({static_cast<ConfChangeType>(type), script::to_number(word.substr(1))});
  }
  return change;
}

bool is_quorum_command(const Command& command) {
  return command.name() == "committed" || command.name() == "vote" ||
         command.name() == "conf-change";
}

std::string run_quorum_command(const Command& command) {
  if (command.name() == "committed") return run_committed(command);
  return command.name() == "vote" ? run_vote(command) : run_conf_change(command);
}

}  // namespace quorate::raft
