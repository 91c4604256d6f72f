// SPDX-License-Identifier: Apache-2.0
// What a call that can fail returns. A Status is one pointer, null when OK; a failed one carries a
// code from the one list of codes and a sentence for the person who reads it. Values are copied
// freely and belong to one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quorate/abi.h"

namespace quorate {

// The codes of schemas/api.capnp and interfaces/quorate/abi.h; tests hold the three together.
enum class Code : quorate_status {
  kOk = QUORATE_OK,
  kNotFound = QUORATE_NOT_FOUND,
  kInvalidArgument = QUORATE_INVALID_ARGUMENT,
  kUnsupported = QUORATE_UNSUPPORTED,
  kBusy = QUORATE_BUSY,
  kNoSpace = QUORATE_NO_SPACE,
  kCorrupt = QUORATE_CORRUPT,
  kIoError = QUORATE_IO_ERROR,
  kCancelled = QUORATE_CANCELLED,
  kTimeout = QUORATE_TIMEOUT,
  kUnavailable = QUORATE_UNAVAILABLE,
  kInternal = QUORATE_INTERNAL,
  kUnknownOutcome = QUORATE_UNKNOWN_OUTCOME,
  kUseRangeOpen = QUORATE_USE_RANGE_OPEN,
  kCompacted = QUORATE_COMPACTED,
  kFutureRevision = QUORATE_FUTURE_REVISION,
  kEmptyKey = QUORATE_EMPTY_KEY,
  kKeyNotFound = QUORATE_KEY_NOT_FOUND,
  kValueProvided = QUORATE_VALUE_PROVIDED,
  kLeaseProvided = QUORATE_LEASE_PROVIDED,
  kTooManyOps = QUORATE_TOO_MANY_OPS,
  kDuplicateKey = QUORATE_DUPLICATE_KEY,
  kInvalidSortOption = QUORATE_INVALID_SORT_OPTION,
  kInvalidClientApiVersion = QUORATE_INVALID_CLIENT_API_VERSION,
  kRequestTooLarge = QUORATE_REQUEST_TOO_LARGE,
  kBadMemberUrls = QUORATE_BAD_MEMBER_URLS,
  kUserEmpty = QUORATE_USER_EMPTY,
  kRoleEmpty = QUORATE_ROLE_EMPTY,
  kAuthFailed = QUORATE_AUTH_FAILED,
  kPermissionNotGiven = QUORATE_PERMISSION_NOT_GIVEN,
  kInvalidAuthManagement = QUORATE_INVALID_AUTH_MANAGEMENT,
  kAuthOldRevision = QUORATE_AUTH_OLD_REVISION,
  kLeaseTtlTooLarge = QUORATE_LEASE_TTL_TOO_LARGE,
  kLeaseNotFound = QUORATE_LEASE_NOT_FOUND,
  kLeaseExists = QUORATE_LEASE_EXISTS,
  kMemberNotFound = QUORATE_MEMBER_NOT_FOUND,
  kMemberExists = QUORATE_MEMBER_EXISTS,
  kPeerUrlExists = QUORATE_PEER_URL_EXISTS,
  kMemberNotLearner = QUORATE_MEMBER_NOT_LEARNER,
  kLearnerNotReady = QUORATE_LEARNER_NOT_READY,
  kTooManyLearners = QUORATE_TOO_MANY_LEARNERS,
  kClusterIdMismatch = QUORATE_CLUSTER_ID_MISMATCH,
  kRootUserNotExist = QUORATE_ROOT_USER_NOT_EXIST,
  kRootRoleNotExist = QUORATE_ROOT_ROLE_NOT_EXIST,
  kUserExists = QUORATE_USER_EXISTS,
  kUserNotFound = QUORATE_USER_NOT_FOUND,
  kRoleExists = QUORATE_ROLE_EXISTS,
  kRoleNotFound = QUORATE_ROLE_NOT_FOUND,
  kRoleNotGranted = QUORATE_ROLE_NOT_GRANTED,
  kPermissionNotGranted = QUORATE_PERMISSION_NOT_GRANTED,
  kAuthNotEnabled = QUORATE_AUTH_NOT_ENABLED,
  kPermissionDenied = QUORATE_PERMISSION_DENIED,
  kInvalidAuthToken = QUORATE_INVALID_AUTH_TOKEN,
  kNoPasswordUser = QUORATE_NO_PASSWORD_USER,
  kNotLeader = QUORATE_NOT_LEADER,
  kBadLeaderTransferee = QUORATE_BAD_LEADER_TRANSFEREE,
  kTransferTimeout = QUORATE_TRANSFER_TIMEOUT,
  kNotCapable = QUORATE_NOT_CAPABLE,
  kNotSupportedForLearner = QUORATE_NOT_SUPPORTED_FOR_LEARNER,
  kDowngradeVersionFormat = QUORATE_DOWNGRADE_VERSION_FORMAT,
  kDowngradeTarget = QUORATE_DOWNGRADE_TARGET,
  kDowngradeInProgress = QUORATE_DOWNGRADE_IN_PROGRESS,
  kNoDowngrade = QUORATE_NO_DOWNGRADE,
  kNoLeader = QUORATE_NO_LEADER,
  kLeaderChanged = QUORATE_LEADER_CHANGED,
  kStopped = QUORATE_STOPPED,
  kTimeoutLeaderFailure = QUORATE_TIMEOUT_LEADER_FAILURE,
  kTimeoutConnectionLost = QUORATE_TIMEOUT_CONNECTION_LOST,
  kTimeoutWaitApply = QUORATE_TIMEOUT_WAIT_APPLY,
  kUnhealthyCluster = QUORATE_UNHEALTHY_CLUSTER,
  kNotEnoughStarted = QUORATE_NOT_ENOUGH_STARTED,
  kCorruptCluster = QUORATE_CORRUPT_CLUSTER,
  kTooManyRequests = QUORATE_TOO_MANY_REQUESTS,
  kQuotaExceeded = QUORATE_QUOTA_EXCEEDED,
  kNotPrimaryLessor = QUORATE_NOT_PRIMARY_LESSOR,
  kWatchEmptyRange = QUORATE_WATCH_EMPTY_RANGE,
  kWatchDuplicateId = QUORATE_WATCH_DUPLICATE_ID,
  kDamagedRequest = QUORATE_DAMAGED_REQUEST,
  kProposalDropped = QUORATE_PROPOSAL_DROPPED,
};

// "not_found" for kNotFound, and so on; "unknown" for a number outside the list.
std::string_view code_name(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  // code must not be kOk. message: what happened, to what, and what to do, where that is known.
  Status(Code code, std::string message);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;

  bool ok() const { return rep_ == nullptr; }
  Code code() const { return rep_ ? rep_->code : Code::kOk; }
  // Empty when OK; valid until this Status changes.
  std::string_view message() const { return rep_ ? std::string_view(rep_->message) : ""; }
  // "io_error: cannot sync wal/000001: Input/output error"; "ok".
  std::string to_string() const;
  // The same code, with `context` and ": " in front of the message. OK stays OK.
  Status with_context(std::string_view context) &&;

 private:
  struct Rep {
    Code code;
    std::string message;
  };
  std::unique_ptr<Rep> rep_;
};

}  // namespace quorate

// Returns from the enclosing function when `expression`, a Status or a Result, has failed.
#define QUORATE_TRY(expression)                                                \
  do {                                                                         \
    if (auto quorate_try_ = (expression); !::quorate::succeeded(quorate_try_)) \
      return ::quorate::to_status(std::move(quorate_try_));                    \
  } while (false)

namespace quorate {
inline bool succeeded(const Status& status) {
  return status.ok();
}
inline Status to_status(Status&& status) {
  return std::move(status);
}
}  // namespace quorate
