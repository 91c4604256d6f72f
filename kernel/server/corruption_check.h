// SPDX-License-Identifier: Apache-2.0
// Whether this member's state is that of the others. In rounds it asks every other member for its
// rolling state hash at one applied index, its own, and judges the answers: entries up to an index
// are the same everywhere, so a hash that differs there is damage.
//
// What is known of a comparison is one of four verdicts, and "not compared" is never taken for
// "equal": a member that did not answer, that is behind, or that no longer knows the hash counts
// for nothing. Who is wrong is known only once a majority of all voters has one and the same hash;
// learners are judged, but have no voice.
//
// Every member does this for itself, so none hangs on the leader's judgement of it. No clock, no
// I/O; owned by the apply loop.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cluster/member.h"
#include "raft/types.h"

namespace quorate::server {

class CorruptionCheck {
 public:
  // The numbers are those of schema::HashVerdict.
  enum class Verdict : uint32_t {
    kNotCompared,  // too few others have answered
    kEqual,        // a majority of the voters has this member's hash
    kDisputed,     // members differ, and no majority agrees
    kDiffers,      // a majority of the voters agrees on another hash
  };
  // An unsettled dispute is given so many rounds for members that do not answer.
  static constexpr int kDisputedRounds = 10;
  // A round is not repeated while nothing was applied; one that lacked answers is, after so many
  // intervals (an unsettled dispute after one).
  static constexpr uint64_t kPatience = 10;

  // A question to each of `ask`; answered() is called once for each of them.
  struct Round {
    uint64_t number = 0;
    raft::Index index = 0;
    std::vector<uint64_t> ask;
  };
  struct Findings {
    std::vector<uint64_t> minority;  // these differ from a majority; sorted
    bool dispute = false;            // members differ, and waiting will not tell who is wrong
  };
  // How the others stood in the last round.
  struct Others {
    uint32_t equal = 0, different = 0, not_compared = 0;
  };

  CorruptionCheck(uint64_t self, uint64_t interval_ns) : self_(self), interval_ns_(interval_ns) {}

  // A round at `index`, whose hash here is `hash`, if one is due and none is under way.
  // members: as of that index, with this one.
  std::optional<Round> begin_if_due(uint64_t now_ns, raft::Index index, uint64_t hash,
                                    const std::vector<cluster::Member>& members);
  // hash: nothing when the member was not heard, or could not tell. The findings, once the last
  // answer of the round is in. An answer to another round is ignored.
  std::optional<Findings> answered(uint64_t round, uint64_t member, std::optional<uint64_t> hash);
  // The state was replaced by a snapshot: what was found of it is void.
  void restart();

  // Of the last round; but once a majority differed, kDiffers until a round finds it equal, or
  // restart().
  Verdict verdict() const { return differs_ ? Verdict::kDiffers : verdict_; }
  raft::Index compared_index() const { return compared_index_; }
  Others others() const { return others_; }
  // Voters that have the hash of the majority, by the last round that found one; sorted.
  const std::vector<uint64_t>& agreeing() const { return agreeing_; }

 private:
  Findings judge();

  const uint64_t self_;
  const uint64_t interval_ns_;
  uint64_t next_round_ns_ = 0;
  uint64_t round_ = 0;
  bool running_ = false;
  raft::Index index_ = 0;                               // of the round
  std::map<uint64_t, bool> members_;                    // of the round: id to "has a voice"
  std::map<uint64_t, std::optional<uint64_t>> hashes_;  // answers, with this member's own
  uint64_t now_ns_ = 0;                                 // when the round began
  bool complete_ = false;                               // the last round lacked no answer
  int disputed_rounds_ = 0;                             // one after the other

  Verdict verdict_ = Verdict::kNotCompared;
  bool differs_ = false;
  raft::Index compared_index_ = 0;
  Others others_;
  std::vector<uint64_t> agreeing_;
};

// "equal", for metrics and the log.
const char* verdict_name(CorruptionCheck::Verdict verdict);

}  // namespace quorate::server
