// SPDX-License-Identifier: Apache-2.0
#include "server/pulls.h"

#include <algorithm>
#include <utility>

#include "apply/read.h"
#include "base/check.h"
#include "server/read_job.h"

namespace quorate::server {

class PullJob final : public Job {
 public:
  explicit PullJob(std::shared_ptr<Pull> pull) : pull_(std::move(pull)) {}
  Next step() override {
    const uint32_t seen = pull_->signals_.load(std::memory_order_acquire);
    if (pull_->work()) return Next::kMore;
    // News that came while it worked were counted on top of `seen`, and must not be slept through.
    return pull_->signals_.fetch_sub(seen, std::memory_order_acq_rel) == seen ? Next::kDone
                                                                              : Next::kMore;
  }

 private:
  const std::shared_ptr<Pull> pull_;
};

Pull::Pull(apply::Request request, quorate_on_piece on_piece, void* user, mvcc::ReadSource source,
           const MemberState* state, Clock* clock, Pool* pool, uint64_t start_deadline_ns,
           std::function<void()> on_end)
    : request_(std::move(request)),
      query_(apply::to_query(*request_.get_if<apply::RangeOp>())),
      on_piece_(on_piece),
      user_(user),
      state_(state),
      clock_(clock),
      pool_(pool),
      start_deadline_ns_(start_deadline_ns),
      on_end_(std::move(on_end)),
      txn_(source) {}

void Pull::kick() {
  if (signals_.fetch_add(1, std::memory_order_acq_rel) == 0)
    pool_->submit(std::make_unique<PullJob>(shared_from_this()));
}

void Pull::add_credit(uint64_t bytes) {
  granted_.fetch_add(bytes, std::memory_order_relaxed);
  kick();
}

void Pull::rewind() {
  rewound_.store(true, std::memory_order_release);
  kick();
}

void Pull::close(Code code) {
  int32_t open = 0;
  closed_.compare_exchange_strong(open, static_cast<int32_t>(code));
  kick();
}

void Pull::end_now(Code code) {
  if (stage_ != Stage::kDone) send_end(code);
}

bool Pull::work() {
  if (stage_ == Stage::kDone) return false;
  if (const int32_t code = closed_.load(std::memory_order_acquire); code != 0) {
    send_end(static_cast<Code>(code));
    return false;
  }
  if (!started_.load(std::memory_order_acquire)) return false;
  if (rewound_.exchange(false, std::memory_order_acq_rel) && stage_ != Stage::kBegin) {
    scan_.emplace(txn_.scan(query_, mvcc::RangeScan::Want::kLengths));
    stage_ = Stage::kMeasure;
    credit_ = 0;
  }
  credit_ += granted_.exchange(0, std::memory_order_relaxed);
  const uint64_t now = clock_->now_ns();
  if (now - rested_ns_ > kRestAfterNs) {
    // A long read must not hold old pages of the engine: at the same revision it goes on.
    txn_.rest();
    rested_ns_ = now;
  }
  return stage_ == Stage::kData ? send_data() : send_head();
}

bool Pull::send_head() {
  if (stage_ == Stage::kBegin) {
    const auto& op = *request_.get_if<apply::RangeOp>();
    if (Status status = txn_.begin(op.revision, clock_->now_ns() + kPullLifeNs); !status.ok()) {
      send_end(status.code());
      return false;
    }
    scan_.emplace(txn_.scan(query_, mvcc::RangeScan::Want::kLengths));
    stage_ = Stage::kMeasure;
  }
  piece_.clear();
  Result<bool> complete = txn_.step(*scan_, piece_, kPullPieceBytes);
  if (!complete) {
    send_end(complete.error().code());
    return false;
  }
  if (!*complete) return true;
  const mvcc::RangeOutcome outcome = scan_->outcome();
  auto range = builder_.start(state_->header(), txn_.current()).initRange();
  range.setCount(outcome.count);
  range.setMore(outcome.more);
  range.setPairs(outcome.pairs);
  range.setKvBytes(outcome.kv_bytes);
  send(QUORATE_PIECE_HEAD, Code::kOk, builder_.finish());
  scan_.emplace(txn_.scan(query_));
  stage_ = Stage::kData;
  return true;
}

bool Pull::send_data() {
  if (credit_ == 0) return false;
  piece_.clear();
  Result<bool> complete = txn_.step(*scan_, piece_, std::min(credit_, kPullPieceBytes));
  if (!complete) {
    send_end(complete.error().code());
    return false;
  }
  if (!piece_.empty()) {
    // A record larger than the credit is given whole; the next piece waits for more.
    credit_ -= std::min<uint64_t>(credit_, piece_.size());
    send(QUORATE_PIECE_DATA, Code::kOk, Bytes::take(std::exchange(piece_, {})));
  }
  if (!*complete) return true;
  send_end(Code::kOk);
  return false;
}

void Pull::send_end(Code code) {
  stage_ = Stage::kDone;
  scan_.reset();
  txn_.end();
  send(QUORATE_PIECE_END, code, {});
  ended_.store(true, std::memory_order_release);
  on_end_();
}

void Pull::send(uint32_t kind, Code code, const Bytes& bytes) {
  const quorate_piece piece{kind, static_cast<quorate_status>(code), bytes.lend()};
  on_piece_(user_, &piece);
}

}  // namespace quorate::server
