// SPDX-License-Identifier: Apache-2.0
// What every part of a member may ask of it at any time: a handful of counters, each written by one
// loop and read by all. They are for answers, metrics and early refusals; nothing that is decided
// by the log hangs on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "apply/applier.h"

namespace quorate::server {

// How this member's state compared with the others' in the last round (corruption_check.h).
struct StateHashFigures {
  std::atomic<uint32_t> verdict{0};         // CorruptionCheck::Verdict
  std::atomic<uint64_t> compared_index{0};  // where members were last told equal or different
  std::atomic<uint32_t> equal{0}, different{0}, not_compared{0};  // other members
};

struct MemberState {
  // Fixed before the first loop starts.
  uint64_t cluster_id = 0;
  uint64_t member_id = 0;

  // Raft loop.
  std::atomic<uint64_t> term{0};
  std::atomic<uint64_t> leader{0};
  std::atomic<uint32_t> role{0};  // QUORATE_ROLE_*
  std::atomic<uint64_t> commit{0};
  // Apply loop.
  std::atomic<uint64_t> applied{0};
  std::atomic<int64_t> revision{1};
  std::atomic<uint32_t> alarms{0};  // QUORATE_ALARM_*
  std::atomic<uint64_t> buffered_bytes{0};
  std::atomic<bool> version_decided{false};  // the cluster's
  std::atomic<bool> learner{false};          // this member, by what is applied
  StateHashFigures hashes;
  // This member's data differs from the others': it serves no client.
  std::atomic<bool> fenced{false};
  // Commit loop.
  std::atomic<uint64_t> engine_bytes{0};
  std::atomic<uint64_t> engine_bytes_in_use{0};
  // Any: a write was refused for the quota's sake, so the alarm is due.
  std::atomic<bool> quota_refused{false};
  // Host thread.
  std::atomic<bool> stopping{false};
  std::atomic<bool> ready{false};  // its name and URLs are in the log

  // What the store takes up: the engine's bytes and those on their way to it.
  uint64_t store_bytes() const {
    return engine_bytes.load(std::memory_order_relaxed) +
           buffered_bytes.load(std::memory_order_relaxed);
  }
  apply::ReplyHeader header() const {
    return {cluster_id, member_id, term.load(std::memory_order_relaxed)};
  }
};

// Why a fenced member refuses. forwarded: another member asks, which shall find a better leader.
inline Status fenced_refusal(bool forwarded) {
  return Status(forwarded ? Code::kNotLeader : Code::kCorruptCluster,
                "this member's data differs from the other members'; replace it: remove it from "
                "the cluster, and add it anew with an empty data directory");
}

// The response beside an error. message: where it says more than the code.
inline Bytes error_response(const MemberState& state, std::string_view message = {}) {
  return apply::encode_error(state.header(), state.revision.load(std::memory_order_relaxed),
                             message);
}

}  // namespace quorate::server
