// SPDX-License-Identifier: Apache-2.0
#include "apply/auth_applier.h"

#include <string>

#include "lease/lessor.h"

namespace quorate::apply {
namespace {

class PermissionCheck {
 public:
  PermissionCheck(const auth::AuthStore& auth, const lease::Lessor& lessor,
                  const auth::Identity& who)
      : auth_(auth), lessor_(lessor), who_(who) {}

  Status operator()(std::monostate) const { return Status(); }
  Status operator()(const RangeOp& op) const { return read(op.key, op.range_end); }
  Status operator()(const PutOp& op) const {
    QUORATE_TRY(write(op.key, {}));
    if (op.prev_kv) QUORATE_TRY(read(op.key, {}));
    return op.lease == 0 ? Status() : write_lease(op.lease);
  }
  Status operator()(const DeleteRangeOp& op) const {
    QUORATE_TRY(write(op.key, op.range_end));
    return op.prev_kv ? read(op.key, op.range_end) : Status();
  }
  Status operator()(const std::unique_ptr<TxnOp>& op) const { return (*this)(*op); }
  Status operator()(const TxnOp& op) const {
    for (const CompareOp& each : op.compares) QUORATE_TRY(read(each.key, each.range_end));
    for (const BranchOp& each : op.success) QUORATE_TRY(std::visit(*this, each));
    for (const BranchOp& each : op.failure) QUORATE_TRY(std::visit(*this, each));
    return Status();
  }
  Status operator()(const LeaseRevokeOp& op) const { return write_lease(op.id); }
  Status operator()(const LeaseKeepAliveOp& op) const { return write_lease(op.id); }
  Status operator()(const LeaseTimeToLiveOp& op) const {
    return op.keys ? read_lease(op.id) : auth_.check_user(who_);
  }
  Status operator()(const LeaseListOp&) const {
    QUORATE_TRY(auth_.check_user(who_));
    for (int64_t id : lessor_.list()) QUORATE_TRY(read_lease(id));
    return Status();
  }
  template <typename Op>
  Status operator()(const Op&) const {
    return auth_.check_user(who_);
  }

 private:
  Status read(Slice key, Slice range_end) const {
    return auth_.check_read(who_, KeyRange::from_client(key, range_end));
  }
  Status write(Slice key, Slice range_end) const {
    return auth_.check_write(who_, KeyRange::from_client(key, range_end));
  }
  Status write_lease(int64_t id) const {
    QUORATE_TRY(auth_.check_user(who_));
    for (const std::string& key : lessor_.keys(id)) QUORATE_TRY(write(key, {}));
    return Status();
  }
  Status read_lease(int64_t id) const {
    QUORATE_TRY(auth_.check_user(who_));
    for (const std::string& key : lessor_.keys(id)) QUORATE_TRY(read(key, {}));
    return Status();
  }

  const auth::AuthStore& auth_;
  const lease::Lessor& lessor_;
  const auth::Identity& who_;
};

}  // namespace

Status check_permission(const auth::AuthStore& auth, const lease::Lessor& lessor,
                        const auth::Identity& who, const Request& request) {
  if (!auth.enabled()) return Status();
  if (needs_admin(request)) return auth.check_admin(who);
  if (const auto* op = request.get_if<AuthOp>(); op && op->action == AuthAction::kAuthenticate) {
    return Status();
  }
  return std::visit(PermissionCheck(auth, lessor, who), request.operation());
}

Result<Reply> AuthApplier::apply(const EntryContext& entry, const Request& request) {
  // What the kernel itself proposes has no user.
  if (entry.header.kind == EntryKind::kClient) {
    const auth::Identity who{entry.header.user, entry.header.auth_revision};
    QUORATE_TRY(check_permission(*auth_, *lessor_, who, request));
  }
  return next_->apply(entry, request);
}

}  // namespace quorate::apply
