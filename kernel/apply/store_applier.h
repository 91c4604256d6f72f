// SPDX-License-Identifier: Apache-2.0
// The innermost applier: what an entry does to the store, the leases, the alarms, the members and
// the cluster version. Owned by the apply loop.
#pragma once

#include "apply/applier.h"
#include "apply/chain.h"
#include "apply/txn_executor.h"

namespace quorate::apply {

class StoreApplier final : public Applier {
 public:
  explicit StoreApplier(const ChainParts& parts);
  Result<Reply> apply(const EntryContext& entry, const Request& request) override;

 private:
  Result<Reply> run(const EntryContext& entry, const PutOp& op);
  Result<Reply> run(const EntryContext& entry, const DeleteRangeOp& op);
  Result<Reply> run(const EntryContext& entry, const TxnOp& op);
  Result<Reply> run(const EntryContext& entry, const CompactOp& op);
  Result<Reply> run(const EntryContext& entry, const LeaseGrantOp& op);
  Result<Reply> run(const EntryContext& entry, const LeaseRevokeOp& op);
  Result<Reply> run(const EntryContext& entry, const AuthOp& op);
  Result<Reply> run(const EntryContext& entry, const AlarmOp& op);
  Result<Reply> run(const EntryContext& entry, const ExpireLeasesOp& op);
  Result<Reply> run(const EntryContext& entry, const LeaseCheckpointOp& op);
  Result<Reply> run(const EntryContext& entry, const ClusterVersionOp& op);
  Result<Reply> run(const EntryContext& entry, const MemberAttributesOp& op);
  Result<Reply> run(const EntryContext& entry, const RaiseAlarmOp& op);
  Result<Reply> run(const EntryContext& entry, const SimpleTokenOp& op);
  template <typename Op>
  Result<Reply> run(const EntryContext& entry, const Op& op);  // never logged

  Status revoke(int64_t lease);
  bool set_alarm(uint64_t member, int32_t type, bool on);
  schema::Response::Builder start(const EntryContext& entry, size_t bytes_expected = 0);
  Reply empty_reply(const EntryContext& entry);

  const ChainParts parts_;
  TxnExecutor executor_;
  ResponseBuilder response_;
};

}  // namespace quorate::apply
