// SPDX-License-Identifier: Apache-2.0
#include "server/corruption_check.h"

#include <algorithm>

namespace quorate::server {

const char* verdict_name(CorruptionCheck::Verdict verdict) {
  switch (verdict) {
    case CorruptionCheck::Verdict::kNotCompared: return "not_compared";
    case CorruptionCheck::Verdict::kEqual: return "equal";
    case CorruptionCheck::Verdict::kDisputed: return "disputed";
    case CorruptionCheck::Verdict::kDiffers: return "differs";
  }
  return "unknown";
}

std::optional<CorruptionCheck::Round> CorruptionCheck::begin_if_due(
    uint64_t now_ns, raft::Index index, uint64_t hash,
    const std::vector<cluster::Member>& members) {
  if (running_ || now_ns < next_round_ns_) return std::nullopt;
  const bool unsettled = disputed_rounds_ > 0 && disputed_rounds_ < kDisputedRounds;
  const bool retry = !complete_ && (unsettled || now_ns >= now_ns_ + kPatience * interval_ns_);
  if (index == index_ && !retry) return std::nullopt;
  next_round_ns_ = now_ns + interval_ns_;
  Round round{round_ + 1, index, {}};
  members_.clear();
  hashes_.clear();
  for (const cluster::Member& member : members) {
    members_[member.id] = !member.learner;
    if (member.id != self_) round.ask.push_back(member.id);
  }
  // Alone, or not yet a member by its own log: there is nobody to compare with.
  if (round.ask.empty() || round.ask.size() == members.size()) return std::nullopt;
  round_ = round.number;
  running_ = true;
  index_ = index;
  now_ns_ = now_ns;
  hashes_[self_] = hash;
  return round;
}

std::optional<CorruptionCheck::Findings> CorruptionCheck::answered(uint64_t round, uint64_t member,
                                                                   std::optional<uint64_t> hash) {
  if (!running_ || round != round_ || !members_.contains(member)) return std::nullopt;
  hashes_.emplace(member, hash);
  if (hashes_.size() < members_.size()) return std::nullopt;
  running_ = false;
  return judge();
}

void CorruptionCheck::restart() {
  running_ = false;
  complete_ = false;
  index_ = 0;
  disputed_rounds_ = 0;
  verdict_ = Verdict::kNotCompared;
  differs_ = false;
  others_ = {};
  agreeing_.clear();
}

CorruptionCheck::Findings CorruptionCheck::judge() {
  const uint64_t own = *hashes_.at(self_);
  size_t voters = 0, voters_heard = 0;
  std::map<uint64_t, size_t> votes;  // of each hash
  others_ = {};
  complete_ = true;
  bool differ = false;
  for (const auto& [member, has_voice] : members_) {
    const std::optional<uint64_t>& hash = hashes_.at(member);
    if (has_voice) ++voters;
    if (!hash) {
      complete_ = false;
      ++others_.not_compared;
      continue;
    }
    if (has_voice) ++voters_heard, ++votes[*hash];
    if (*hash != own) differ = true;
    if (member != self_) ++(*hash == own ? others_.equal : others_.different);
  }
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });

  Findings findings;
  if (most != votes.end() && most->second > voters / 2) {
    agreeing_.clear();
    for (const auto& [member, has_voice] : members_) {
      const std::optional<uint64_t>& hash = hashes_.at(member);
      if (!hash) continue;
      if (*hash != most->first) findings.minority.push_back(member);
      if (*hash == most->first && has_voice) agreeing_.push_back(member);
    }
    verdict_ = own == most->first ? Verdict::kEqual : Verdict::kDiffers;
    differs_ = verdict_ == Verdict::kDiffers;
    compared_index_ = index_;
    disputed_rounds_ = 0;
  } else if (differ) {
    verdict_ = Verdict::kDisputed;
    compared_index_ = index_;
    findings.dispute = voters_heard == voters || ++disputed_rounds_ >= kDisputedRounds;
  } else {
    verdict_ = Verdict::kNotCompared;
    disputed_rounds_ = 0;
  }
  return findings;
}

}  // namespace quorate::server
