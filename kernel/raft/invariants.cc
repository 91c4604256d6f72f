// SPDX-License-Identifier: Apache-2.0
#include "raft/invariants.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "raft/raft.h"
#include "raft/text.h"

namespace quorate::raft {
namespace {

// A longer tail is summed up again only when it has become shorter.
constexpr Index kCountedTailMax = 32;

std::string check_order(const Raft& raft) {
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
  if (log.last().term > raft.term())
    return fmt::format("node {}: the log's last term {} is beyond the node's term {}", raft.id(),
                       log.last().term, raft.term());
  return {};
}

std::string check_bytes(const Raft& raft) {
  const Log& log = raft.log();
  if (log.last_index() - log.commit() <= kCountedTailMax) {
    uint64_t bytes = 0;
    for (Index i = log.commit() + 1; i <= log.last_index(); ++i)
      bytes += log.entry(i).payload.size();
    if (bytes != log.uncommitted_bytes())
      return fmt::format("node {}: {} bytes count as uncommitted, {} are", raft.id(),
                         log.uncommitted_bytes(), bytes);
  }
  const bool installing = log.previous().index > log.applied();
  if (!installing && log.applied() == log.applying() && log.applying_bytes() != 0)
    return fmt::format("node {}: {} bytes count as being applied and nothing is", raft.id(),
                       log.applying_bytes());
  if (log.oldest_append() == nullptr && log.in_progress_bytes() != 0)
    return fmt::format("node {}: {} bytes count as in progress and no append is", raft.id(),
                       log.in_progress_bytes());
  return {};
}

// One entry may pass alone that is larger than a limit.
std::string check_limits(const Raft& raft) {
  const Log& log = raft.log();
  const Config& config = raft.config();
  const uint64_t newest = log.newest_append_bytes();
  const uint64_t before = log.in_progress_bytes() - newest;
  if (newest != 0 && before >= config.append_in_progress_bytes_max)
    return fmt::format("node {}: {} bytes were in progress when another append was begun, of {}",
                       raft.id(), before, config.append_in_progress_bytes_max);
  const bool installing = log.previous().index > log.applied();
  if (!installing && log.applying() > log.applied() &&
      log.applying_bytes() > config.committed_bytes_max &&
      log.applying_bytes() != log.entry(log.applying()).payload.size())
    return fmt::format("node {}: {} bytes are being applied, of {}", raft.id(),
                       log.applying_bytes(), config.committed_bytes_max);
  if (log.memory_bytes() <= config.log_memory_bytes_max || log.first_index() > log.applied() ||
      log.last_index() - log.applied() > kCountedTailMax)
    return {};
  uint64_t needed = 0;
  for (Index i = log.applied() + 1; i <= log.last_index(); ++i)
    needed += Log::memory_of(log.entry(i));
  if (log.memory_bytes() > needed + config.log_memory_bytes_max)
    return fmt::format("node {}: {} bytes of the log are in memory, {} of them needed, beside {}",
                       raft.id(), log.memory_bytes(), needed, config.log_memory_bytes_max);
  return {};
}

std::string check_peer(const Raft& raft, const Progress& peer) {
  const bool replicates = peer.state() == ProgressState::kReplicate;
  const Inflights& inflights = peer.inflights();
  if (peer.match() >= peer.next() || peer.match() > raft.log().last_index() ||
      peer.next() > raft.log().last_index() + 1)
    return fmt::format("node {}: progress of {} has match {} next {} with the log's end at {}",
                       raft.id(), peer.id, peer.match(), peer.next(), raft.log().last_index());
  if ((!replicates && inflights.size() != 0) || !inflights.adds_up())
    return fmt::format("node {}: {} messages, {} bytes count as in flight to {} in {}", raft.id(),
                       inflights.size(), inflights.bytes(), peer.id, to_text(peer.state()));
  if (peer.window && peer.window->last().index <= peer.match())
    return fmt::format("node {}: a window for {} ends at {}, which it has acknowledged", raft.id(),
                       peer.id, peer.window->last().index);
  if ((peer.state() == ProgressState::kSnapshot) != (peer.pending_snapshot() != 0))
    return fmt::format("node {}: {} is in {} with snapshot {} pending", raft.id(), peer.id,
                       to_text(peer.state()), peer.pending_snapshot());
  return {};
}

}  // namespace

std::string NodeInvariants::check(const Raft& raft) {
  std::string broken = check_past(raft);
  if (broken.empty()) broken = check_order(raft);
  if (broken.empty()) broken = check_bytes(raft);
  if (broken.empty()) broken = check_limits(raft);
  if (broken.empty()) broken = check_conf(raft);
  if (broken.empty()) broken = check_leader(raft);
  return broken;
}

std::string NodeInvariants::check_past(const Raft& raft) {
  const HardState now = raft.hard_state();
  const HardState before = std::exchange(hard_state_, now);
  const Index applied = std::exchange(applied_, raft.log().applied());
  const Role role = std::exchange(role_, raft.role());
  const Index last_index = std::exchange(last_index_, raft.log().last_index());
  const uint64_t uncommitted = std::exchange(uncommitted_bytes_, raft.log().uncommitted_bytes());
  if (now.term < before.term || now.commit < before.commit || applied_ < applied)
    return fmt::format("node {}: went back from {} applied {} to {} applied {}", raft.id(),
                       to_text(before), applied, to_text(now), applied_);
  if (now.term != before.term) return {};
  if (before.vote != 0 && now.vote != before.vote)
    return fmt::format("node {}: voted twice in term {}: for {}, then for {}", raft.id(), now.term,
                       before.vote, now.vote);
  if (role != Role::kLeader || raft.role() != Role::kLeader) return {};
  if (last_index_ < last_index)
    return fmt::format("node {}: a leader cut its log from {} to {}", raft.id(), last_index,
                       last_index_);
  // That a joint configuration is left is not proposed, and not refused.
  const Log& log = raft.log();
  const bool leaves =
      log.last_index() > log.commit() && log.entry(log.last_index()).type == EntryType::kConfChange;
  const uint64_t limit = raft.config().uncommitted_bytes_max +
                         (leaves ? log.entry(log.last_index()).payload.size() : 0);
  if (now.commit == before.commit && uncommitted != 0 && uncommitted_bytes_ > uncommitted &&
      uncommitted_bytes_ > limit)
    return fmt::format(
        "node {}: a leader took proposals beyond {} bytes that are not committed: {}", raft.id(),
        limit, uncommitted_bytes_);
  if (now.commit > before.commit && raft.log().term(now.commit) != now.term)
    return fmt::format("node {}: a leader in term {} committed {} by an entry of an older term",
                       raft.id(), now.term, now.commit);
  return {};
}

std::string NodeInvariants::check_conf(const Raft& raft) {
  const auto& changes = raft.log().unapplied_conf_changes();
  const bool installing = raft.log().previous().index > raft.log().applied();
  if (!installing && !changes.empty() && changes.front() <= raft.log().applied())
    return fmt::format("node {}: the change of the configuration at {} is applied to {} unheeded",
                       raft.id(), changes.front(), raft.log().applied());
  const bool same = conf_known_ && conf_ == raft.conf_state();
  if (conf_known_ && raft.conf_index() < conf_index_)
    return fmt::format("node {}: the configuration went back from that of {} to that of {}",
                       raft.id(), conf_index_, raft.conf_index());
  if (conf_known_ && raft.conf_index() == conf_index_ && !same)
    return fmt::format("node {}: the configuration of {} became another: {}", raft.id(),
                       conf_index_, to_text(raft.conf_state()));
  conf_known_ = true;
  conf_index_ = raft.conf_index();
  if (same) return {};
  conf_ = raft.conf_state();
  members_ = members_of(conf_);
  return {};
}

std::string NodeInvariants::check_leader(const Raft& raft) const {
  const bool leads = raft.role() == Role::kLeader;
  if (leads != (raft.leader() == raft.id()))
    return fmt::format("node {}: is {} and knows {} as leader", raft.id(), to_text(raft.role()),
                       raft.leader());
  if ((leads || raft.role() == Role::kCandidate) && raft.vote() != raft.id())
    return fmt::format("node {}: is {} in term {} without its own vote", raft.id(),
                       to_text(raft.role()), raft.term());
  const auto& progress = raft.progress();
  const bool of_members =
      !leads ? progress.empty()
             : std::equal(progress.begin(), progress.end(), members_.begin(), members_.end(),
                          [](const Progress& peer, NodeId id) { return peer.id == id; });
  if (!of_members)
    return fmt::format("node {}: progress is kept of others than the members", raft.id());
  for (const Progress& peer : progress) {
    std::string broken = check_peer(raft, peer);
    if (!broken.empty()) return broken;
  }
  return {};
}

std::string GroupInvariants::check(const Raft& raft) {
  Seen& seen = seen_[raft.id()];
  std::string broken = check_leader(raft, seen);
  if (broken.empty()) broken = check_entries(raft, seen);
  if (broken.empty()) broken = check_commits(raft, seen);
  if (broken.empty()) broken = check_conf(raft, seen);
  return broken;
}

std::string GroupInvariants::check_leader(const Raft& raft, Seen& seen) {
  if (raft.role() != Role::kLeader || seen.led == raft.term()) return {};
  seen.led = raft.term();
  const auto [known, first] = leaders_.try_emplace(raft.term(), raft.id());
  if (known->second != raft.id())
    return fmt::format("nodes {} and {} both lead in term {}", known->second, raft.id(),
                       raft.term());
  // Leader completeness (paper 5.4.3), when a leader is seen for the first time. The votes of an
  // older term may arrive late, and make a leader that commits nothing.
  if (!first || committed_.empty() || raft.term() <= commit_term_) return {};
  const Entry& newest = committed_.rbegin()->second;
  if (raft.log().previous().index < newest.index && !raft.log().matches(newest.id()))
    return fmt::format("node {} leads in term {} without the committed entry {}", raft.id(),
                       raft.term(), to_text(newest));
  return {};
}

std::string GroupInvariants::check_entries(const Raft& raft, Seen& seen) {
  const Log& log = raft.log();
  const EntryId checked = std::exchange(seen.last, log.last());
  if (checked == seen.last) return {};
  // What is committed and differs, check_commits() finds.
  const Index known = log.matches(checked) ? checked.index : log.commit();
  for (Index i = std::max(known + 1, log.first_index()); i <= log.last_index(); ++i) {
    const Entry& entry = log.entry(i);
    const Term before = log.term(i - 1).value_or(0);
    const auto [made, first] = made_.try_emplace({i, entry.term}, Made{before, entry});
    if (!first && (made->second.before != before || !(made->second.entry == entry)))
      return fmt::format("node {} holds {} after term {} where another held {} after term {}",
                         raft.id(), to_text(entry), before, to_text(made->second.entry),
                         made->second.before);
  }
  while (made_.size() > kMadeMax) made_.erase(made_.begin());
  return {};
}

std::string GroupInvariants::check_commits(const Raft& raft, Seen& seen) {
  const Log& log = raft.log();
  for (Index i = std::max(seen.commit + 1, log.first_index()); i <= log.commit(); ++i) {
    const Entry& entry = log.entry(i);
    const auto [known, first] = committed_.try_emplace(i, entry);
    if (first && i == committed_.rbegin()->first) commit_term_ = raft.term();
    if (first && entry.type == EntryType::kConfChange) conf_changes_.insert(i);
    if (!first && !(known->second == entry))
      return fmt::format("node {} commits {} where another node committed {}", raft.id(),
                         to_text(entry), to_text(known->second));
  }
  seen.commit = std::max(seen.commit, log.commit());
  return {};
}

// Entries may have left memory before anybody looked.
bool GroupInvariants::knows_committed(Index after, Index last) const {
  const auto known =
      std::distance(committed_.upper_bound(after), committed_.upper_bound(std::max(after, last)));
  return static_cast<Index>(known) == std::max(after, last) - after;
}

// A change may take effect or be refused by apply, but by all members alike.
std::vector<ConfState> GroupInvariants::possible_confs(const ConfState& first, Index after,
                                                       Index last) const {
  std::vector<ConfState> possible{first};
  for (auto i = conf_changes_.upper_bound(after); i != conf_changes_.end() && *i <= last; ++i) {
    const auto decoded = decode_conf_change(committed_.at(*i).payload);
    for (size_t n = possible.size(); decoded && n != 0; --n)
      if (auto next = apply_conf_change(possible[n - 1], decoded->change))
        possible.push_back(std::move(*next));
  }
  return possible;
}

std::string GroupInvariants::check_conf(const Raft& raft, Seen& seen) {
  const Index at = raft.conf_index();
  if (std::exchange(seen.conf_known, true) && std::exchange(seen.conf_index, at) == at) return {};
  seen.conf_index = at;
  const auto above = confs_.upper_bound(at);
  if (above == confs_.begin()) {
    confs_.emplace(at, raft.conf_state());
    return {};
  }
  const auto& [index, conf] = *std::prev(above);
  if (!knows_committed(index, at)) return {};
  const std::vector<ConfState> possible = possible_confs(conf, index, at);
  if (std::find(possible.begin(), possible.end(), raft.conf_state()) == possible.end())
    return fmt::format("node {} has the configuration {} at {}, but that at {} was {}", raft.id(),
                       to_text(raft.conf_state()), at, index, to_text(conf));
  const auto newest = conf_changes_.upper_bound(at);
  if (newest != conf_changes_.begin()) confs_.try_emplace(*std::prev(newest), raft.conf_state());
  return {};
}

}  // namespace quorate::raft
