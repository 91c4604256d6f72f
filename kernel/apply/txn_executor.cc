// SPDX-License-Identifier: Apache-2.0
#include "apply/txn_executor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "apply/compare.h"
#include "apply/read.h"
#include "apply/results.h"
#include "base/check.h"
#include "lease/lessor.h"
#include "mvcc/record.h"
#include "mvcc/store.h"

namespace quorate::apply {
namespace {

// The store as the apply loop sees it between entries.
class StoreView final : public CompareView {
 public:
  explicit StoreView(mvcc::Store* store) : store_(store) {}

  Result<KeyFacts> key(Slice key, bool with_value) override {
    const mvcc::KeyMeta meta = store_->find(key);
    if (!meta.exists()) return KeyFacts();
    KeyFacts facts{true, meta.version, meta.create_revision, meta.revision.main, meta.lease, {}};
    if (!with_value) return facts;
    const Result<Slice> record = store_->read(meta.revision);
    if (!record) return engine_failed(record.error());
    const Result<mvcc::Record> parsed = mvcc::parse_record(*record);
    if (!parsed) return engine_failed(parsed.error());
    facts.value = parsed->value;
    return facts;
  }
  Result<std::string> runs(Slice key, Slice range_end) override {
    mvcc::RangeQuery query;
    query.range = KeyRange::from_client(key, range_end);
    std::string runs;
    mvcc::WriteTxn txn = store_->begin();
    const Result<mvcc::RangeOutcome> outcome = txn.range(query, 0, runs);
    txn.end();
    if (!outcome) return engine_failed(outcome.error());
    return runs;
  }

 private:
  mvcc::Store* const store_;
};

}  // namespace

Status engine_failed(Status status) {
  return Status(Code::kInternal, "the storage engine failed: " + status.to_string());
}

Status TxnExecutor::check(const PutOp& op) {
  if (op.lease != 0 && !lessor_->exists(op.lease)) {
    return Status(Code::kLeaseNotFound, "there is no lease " + std::to_string(op.lease));
  }
  if ((op.ignore_value || op.ignore_lease) && !store_->find(op.key).exists()) {
    return Status(Code::kKeyNotFound, "the key whose value or lease is to be kept does not exist");
  }
  return Status();
}

Status TxnExecutor::check(const RangeOp& op) const {
  return op.revision == 0 ? Status() : store_->check_revision(op.revision);
}

Result<Choices> TxnExecutor::check(const TxnOp& op) {
  Choices choices;
  QUORATE_TRY(plan(op, choices));
  return choices;
}

Status TxnExecutor::plan(const TxnOp& op, Choices& choices) {
  StoreView view(store_);
  const Result<bool> succeeded = all_hold(view, op.compares);
  QUORATE_TRY(succeeded.status());
  choices.push_back(*succeeded);
  for (const BranchOp& each : *succeeded ? op.success : op.failure) {
    if (const auto* range = std::get_if<RangeOp>(&each)) QUORATE_TRY(check(*range));
    if (const auto* put = std::get_if<PutOp>(&each)) QUORATE_TRY(check(*put));
    if (const auto* txn = std::get_if<std::unique_ptr<TxnOp>>(&each)) {
      QUORATE_TRY(plan(**txn, choices));
    }
  }
  return Status();
}

Status TxnExecutor::kept_value(const mvcc::KeyMeta& meta, std::string& value) {
  const Result<Slice> record = store_->read(meta.revision);
  if (!record) return engine_failed(record.error());
  const Result<mvcc::Record> parsed = mvcc::parse_record(*record);
  if (!parsed) return engine_failed(parsed.error());
  value = parsed->value;
  return Status();
}

Status TxnExecutor::put(mvcc::WriteTxn& txn, const PutOp& op, schema::PutResult::Builder* result) {
  const mvcc::KeyMeta before = txn.find(op.key);
  if (result != nullptr && op.prev_kv && before.exists()) {
    const Result<Slice> record = store_->read(before.revision);
    if (!record) return engine_failed(record.error());
    result->setHasPrev(true);
    result->setPrevKv(to_data(*record));
  }
  std::string kept;
  if (op.ignore_value) QUORATE_TRY(kept_value(before, kept));
  const Slice value = op.ignore_value ? Slice(kept) : op.value;
  const int64_t lease = op.ignore_lease ? before.lease : op.lease;
  txn.put(op.key, value, lease);
  if (before.lease == lease) return Status();
  if (before.lease != 0) lessor_->detach(before.lease, op.key);
  if (lease != 0) lessor_->attach(lease, op.key);
  return Status();
}

Status TxnExecutor::delete_range(mvcc::WriteTxn& txn, const DeleteRangeOp& op,
                                 schema::DeleteRangeResult::Builder* result) {
  std::vector<mvcc::Deleted> deleted;
  txn.delete_range(KeyRange::from_client(op.key, op.range_end), &deleted);
  std::string runs;
  for (const mvcc::Deleted& each : deleted) {
    if (each.previous.lease != 0) lessor_->detach(each.previous.lease, each.key);
    if (result == nullptr || !op.prev_kv) continue;
    const Result<Slice> record = store_->read(each.previous.revision);
    if (!record) return engine_failed(record.error());
    mvcc::append_run(runs, mvcc::kPrevKvsTag, *record);
  }
  if (result == nullptr) return Status();
  result->setDeleted(static_cast<int64_t>(deleted.size()));
  result->setPrevKvs(to_data(runs));
  return Status();
}

Status TxnExecutor::range(mvcc::WriteTxn& txn, const RangeOp& op,
                          schema::RangeResult::Builder* result) {
  if (result == nullptr) return Status();
  const mvcc::RangeQuery query = to_query(op);
  std::string runs;
  // Below 0 and not compacted is a store that never was: then it means now, as outside.
  const Result<mvcc::RangeOutcome> outcome =
      txn.range(query, std::max<int64_t>(op.revision, 0), runs);
  if (!outcome) return engine_failed(outcome.error());
  write_range(*outcome, runs, *result);
  return Status();
}

Status TxnExecutor::run(mvcc::WriteTxn& txn, const TxnOp& op, const Choices& choices,
                        schema::TxnResult::Builder* result) {
  size_t next = 0;
  QUORATE_TRY(run(txn, op, choices, next, result));
  QUORATE_CHECK(next == choices.size(), "a txn ran otherwise than it was checked");
  return Status();
}

Status TxnExecutor::run(mvcc::WriteTxn& txn, const TxnOp& op, const Choices& choices, size_t& next,
                        schema::TxnResult::Builder* result) {
  const bool succeeded = choices.at(next++);
  const auto& branch = succeeded ? op.success : op.failure;
  if (result == nullptr) {
    for (const BranchOp& each : branch) QUORATE_TRY(run(txn, each, choices, next, nullptr));
    return Status();
  }
  result->setSucceeded(succeeded);
  auto responses = result->initResponses(static_cast<unsigned>(branch.size()));
  for (size_t i = 0; i < branch.size(); ++i) {
    schema::OpResult::Builder response = responses[static_cast<unsigned>(i)];
    QUORATE_TRY(run(txn, branch[i], choices, next, &response));
  }
  return Status();
}

Status TxnExecutor::run(mvcc::WriteTxn& txn, const BranchOp& op, const Choices& choices,
                        size_t& next, schema::OpResult::Builder* result) {
  if (const auto* nested = std::get_if<std::unique_ptr<TxnOp>>(&op)) {
    if (result == nullptr) return run(txn, **nested, choices, next, nullptr);
    // The header of a nested transaction is empty.
    auto to = result->initTxn();
    return run(txn, **nested, choices, next, &to);
  }
  Status status;
  if (const auto* each = std::get_if<PutOp>(&op)) {
    if (result == nullptr) return put(txn, *each, nullptr);
    auto to = result->initPut();
    status = put(txn, *each, &to);
  } else if (const auto* del = std::get_if<DeleteRangeOp>(&op)) {
    if (result == nullptr) return delete_range(txn, *del, nullptr);
    auto to = result->initDeleteRange();
    status = delete_range(txn, *del, &to);
  } else if (const auto* read = std::get_if<RangeOp>(&op)) {
    if (result == nullptr) return Status();
    auto to = result->initRange();
    status = range(txn, *read, &to);
  } else {
    QUORATE_CHECK(false, "an empty operation passed validation");
  }
  if (result != nullptr) result->setRevision(txn.revision());
  return status;
}

}  // namespace quorate::apply
