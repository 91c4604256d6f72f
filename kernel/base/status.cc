// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include "base/check.h"

namespace quorate {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kNotFound: return "not_found";
    case Code::kInvalidArgument: return "invalid_argument";
    case Code::kUnsupported: return "unsupported";
    case Code::kBusy: return "busy";
    case Code::kNoSpace: return "no_space";
    case Code::kCorrupt: return "corrupt";
    case Code::kIoError: return "io_error";
    case Code::kCancelled: return "cancelled";
    case Code::kTimeout: return "timeout";
    case Code::kUnavailable: return "unavailable";
    case Code::kInternal: return "internal";
    case Code::kUnknownOutcome: return "unknown_outcome";
    case Code::kUseRangeOpen: return "use_range_open";
    case Code::kCompacted: return "compacted";
    case Code::kFutureRevision: return "future_revision";
    case Code::kEmptyKey: return "empty_key";
    case Code::kKeyNotFound: return "key_not_found";
    case Code::kValueProvided: return "value_provided";
    case Code::kLeaseProvided: return "lease_provided";
    case Code::kTooManyOps: return "too_many_ops";
    case Code::kDuplicateKey: return "duplicate_key";
    case Code::kInvalidSortOption: return "invalid_sort_option";
    case Code::kInvalidClientApiVersion: return "invalid_client_api_version";
    case Code::kRequestTooLarge: return "request_too_large";
    case Code::kBadMemberUrls: return "bad_member_urls";
    case Code::kUserEmpty: return "user_empty";
    case Code::kRoleEmpty: return "role_empty";
    case Code::kAuthFailed: return "auth_failed";
    case Code::kPermissionNotGiven: return "permission_not_given";
    case Code::kInvalidAuthManagement: return "invalid_auth_management";
    case Code::kAuthOldRevision: return "auth_old_revision";
    case Code::kLeaseTtlTooLarge: return "lease_ttl_too_large";
    case Code::kLeaseNotFound: return "lease_not_found";
    case Code::kLeaseExists: return "lease_exists";
    case Code::kMemberNotFound: return "member_not_found";
    case Code::kMemberExists: return "member_exists";
    case Code::kPeerUrlExists: return "peer_url_exists";
    case Code::kMemberNotLearner: return "member_not_learner";
    case Code::kLearnerNotReady: return "learner_not_ready";
    case Code::kTooManyLearners: return "too_many_learners";
    case Code::kClusterIdMismatch: return "cluster_id_mismatch";
    case Code::kRootUserNotExist: return "root_user_not_exist";
    case Code::kRootRoleNotExist: return "root_role_not_exist";
    case Code::kUserExists: return "user_exists";
    case Code::kUserNotFound: return "user_not_found";
    case Code::kRoleExists: return "role_exists";
    case Code::kRoleNotFound: return "role_not_found";
    case Code::kRoleNotGranted: return "role_not_granted";
    case Code::kPermissionNotGranted: return "permission_not_granted";
    case Code::kAuthNotEnabled: return "auth_not_enabled";
    case Code::kPermissionDenied: return "permission_denied";
    case Code::kInvalidAuthToken: return "invalid_auth_token";
    case Code::kNoPasswordUser: return "no_password_user";
    case Code::kNotLeader: return "not_leader";
    case Code::kBadLeaderTransferee: return "bad_leader_transferee";
    case Code::kTransferTimeout: return "transfer_timeout";
    case Code::kNotCapable: return "not_capable";
    case Code::kNotSupportedForLearner: return "not_supported_for_learner";
    case Code::kDowngradeVersionFormat: return "downgrade_version_format";
    case Code::kDowngradeTarget: return "downgrade_target";
    case Code::kDowngradeInProgress: return "downgrade_in_progress";
    case Code::kNoDowngrade: return "no_downgrade";
    case Code::kNoLeader: return "no_leader";
    case Code::kLeaderChanged: return "leader_changed";
    case Code::kStopped: return "stopped";
    case Code::kTimeoutLeaderFailure: return "timeout_leader_failure";
    case Code::kTimeoutConnectionLost: return "timeout_connection_lost";
    case Code::kTimeoutWaitApply: return "timeout_wait_apply";
    case Code::kUnhealthyCluster: return "unhealthy_cluster";
    case Code::kNotEnoughStarted: return "not_enough_started";
    case Code::kCorruptCluster: return "corrupt_cluster";
    case Code::kTooManyRequests: return "too_many_requests";
    case Code::kQuotaExceeded: return "quota_exceeded";
    case Code::kNotPrimaryLessor: return "not_primary_lessor";
    case Code::kWatchEmptyRange: return "watch_empty_range";
    case Code::kWatchDuplicateId: return "watch_duplicate_id";
    case Code::kDamagedRequest: return "damaged_request";
    case Code::kProposalDropped: return "proposal_dropped";
  }
  return "unknown";
}

Status::Status(Code code, std::string message)
    : rep_(std::make_unique<Rep>(Rep{code, std::move(message)})) {
  QUORATE_CHECK(code != Code::kOk, "a Status with a message cannot be OK");
}

Status::Status(const Status& other)
    : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
  return *this;
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  std::string text(code_name(code()));
  if (!rep_->message.empty()) text.append(": ").append(rep_->message);
  return text;
}

Status Status::with_context(std::string_view context) && {
  if (rep_) rep_->message = std::string(context) + ": " + rep_->message;
  return std::move(*this);
}

}  // namespace quorate
