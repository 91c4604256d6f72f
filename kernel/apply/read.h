// SPDX-License-Identifier: Apache-2.0
// Answers to reads, for the reader pool: the same compares and the same ranges as in the log's
// path, at one pinned revision.
#pragma once

#include <cstdint>

#include "apply/applier.h"
#include "apply/request.h"
#include "base/status.h"
#include "mvcc/range.h"
#include "mvcc/read_txn.h"

namespace quorate::apply {

// How a RangeOp becomes a query; the slices are the request's.
mvcc::RangeQuery to_query(const RangeOp& op);

// The whole answer to a range; the caller finishes the builder. kUseRangeOpen when its runs exceed
// bytes_max. REQUIRES: txn was begun at op.revision.
Status answer_range(mvcc::ReadTxn& txn, const RangeOp& op, uint64_t bytes_max,
                    const ReplyHeader& header, ResponseBuilder& to);

// The whole answer to a transaction: its compares see the pinned revision, then the ranges of the
// branch that they choose run. REQUIRES: is_read_only(op), and txn was begun at 0. kCompacted and
// kFutureRevision, as inside any transaction.
Status answer_read_only_txn(mvcc::ReadTxn& txn, const TxnOp& op, const ReplyHeader& header,
                            ResponseBuilder& to);

}  // namespace quorate::apply
