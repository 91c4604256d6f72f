// SPDX-License-Identifier: Apache-2.0
#include "raft/invariants.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "raft/raft.h"
#include "raft/text.h"

namespace quorate::raft {
namespace {

std::string check_log(const Raft& raft) {
  const Log& log = raft.log();
  const bool installing = log.previous().index > log.applied();
  const bool ordered =
      log.applied() <= log.applying() && log.applying() <= std::min(log.commit(), log.stable()) &&
      log.commit() <= log.last_index() && log.stable() <= log.handed() &&
      log.handed() <= log.last_index() && (installing || log.previous().index <= log.applied());
  if (!ordered)
    return fmt::format(
        "node {}: the log's indexes are out of order: previous {} applied {} applying {} commit {} "
        "stable {} handed {} last {}",
        raft.id(), log.previous().index, log.applied(), log.applying(), log.commit(), log.stable(),
        log.handed(), log.last_index());
  if (log.commit() == log.last_index() && log.uncommitted_bytes() != 0)
    return fmt::format("node {}: {} bytes count as uncommitted and nothing is", raft.id(),
                       log.uncommitted_bytes());
  if (!installing && log.applied() == log.applying() && log.applying_bytes() != 0)
    return fmt::format("node {}: {} bytes count as being applied and nothing is", raft.id(),
                       log.applying_bytes());
  if (log.oldest_append() == nullptr && log.in_progress_bytes() != 0)
    return fmt::format("node {}: {} bytes count as in progress and no append is", raft.id(),
                       log.in_progress_bytes());
  return {};
}

std::string check_peer(const Raft& raft, const Progress& peer) {
  const bool replicates = peer.state() == ProgressState::kReplicate;
  const Inflights& inflights = peer.inflights();
  if (peer.match() >= peer.next() || peer.match() > raft.log().last_index() ||
      peer.next() > raft.log().last_index() + 1)
    return fmt::format("node {}: progress of {} has match {} next {} with the log's end at {}",
                       raft.id(), peer.id, peer.match(), peer.next(), raft.log().last_index());
  if ((!replicates && inflights.size() != 0) || (inflights.size() == 0 && inflights.bytes() != 0))
    return fmt::format("node {}: {} messages, {} bytes count as in flight to {} in {}", raft.id(),
                       inflights.size(), inflights.bytes(), peer.id, to_text(peer.state()));
  if ((peer.state() == ProgressState::kSnapshot) != (peer.pending_snapshot() != 0))
    return fmt::format("node {}: {} is in {} with snapshot {} pending", raft.id(), peer.id,
                       to_text(peer.state()), peer.pending_snapshot());
  return {};
}

std::string check_leader(const Raft& raft) {
  const bool leads = raft.role() == Role::kLeader;
  if (leads != (raft.leader() == raft.id()))
    return fmt::format("node {}: is {} and knows {} as leader", raft.id(), to_text(raft.role()),
                       raft.leader());
  std::vector<NodeId> ids;
  for (const Progress& peer : raft.progress()) {
    ids.push_back(peer.id);
    std::string broken = check_peer(raft, peer);
    if (!broken.empty()) return broken;
  }
  if (ids != (leads ? members_of(raft.conf_state()) : std::vector<NodeId>()))
    return fmt::format("node {}: progress is kept of others than the members", raft.id());
  return {};
}

}  // namespace

std::string NodeInvariants::check(const Raft& raft) {
  const HardState now = raft.hard_state();
  const HardState before = std::exchange(hard_state_, now);
  const Index applied = std::exchange(applied_, raft.log().applied());
  const Role role = std::exchange(role_, raft.role());
  const Index last_index = std::exchange(last_index_, raft.log().last_index());
  if (now.term < before.term || now.commit < before.commit || applied_ < applied)
    return fmt::format("node {}: went back from {} applied {} to {} applied {}", raft.id(),
                       to_text(before), applied, to_text(now), applied_);
  if (now.term == before.term && before.vote != 0 && now.vote != before.vote)
    return fmt::format("node {}: voted twice in term {}: for {}, then for {}", raft.id(), now.term,
                       before.vote, now.vote);
  if (now.term == before.term && role == Role::kLeader && raft.role() == Role::kLeader &&
      last_index_ < last_index)
    return fmt::format("node {}: a leader cut its log from {} to {}", raft.id(), last_index,
                       last_index_);
  std::string broken = check_log(raft);
  if (broken.empty()) broken = check_leader(raft);
  return broken;
}

std::string GroupInvariants::check(const Raft& raft) {
  if (raft.role() == Role::kLeader) {
    const auto [known, first] = leaders_.try_emplace(raft.term(), raft.id());
    if (known->second != raft.id())
      return fmt::format("nodes {} and {} both lead in term {}", known->second, raft.id(),
                         raft.term());
    // Leader completeness (paper 5.4.3), when a leader is seen for the first time. The votes of an
    // older term may arrive late, and make a leader that commits nothing.
    if (first && !committed_.empty() && raft.term() > commit_term_) {
      const Entry& newest = committed_.rbegin()->second;
      if (raft.log().previous().index < newest.index && !raft.log().matches(newest.id()))
        return fmt::format("node {} leads in term {} without the committed entry {}", raft.id(),
                           raft.term(), to_text(newest));
    }
  }
  const Log& log = raft.log();
  Index& seen = seen_commit_[raft.id()];
  for (Index i = std::max(seen + 1, log.first_index()); i <= log.commit(); ++i) {
    const Entry& entry = log.entry(i);
    const auto [known, first] = committed_.try_emplace(i, entry);
    if (first && i == committed_.rbegin()->first) commit_term_ = raft.term();
    if (!first && !(known->second == entry))
      return fmt::format("node {} commits {} where another node committed {}", raft.id(),
                         to_text(entry), to_text(known->second));
  }
  seen = std::max(seen, log.commit());
  return {};
}

}  // namespace quorate::raft
