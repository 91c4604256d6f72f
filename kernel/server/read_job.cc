// SPDX-License-Identifier: Apache-2.0
#include "server/read_job.h"

#include "apply/read.h"

namespace quorate::server {
namespace {

constexpr uint64_t kStepNs = 1'000'000;

}  // namespace

Job::Next ReadJob::step() {
  const uint64_t start = services_.clock->now_ns();
  while (next_ < calls_.size()) {
    if (advance(calls_[next_])) ++next_;
    if (services_.clock->now_ns() - start >= kStepNs) break;
  }
  deliver(completions_);
  return next_ < calls_.size() ? Next::kMore : Next::kDone;
}

bool ReadJob::advance(ReadCall& call) {
  if (const auto* op = call.request.get_if<apply::HashKvOp>()) return hash(call, *op);
  if (call.request.get_if<apply::HashOp>()) {
    answer(call, hash_engine());
    return true;
  }
  mvcc::ReadTxn txn(services_.source);
  answer(call, read(call, txn));
  return true;
}

Status ReadJob::read(ReadCall& call, mvcc::ReadTxn& txn) {
  const apply::ReplyHeader header = services_.state->header();
  if (const auto* op = call.request.get_if<apply::RangeOp>()) {
    QUORATE_TRY(txn.begin(op->revision, call.deadline_ns));
    return apply::answer_range(txn, *op, kAnswerBytesMax, header, builder_);
  }
  const auto* op = call.request.get_if<apply::TxnOp>();
  QUORATE_CHECK(op != nullptr, "a request that is no read came to the reader pool");
  QUORATE_TRY(txn.begin(0, call.deadline_ns));
  return apply::answer_read_only_txn(txn, *op, header, builder_);
}

bool ReadJob::hash(ReadCall& call, const apply::HashKvOp& op) {
  if (!hash_) {
    hash_ = std::make_unique<mvcc::HashKv>(services_.source);
    rested_ns_ = services_.clock->now_ns();
    if (Status status = hash_->begin(op.revision, call.deadline_ns); !status.ok()) {
      hash_.reset();
      answer(call, status);
      return true;
    }
  }
  const Result<bool> complete = hash_->step();
  if (complete && !*complete) {
    if (const uint64_t now = services_.clock->now_ns(); now - rested_ns_ > kRestAfterNs) {
      hash_->rest();
      rested_ns_ = now;
    }
    return false;
  }
  if (complete) {
    const mvcc::HashKvResult& result = hash_->result();
    auto hash = builder_.start(services_.state->header(), result.current_revision)
                    .initMaintenance()
                    .initHash();
    hash.setHash(result.hash);
    hash.setCompactRevision(result.compact_revision);
    hash.setHashRevision(result.hash_revision);
  }
  answer(call, complete.status());
  hash_.reset();
  return true;
}

Status ReadJob::hash_engine() {
  mvcc::ReadTxn txn(services_.source);
  QUORATE_TRY(txn.begin(0, UINT64_MAX));
  const auto& engine = txn.view().engine;
  Result<storage::EngineView> view = engine->view(engine->written_batch());
  if (!view) return view.error();
  const Result<uint32_t> hash = mvcc::hash_engine(*view);
  if (!hash) return hash.error();
  builder_.start(services_.state->header(), txn.current())
      .initMaintenance()
      .initHash()
      .setHash(*hash);
  return Status();
}

void ReadJob::answer(const ReadCall& call, const Status& status) {
  const auto waiting = services_.pending->take(call.call);
  if (!waiting) return;
  const bool fenced = services_.state->fenced.load(std::memory_order_acquire);
  if (fenced && status.ok() && apply::uses_data(call.request))
    return answer_with(*waiting, fenced_refusal(false));
  answer_with(*waiting, status);
}

void ReadJob::answer_with(const PendingCall& waiting, const Status& status) {
  Bytes response =
      status.ok() ? builder_.finish() : error_response(*services_.state, status.message());
  completions_.push_back({waiting.caller, status.code(), std::move(response)});
}

}  // namespace quorate::server
