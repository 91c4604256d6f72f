// SPDX-License-Identifier: Apache-2.0
#include "apply/corrupt_applier.h"

namespace quorate::apply {
namespace {

bool changes_data(const Request& request) {
  return request.get_if<PutOp>() || request.get_if<DeleteRangeOp>() || request.get_if<TxnOp>() ||
         request.get_if<CompactOp>() || request.get_if<LeaseGrantOp>() ||
         request.get_if<LeaseRevokeOp>() || request.get_if<ExpireLeasesOp>() ||
         request.get_if<LeaseCheckpointOp>();
}

}  // namespace

Result<Reply> CorruptApplier::apply(const EntryContext& entry, const Request& request) {
  if (changes_data(request)) {
    return Status(Code::kCorruptCluster,
                  "a member raised the CORRUPT alarm; repair it, then disarm the alarm");
  }
  return next_->apply(entry, request);
}

}  // namespace quorate::apply
