// SPDX-License-Identifier: Apache-2.0
// What the apply loop does about damage: it compares its state hash with the other members',
// answers when they compare theirs, and stops serving when the others prove it wrong.
#include <algorithm>
#include <string>
#include <utility>

#include "mvcc/state_hash.h"
#include "server/apply_loop.h"
#include "server/internal_entry.h"

namespace quorate::server {
namespace {

constexpr size_t kWaitingMax = 64;
constexpr uint64_t kStepAsideNs = 1'000'000'000;

}  // namespace

// ---------------------------------------------------------------- asked

void ApplyLoop::answer_state_hash(const HashQuestion& question, raft::Index index) {
  if (index > hashes_.last()) {
    if (waiting_hashes_.size() >= kWaitingMax)
      return complete(question.call, Status(Code::kTooManyRequests, "too many wait already"));
    waiting_hashes_.emplace(index, question);
    return;
  }
  const std::optional<uint64_t> hash = hashes_.find(index);
  if (!hash) {
    return complete(question.call,
                    Status(Code::kNotFound, "the state hash at index " + std::to_string(index) +
                                                " is not kept any more"));
  }
  auto answer = builder_.start(parts_.state->header(), loaded_->store->revision())
                    .initMaintenance()
                    .initStateHash();
  answer.setHash(*hash);
  answer.setIndex(index);
  answer.setVersion(mvcc::kStateHashVersion);
  complete(question.call, Code::kOk, builder_.finish());
}

void ApplyLoop::answer_waiting_hashes() {
  while (!waiting_hashes_.empty() && waiting_hashes_.begin()->first <= hashes_.last()) {
    const auto [index, question] = *waiting_hashes_.begin();
    waiting_hashes_.erase(waiting_hashes_.begin());
    answer_state_hash(question, index);
  }
}

// ---------------------------------------------------------------- asking

void ApplyLoop::compare_state(uint64_t now_ns) {
  std::erase_if(waiting_hashes_, [now_ns](const auto& waiting) {
    return waiting.second.deadline_ns <= now_ns;  // its caller has been told
  });
  if (installing_ || failed_ || parts_.state->stopping.load(std::memory_order_relaxed)) return;
  const storage::Applied& applied = loaded_->store->applied();
  const auto round = check_.begin_if_due(now_ns, applied.entry.index, applied.state_hash,
                                         loaded_->members.members());
  if (round) parts_.output->ask_state_hashes(*round);
}

void ApplyLoop::take(StateHashAnswer& event) {
  const auto findings = check_.answered(event.round, event.member, event.hash);
  if (!findings) return;
  StateHashFigures& figures = parts_.state->hashes;
  const CorruptionCheck::Others others = check_.others();
  figures.equal.store(others.equal, std::memory_order_relaxed);
  figures.different.store(others.different, std::memory_order_relaxed);
  figures.not_compared.store(others.not_compared, std::memory_order_relaxed);
  note_findings(*findings);
}

void ApplyLoop::note_findings(const CorruptionCheck::Findings& findings) {
  note_fence();
  for (const uint64_t member : findings.minority) raise_corrupt(member);
  // As in etcd: who is wrong cannot be told, so the alarm names nobody.
  if (findings.dispute) raise_corrupt(0);
}

void ApplyLoop::raise_corrupt(uint64_t member) {
  const std::vector<cluster::Alarm> on = loaded_->alarms.list(cluster::AlarmType::kCorrupt);
  const cluster::Alarm alarm{cluster::AlarmType::kCorrupt, member};
  if (std::find(on.begin(), on.end(), alarm) != on.end()) return;
  if (member != 0 && loaded_->members.find(member) == nullptr) return;
  logger_.error("at applied index {} the data of {} differs: raising CORRUPT",
                check_.compared_index(),
                member == 0 ? "members" : "member " + cluster::id_text(member));
  propose(0, encode_raise_alarm(member, static_cast<int32_t>(alarm.type)));
}

// ---------------------------------------------------------------- what follows

// Fenced: the others proved this member wrong, or said so through the log and it cannot tell
// better (after a restart). Who is alone was named by a person, and goes on as etcd does.
void ApplyLoop::note_fence() {
  using Verdict = CorruptionCheck::Verdict;
  MemberState& state = *parts_.state;
  const Verdict verdict = check_.verdict();
  state.hashes.verdict.store(static_cast<uint32_t>(verdict), std::memory_order_relaxed);
  state.hashes.compared_index.store(check_.compared_index(), std::memory_order_relaxed);
  const std::vector<cluster::Alarm> alarms = loaded_->alarms.list(cluster::AlarmType::kCorrupt);
  const bool named = std::any_of(alarms.begin(), alarms.end(), [&](const cluster::Alarm& alarm) {
    return alarm.member == state.member_id;
  });
  const bool fence = verdict == Verdict::kDiffers ||
                     (named && verdict != Verdict::kEqual && loaded_->members.size() > 1);
  if (state.fenced.exchange(fence, std::memory_order_acq_rel) == fence) return;
  if (!fence) return logger_.warn("this member's data is the others' again: it serves clients");
  logger_.error("{}", fenced_refusal(false).message());
  hub_.close_all(Code::kCorruptCluster);
  for (auto& pull : pulls_) pull.second->close(Code::kCorruptCluster);
}

// A leader answers for leases, and feeds those that lag: one whose data is wrong hands over.
void ApplyLoop::step_aside(uint64_t now_ns) {
  if (!leads_ || !parts_.state->fenced.load(std::memory_order_relaxed)) return;
  if (now_ns - stepped_aside_ns_ < kStepAsideNs) return;
  stepped_aside_ns_ = now_ns;
  const std::vector<uint64_t>& able = check_.agreeing();
  const uint64_t to = able.empty() ? 0 : able[next_successor_++ % able.size()];
  logger_.warn("this member's data is wrong: it hands its leadership over");
  parts_.output->raft(TransferLeader{to});
}

}  // namespace quorate::server
