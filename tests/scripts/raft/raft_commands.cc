// SPDX-License-Identifier: Apache-2.0
#include <spdlog/fmt/fmt.h>

#include "raft/text.h"
#include "scripts/raft/commands.h"
#include "support/raft_group/raft_group.h"

namespace quorate::raft {
namespace {

using script::BadCommand;
using script::Command;

template <typename List>
void put_lines(std::string& text, const char* title, const List& list) {
  if (list.empty()) return;
  text += fmt::format("  {}:\n", title);
  for (const auto& item : list) text += "    " + to_text(item) + "\n";
}

std::string describe(NodeId id, const Ready& ready) {
  std::string text = fmt::format("{}: Ready\n", id);
  if (ready.soft_state)
    text += fmt::format("  SoftState: Leader:{} {}\n", ready.soft_state->leader,
                        to_text(ready.soft_state->role));
  put_lines(text, "Messages", ready.messages);
  const Append& append = ready.append;
  if (!append.empty())
    text += fmt::format("  Append {}{}{}\n", append.sequence, append.must_sync ? " MustSync" : "",
                        append.hard_state ? " HardState " + to_text(*append.hard_state) : "");
  if (append.snapshot) text += fmt::format("  Snapshot: {}\n", to_text(*append.snapshot));
  put_lines(text, "Entries", append.entries);
  if (!append.replies.empty()) text += "  Replies:\n";
  for (const std::string& reply : append.replies.texts()) text += "    " + reply + "\n";
  put_lines(text, "Committed", ready.committed);
  for (const ReadState& read : ready.read_states)
    text += fmt::format("  ReadState: request {} {}\n", read.request,
                        read.ok ? fmt::format("at index {}", read.index) : "refused");
  for (const LogWindow& window : ready.load)
    text += fmt::format("  Load: for {} from {}\n", window.peer, window.first);
  return text;
}

std::string describe_peer(const Progress& peer) {
  std::string text = fmt::format("{}: {} match={} next={}", peer.id, to_text(peer.state()),
                                 peer.match(), peer.next());
  if (peer.learner) text += " learner";
  if (peer.paused()) text += " paused";
  if (peer.pending_snapshot() != 0) text += fmt::format(" snapshot={}", peer.pending_snapshot());
  const Inflights& inflights = peer.inflights();
  if (inflights.size() != 0)
    text += fmt::format(" inflight={} of {} bytes", inflights.size(), inflights.bytes());
  if (!peer.recent_active) text += " inactive";
  return text + "\n";
}

class RaftHandler : public script::Handler {
 public:
  RaftHandler() {
    group_.on_ready = [this](NodeId id, const Ready& ready) { text_ += describe(id, ready); };
  }

  std::string run(const Command& command) override {
    if (is_quorum_command(command)) return run_quorum_command(command);
    const auto found = commands_.find(command.name());
    if (found == commands_.end()) throw BadCommand("there is no such command");
    text_.clear();
    (this->*found->second)(command);
    return text_.empty() ? "ok\n" : text_;
  }

 private:
  using Run = void (RaftHandler::*)(const Command&);
  static const std::map<std::string, Run> commands_;

  void add_nodes(const Command& command) {
    Config config;
    config.election_ticks = static_cast<int>(command.number("election-ticks", 10));
    config.pre_vote = command.flag("pre-vote", true);
    config.check_quorum = command.flag("check-quorum", true);
    config.lease_reads = command.flag("lease-reads", false);
    config.append_bytes_max = command.number("append-bytes", 1 << 20);
    config.inflight_messages_max = command.number("inflight", 256);
    config.inflight_bytes_max = command.number("inflight-bytes", 16 << 20);
    config.uncommitted_bytes_max = command.number("uncommitted-bytes", 64 << 20);
    config.append_in_progress_bytes_max = command.number("in-progress-bytes", 16 << 20);
    config.committed_bytes_max = command.number("committed-bytes", 16 << 20);
    config.log_memory_bytes_max = command.number("log-memory", 64 << 20);
    ConfState state;
    for (NodeId id = 1; id <= command.number(0); ++id) state.voters.push_back(id);
    state.learners = command.numbers("learners");
    const uint64_t all = state.voters.size() + state.learners.size() + command.number("more", 0);
    for (NodeId id = 1; id <= all; ++id) {
      config.id = id;
      group_.add_node(config, state, command.number("index", 0));
    }
  }

  void at(const Command& command, const std::function<void(RawNode&)>& what) {
    group_.event(command.number(0), what);
  }
  void campaign(const Command& command) {
    at(command, [](RawNode& node) { node.campaign(); });
  }
  void elect(const Command& command) {
    group_.elect(command.number(0));
    text_.clear();
  }
  void settle(const Command& command) {
    if (command.words().empty()) {
      group_.stabilize();
    } else {
      stabilize(command);
    }
    text_.clear();
  }
  void log_is(const Command& command) {
    const std::vector<Term> terms = command.numbers("terms");
    group_.set_log(command.number(0), terms, command.number("term", terms.back()),
                   command.number("commit", 0));
  }
  void tick(const Command& command) {
    const uint64_t passed = command.number("passed", 1);
    for (uint64_t i = command.words().size() > 1 ? command.number(1) : 1; i != 0; --i)
      at(command, [&](RawNode& node) { node.tick(passed); });
  }
  void run_ticks(const Command& command) {
    group_.run(static_cast<int>(command.number(0)));
    text_.clear();
  }
  // Until it campaigns, which is after one to two election timeouts.
  void tick_election(const Command& command) {
    const NodeId id = command.number(0);
    for (int i = 0; i < 1000 && group_.raft(id).role() == Role::kFollower; ++i) group_.tick(id);
  }
  void say(const Status& status) { text_ = status.to_string() + "\n"; }
  void propose(const Command& command) { say(group_.propose(command.number(0), command.word(1))); }
  void propose_conf_change(const Command& command) {
    say(group_.propose_conf_change(command.number(0), to_conf_change(command, 1)));
  }
  void read_index(const Command& command) {
    at(command, [&](RawNode& node) { node.read_index(command.number(1)); });
  }
  void transfer_leader(const Command& command) {
    at(command, [&](RawNode& node) { node.transfer_leader(command.number(1)); });
  }
  void report_unreachable(const Command& command) {
    at(command, [&](RawNode& node) { node.report_unreachable(command.number(1)); });
  }
  void report_reset(const Command& command) {
    at(command, [&](RawNode& node) { node.report_peer_reset(command.number(1)); });
  }
  void report_connected(const Command& command) {
    at(command, [&](RawNode& node) { node.report_peer_connected(command.number(1)); });
  }

  void process_ready(const Command& command) {
    if (group_.node(command.number(0)).has_ready()) {
      group_.process_ready(command.number(0));
    } else {
      text_ = "nothing is ready\n";
    }
  }
  void done(bool any) {
    if (!any) text_ = "nothing waits\n";
  }
  void process_append(const Command& command) { done(group_.process_append(command.number(0))); }
  void process_apply(const Command& command) { done(group_.process_apply(command.number(0))); }
  void process_load(const Command& command) { done(group_.process_load(command.number(0))); }
  void process_snapshot(const Command& command) {
    const NodeId id = command.number(0);
    if (command.flag("keep", false)) group_.repeat_snapshot(id);
    done(group_.process_snapshot(id, !command.flag("lost", false), command.flag("report", true)));
  }
  void report_snapshot(const Command& command) {
    const auto status =
        command.flag("arrived", true) ? SnapshotStatus::kFinished : SnapshotStatus::kFailed;
    at(command, [&](RawNode& node) { node.report_snapshot(command.number(1), status); });
  }

  void deliver(const Command& command) {
    const NodeId to = command.number(0);
    const NodeId from = command.number("from", 0);
    const std::string type = command.text("type", "");
    const bool drop = command.flag("drop", false);
    const bool keep = command.flag("keep", false);
    uint64_t skip = command.number("skip", 0);
    uint64_t count = command.number("count", 1000);
    auto& network = group_.network();
    size_t i = 0;
    for (size_t left = network.size(); left != 0 && count != 0; --left) {
      const Message& message = network[i];
      const bool chosen = message.to == to && (from == 0 || message.from == from) &&
                          (type.empty() || type == message_type_name(message.type));
      if (!chosen || skip != 0) {
        skip -= chosen ? 1 : 0;
        ++i;
        continue;
      }
      --count;
      if (keep) network.push_back(message);
      text_ += (drop ? "dropped: " : "") + to_text(message) + "\n";
      if (drop) {
        network.erase(network.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        group_.deliver(i);
      }
    }
    done(!text_.empty());
  }

  bool deliver_to(NodeId id) {
    bool any = false;
    for (size_t i = 0; i < group_.network().size();) {
      const Message& message = group_.network()[i];
      if (message.to != id) {
        ++i;
        continue;
      }
      text_ += to_text(message) + "\n";
      group_.deliver(i);
      any = true;
    }
    return any;
  }

  void stabilize(const Command& command) {
    std::vector<NodeId> ids = group_.ids();
    if (!command.words().empty()) ids.clear();
    for (size_t i = 0; i < command.words().size(); ++i) ids.push_back(command.number(i));
    for (bool moved = true; moved;) {
      moved = false;
      for (NodeId id : ids) moved = deliver_to(id) || moved;
      for (NodeId id : ids)
        if (group_.running(id)) moved = work(id) || moved;
    }
  }
  bool work(NodeId id) {
    bool any = false;
    while (group_.node(id).has_ready()) any = (group_.process_ready(id), true);
    while (group_.process_append(id)) any = true;
    while (group_.process_apply(id)) any = true;
    while (group_.process_load(id)) any = true;
    while (group_.process_snapshot(id)) any = true;
    return any;
  }

  void cut(const Command& command) { group_.cut(command.number(0), command.number(1)); }
  void mend(const Command& command) { group_.mend(command.number(0), command.number(1)); }
  void isolate(const Command& command) { group_.isolate(command.number(0)); }
  void rejoin(const Command& command) { group_.rejoin(command.number(0)); }
  void crash(const Command& command) { group_.crash(command.number(0), command.number("kept", 0)); }
  void restart(const Command& command) { group_.restart(command.number(0)); }
  void persist(const Command& command) { group_.persist_engine(command.number(0)); }
  void release_wal(const Command& command) {
    group_.release_wal(command.number(0), command.number(1));
  }

  void raft_state(const Command&) {
    for (NodeId id : group_.ids()) {
      if (!group_.running(id)) {
        text_ += fmt::format("{}: down\n", id);
        continue;
      }
      const Raft& raft = group_.raft(id);
      text_ += fmt::format("{}: {} {} leader={} applied={} {}\n", id, to_text(raft.role()),
                           to_text(raft.hard_state()), raft.leader(), raft.log().applied(),
                           to_text(raft.conf_state()));
    }
  }
  void status(const Command& command) {
    for (const Progress& peer : group_.raft(command.number(0)).progress())
      text_ += describe_peer(peer);
    if (text_.empty()) text_ = "no leader\n";
  }
  void sizes(const Command& command) {
    const Log& log = group_.raft(command.number(0)).log();
    text_ = fmt::format("uncommitted {} in progress {} applying {} bytes\n",
                        log.uncommitted_bytes(), log.in_progress_bytes(), log.applying_bytes());
  }
  void raft_log(const Command& command) {
    const Log& log = group_.raft(command.number(0)).log();
    text_ = fmt::format("after {}/{}, commit {}, stable {}\n", log.previous().term,
                        log.previous().index, log.commit(), log.stable());
    for (Index i = log.first_index(); i <= log.last_index(); ++i)
      text_ += to_text(log.entry(i)) + "\n";
  }

  RaftGroup group_;
  std::string text_;
};

const std::map<std::string, RaftHandler::Run> RaftHandler::commands_ = {
    {"add-nodes", &RaftHandler::add_nodes},
    {"campaign", &RaftHandler::campaign},
    {"elect", &RaftHandler::elect},
    {"settle", &RaftHandler::settle},
    {"log-is", &RaftHandler::log_is},
    {"tick", &RaftHandler::tick},
    {"run", &RaftHandler::run_ticks},
    {"tick-election", &RaftHandler::tick_election},
    {"propose", &RaftHandler::propose},
    {"propose-conf-change", &RaftHandler::propose_conf_change},
    {"read-index", &RaftHandler::read_index},
    {"transfer-leader", &RaftHandler::transfer_leader},
    {"report-unreachable", &RaftHandler::report_unreachable},
    {"report-reset", &RaftHandler::report_reset},
    {"report-connected", &RaftHandler::report_connected},
    {"process-ready", &RaftHandler::process_ready},
    {"process-append", &RaftHandler::process_append},
    {"process-apply", &RaftHandler::process_apply},
    {"process-load", &RaftHandler::process_load},
    {"process-snapshot", &RaftHandler::process_snapshot},
    {"report-snapshot", &RaftHandler::report_snapshot},
    {"deliver-msgs", &RaftHandler::deliver},
    {"stabilize", &RaftHandler::stabilize},
    {"cut", &RaftHandler::cut},
    {"mend", &RaftHandler::mend},
    {"isolate", &RaftHandler::isolate},
    {"rejoin", &RaftHandler::rejoin},
    {"crash", &RaftHandler::crash},
    {"restart", &RaftHandler::restart},
    {"persist", &RaftHandler::persist},
    {"release-wal", &RaftHandler::release_wal},
    {"raft-state", &RaftHandler::raft_state},
    {"status", &RaftHandler::status},
    {"sizes", &RaftHandler::sizes},
    {"raft-log", &RaftHandler::raft_log},
};

}  // namespace

std::unique_ptr<script::Handler> make_raft_handler() {
  return std::make_unique<RaftHandler>();
}

}  // namespace quorate::raft
