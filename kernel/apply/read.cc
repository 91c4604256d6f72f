// SPDX-License-Identifier: Apache-2.0
#include "apply/read.h"

#include <limits>
#include <string>
#include <utility>

#include "apply/compare.h"
#include "apply/results.h"
#include "mvcc/record.h"

namespace quorate::apply {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
// The pin of one short read ends with it.
constexpr uint64_t kNoDeadline = std::numeric_limits<uint64_t>::max();

// A pinned revision, for compares.
class PinnedView final : public CompareView {
 public:
  explicit PinnedView(mvcc::ReadTxn& txn) : txn_(txn) {}

  Result<KeyFacts> key(Slice key, bool) override {
    Result<std::optional<Slice>> found = txn_.get(key);
    QUORATE_TRY(found.status());
    if (!found->has_value()) return KeyFacts();
    const Result<mvcc::Record> record = mvcc::parse_record(**found);
    QUORATE_TRY(record.status());
    return KeyFacts{true,          record->version, record->create_revision, record->mod_revision,
                    record->lease, record->value};
  }
  Result<std::string> runs(Slice key, Slice range_end) override {
    mvcc::RangeQuery query;
    query.range = KeyRange::from_client(key, range_end);
    std::string runs;
    QUORATE_TRY(txn_.range(query, runs, kNoLimit).status());
    return runs;
  }

 private:
  mvcc::ReadTxn& txn_;
};

// A range of a read-only transaction; it may name a revision of its own.
Status read_range(mvcc::ReadTxn& txn, const RangeOp& op, std::string& runs,
                  mvcc::RangeOutcome& outcome) {
  if (op.revision < 0 && op.revision < txn.compacted()) {
    return Status(Code::kCompacted, "a range of the txn asks for a compacted revision");
  }
  const mvcc::RangeQuery query = to_query(op);
  mvcc::ReadTxn older(txn.source());
  const bool own = op.revision > 0 && op.revision != txn.at();
  if (own) QUORATE_TRY(older.begin(op.revision, kNoDeadline));
  Result<mvcc::RangeOutcome> read = (own ? older : txn).range(query, runs, kNoLimit);
  QUORATE_TRY(read.status());
  outcome = *read;
  return Status();
}

}  // namespace

mvcc::RangeQuery to_query(const RangeOp& op) {
  mvcc::RangeQuery query;
  query.range = KeyRange::from_client(op.key, op.range_end);
  query.limit = op.limit;
  query.sort_order = static_cast<mvcc::SortOrder>(op.sort_order);
  query.sort_target = static_cast<mvcc::SortTarget>(op.sort_target);
  query.count_only = op.count_only;
  query.min_mod_revision = op.min_mod_revision;
  query.max_mod_revision = op.max_mod_revision;
  query.min_create_revision = op.min_create_revision;
  query.max_create_revision = op.max_create_revision;
  return query;
}

Status answer_range(mvcc::ReadTxn& txn, const RangeOp& op, uint64_t bytes_max,
                    const ReplyHeader& header, ResponseBuilder& to) {
  const mvcc::RangeQuery query = to_query(op);
  std::string runs;
  const Result<mvcc::RangeOutcome> outcome = txn.range(query, runs, bytes_max);
  QUORATE_TRY(outcome.status());
  write_range(*outcome, runs, to.start(header, txn.current(), runs.size() + 64).initRange());
  return Status();
}

Status answer_read_only_txn(mvcc::ReadTxn& txn, const TxnOp& op, const ReplyHeader& header,
                            ResponseBuilder& to) {
  PinnedView view(txn);
  const Result<bool> succeeded = all_hold(view, op.compares);
  QUORATE_TRY(succeeded.status());
  const auto& branch = *succeeded ? op.success : op.failure;
  auto result = to.start(header, txn.current(), 64 * branch.size()).initTxn();
  result.setSucceeded(*succeeded);
  auto responses = result.initResponses(static_cast<unsigned>(branch.size()));
  for (size_t i = 0; i < branch.size(); ++i) {
    std::string runs;
    mvcc::RangeOutcome outcome;
    QUORATE_TRY(read_range(txn, std::get<RangeOp>(branch[i]), runs, outcome));
    auto response = responses[static_cast<unsigned>(i)];
    response.setRevision(txn.at());
    write_range(outcome, runs, response.initRange());
  }
  return Status();
}

}  // namespace quorate::apply
