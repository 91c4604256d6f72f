// SPDX-License-Identifier: Apache-2.0
// The reads of one batch of a front-end, on the reader pool: ranges, transactions that only read,
// and hashes. Each reads at a revision of its own, picked when it starts; what is done at the end
// of a step is delivered in one go.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "apply/applier.h"
#include "apply/request.h"
#include "env/env.h"
#include "mvcc/hash.h"
#include "mvcc/read_txn.h"
#include "server/member_state.h"
#include "server/pending.h"

namespace quorate::server {

// How long a read keeps an engine view before it gives it back and takes a new one.
inline constexpr uint64_t kRestAfterNs = 1'000'000'000;
inline constexpr uint64_t kAnswerBytesMax = 1024 * 1024;  // above: kUseRangeOpen

// What a read needs of its server. All outlive the jobs.
struct ReadServices {
  mvcc::ReadSource source;
  const MemberState* state = nullptr;
  PendingCalls* pending = nullptr;
  Clock* clock = nullptr;
};

struct ReadCall {
  uint64_t call = 0;
  uint64_t deadline_ns = 0;
  apply::Request request;  // a range, a read-only transaction, a hash
};

class ReadJob final : public Job {
 public:
  ReadJob(const ReadServices& services, std::vector<ReadCall> calls)
      : services_(services), calls_(std::move(calls)) {}
  Next step() override;

 private:
  // True: the call is answered (a completion was added if it still waited).
  bool advance(ReadCall& call);
  Status read(ReadCall& call, mvcc::ReadTxn& txn);
  bool hash(ReadCall& call, const apply::HashKvOp& op);
  Status hash_engine();
  void answer(const ReadCall& call, const Status& status);
  void answer_with(const PendingCall& waiting, const Status& status);

  const ReadServices services_;
  std::vector<ReadCall> calls_;
  size_t next_ = 0;
  std::unique_ptr<mvcc::HashKv> hash_;  // of calls_[next_], while it runs
  uint64_t rested_ns_ = 0;
  apply::ResponseBuilder builder_;
  std::vector<Completion> completions_;
};

}  // namespace quorate::server
