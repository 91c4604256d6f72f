// SPDX-License-Identifier: Apache-2.0
// The whole list of codes, as a client sees it.
#include <catch2/catch.hpp>

#include <algorithm>

#include "frontend/fixture.h"
#include "frontend/grpc/grpc_client.h"

namespace quorate::tests {
namespace {

struct Row {
  quorate_status status;
  grpc::StatusCode code;
  std::string text;
};

using grpc::StatusCode;

// From the reference's tables of errors, in its order.
const Row kRows[] = {
    {QUORATE_EMPTY_KEY, StatusCode::INVALID_ARGUMENT, "etcdserver: key is not provided"},
    {QUORATE_KEY_NOT_FOUND, StatusCode::INVALID_ARGUMENT, "etcdserver: key not found"},
    {QUORATE_VALUE_PROVIDED, StatusCode::INVALID_ARGUMENT, "etcdserver: value is provided"},
    {QUORATE_LEASE_PROVIDED, StatusCode::INVALID_ARGUMENT, "etcdserver: lease is provided"},
    {QUORATE_TOO_MANY_OPS, StatusCode::INVALID_ARGUMENT,
     "etcdserver: too many operations in txn request"},
    {QUORATE_DUPLICATE_KEY, StatusCode::INVALID_ARGUMENT,
     "etcdserver: duplicate key given in txn request"},
    {QUORATE_INVALID_SORT_OPTION, StatusCode::INVALID_ARGUMENT, "etcdserver: invalid sort option"},
    {QUORATE_INVALID_CLIENT_API_VERSION, StatusCode::INVALID_ARGUMENT,
     "etcdserver: invalid client api version"},
    {QUORATE_REQUEST_TOO_LARGE, StatusCode::INVALID_ARGUMENT, "etcdserver: request is too large"},
    {QUORATE_BAD_MEMBER_URLS, StatusCode::INVALID_ARGUMENT,
     "etcdserver: given member URLs are invalid"},
    {QUORATE_USER_EMPTY, StatusCode::INVALID_ARGUMENT, "etcdserver: user name is empty"},
    {QUORATE_ROLE_EMPTY, StatusCode::INVALID_ARGUMENT, "etcdserver: role name is empty"},
    {QUORATE_AUTH_FAILED, StatusCode::INVALID_ARGUMENT,
     "etcdserver: authentication failed, invalid user ID or password"},
    {QUORATE_PERMISSION_NOT_GIVEN, StatusCode::INVALID_ARGUMENT,
     "etcdserver: permission not given"},
    {QUORATE_INVALID_AUTH_MANAGEMENT, StatusCode::INVALID_ARGUMENT,
     "etcdserver: invalid auth management"},
    {QUORATE_AUTH_OLD_REVISION, StatusCode::INVALID_ARGUMENT,
     "etcdserver: revision of auth store is old"},
    {QUORATE_DOWNGRADE_VERSION_FORMAT, StatusCode::INVALID_ARGUMENT,
     "etcdserver: wrong downgrade target version format"},
    {QUORATE_DOWNGRADE_TARGET, StatusCode::INVALID_ARGUMENT,
     "etcdserver: invalid downgrade target version"},
    {QUORATE_COMPACTED, StatusCode::OUT_OF_RANGE,
     "etcdserver: mvcc: required revision has been compacted"},
    {QUORATE_FUTURE_REVISION, StatusCode::OUT_OF_RANGE,
     "etcdserver: mvcc: required revision is a future revision"},
    {QUORATE_LEASE_TTL_TOO_LARGE, StatusCode::OUT_OF_RANGE, "etcdserver: too large lease TTL"},
    {QUORATE_QUOTA_EXCEEDED, StatusCode::RESOURCE_EXHAUSTED,
     "etcdserver: mvcc: database space exceeded"},
    {QUORATE_LEASE_NOT_FOUND, StatusCode::NOT_FOUND, "etcdserver: requested lease not found"},
    {QUORATE_MEMBER_NOT_FOUND, StatusCode::NOT_FOUND, "etcdserver: member not found"},
    {QUORATE_LEASE_EXISTS, StatusCode::FAILED_PRECONDITION, "etcdserver: lease already exists"},
    {QUORATE_MEMBER_EXISTS, StatusCode::FAILED_PRECONDITION, "etcdserver: member ID already exist"},
    {QUORATE_PEER_URL_EXISTS, StatusCode::FAILED_PRECONDITION,
     "etcdserver: Peer URLs already exists"},
    {QUORATE_MEMBER_NOT_LEARNER, StatusCode::FAILED_PRECONDITION,
     "etcdserver: can only promote a learner member"},
    {QUORATE_LEARNER_NOT_READY, StatusCode::FAILED_PRECONDITION,
     "etcdserver: can only promote a learner member which is in sync with leader"},
    {QUORATE_TOO_MANY_LEARNERS, StatusCode::FAILED_PRECONDITION,
     "etcdserver: too many learner members in cluster"},
    {QUORATE_CLUSTER_ID_MISMATCH, StatusCode::FAILED_PRECONDITION,
     "etcdserver: cluster ID mismatch"},
    {QUORATE_ROOT_USER_NOT_EXIST, StatusCode::FAILED_PRECONDITION,
     "etcdserver: root user does not exist"},
    {QUORATE_ROOT_ROLE_NOT_EXIST, StatusCode::FAILED_PRECONDITION,
     "etcdserver: root user does not have root role"},
    {QUORATE_USER_EXISTS, StatusCode::FAILED_PRECONDITION, "etcdserver: user name already exists"},
    {QUORATE_USER_NOT_FOUND, StatusCode::FAILED_PRECONDITION, "etcdserver: user name not found"},
    {QUORATE_ROLE_EXISTS, StatusCode::FAILED_PRECONDITION, "etcdserver: role name already exists"},
    {QUORATE_ROLE_NOT_FOUND, StatusCode::FAILED_PRECONDITION, "etcdserver: role name not found"},
    {QUORATE_ROLE_NOT_GRANTED, StatusCode::FAILED_PRECONDITION,
     "etcdserver: role is not granted to the user"},
    {QUORATE_PERMISSION_NOT_GRANTED, StatusCode::FAILED_PRECONDITION,
     "etcdserver: permission is not granted to the role"},
    {QUORATE_AUTH_NOT_ENABLED, StatusCode::FAILED_PRECONDITION,
     "etcdserver: authentication is not enabled"},
    {QUORATE_NOT_LEADER, StatusCode::FAILED_PRECONDITION, "etcdserver: not leader"},
    {QUORATE_BAD_LEADER_TRANSFEREE, StatusCode::FAILED_PRECONDITION,
     "etcdserver: bad leader transferee"},
    {QUORATE_NOT_CAPABLE, StatusCode::FAILED_PRECONDITION, "etcdserver: not capable"},
    {QUORATE_NOT_SUPPORTED_FOR_LEARNER, StatusCode::FAILED_PRECONDITION,
     "etcdserver: rpc not supported for learner"},
    {QUORATE_DOWNGRADE_IN_PROGRESS, StatusCode::FAILED_PRECONDITION,
     "etcdserver: cluster has a downgrade job in progress"},
    {QUORATE_NO_DOWNGRADE, StatusCode::FAILED_PRECONDITION,
     "etcdserver: no inflight downgrade job"},
    {QUORATE_NO_LEADER, StatusCode::UNAVAILABLE, "etcdserver: no leader"},
    {QUORATE_LEADER_CHANGED, StatusCode::UNAVAILABLE, "etcdserver: leader changed"},
    {QUORATE_STOPPED, StatusCode::UNAVAILABLE, "etcdserver: server stopped"},
    {QUORATE_TIMEOUT, StatusCode::UNAVAILABLE, "etcdserver: request timed out"},
    {QUORATE_UNKNOWN_OUTCOME, StatusCode::UNAVAILABLE, "etcdserver: request timed out"},
    {QUORATE_TIMEOUT_LEADER_FAILURE, StatusCode::UNAVAILABLE,
     "etcdserver: request timed out, possibly due to previous leader failure"},
    {QUORATE_TIMEOUT_CONNECTION_LOST, StatusCode::UNAVAILABLE,
     "etcdserver: request timed out, possibly due to connection lost"},
    {QUORATE_TIMEOUT_WAIT_APPLY, StatusCode::UNAVAILABLE,
     "etcdserver: request timed out, waiting for the applied index took too long"},
    {QUORATE_UNHEALTHY_CLUSTER, StatusCode::UNAVAILABLE, "etcdserver: unhealthy cluster"},
    {QUORATE_CORRUPT_CLUSTER, StatusCode::DATA_LOSS, "etcdserver: corrupt cluster"},
    {QUORATE_PERMISSION_DENIED, StatusCode::PERMISSION_DENIED, "etcdserver: permission denied"},
    {QUORATE_INVALID_AUTH_TOKEN, StatusCode::UNAUTHENTICATED, "etcdserver: invalid auth token"},
    {QUORATE_TOO_MANY_REQUESTS, StatusCode::UNKNOWN, "etcdserver: too many requests"},
    {QUORATE_BUSY, StatusCode::UNKNOWN, "etcdserver: too many requests"},
    {QUORATE_NOT_ENOUGH_STARTED, StatusCode::UNKNOWN,
     "etcdserver: re-configuration failed due to not enough started members"},
    {QUORATE_CANCELLED, StatusCode::UNKNOWN, "etcdserver: request cancelled"},
    {QUORATE_TRANSFER_TIMEOUT, StatusCode::UNKNOWN,
     "etcdserver: request timed out, leader transfer took too long"},
    {QUORATE_NOT_PRIMARY_LESSOR, StatusCode::UNKNOWN, "not a primary lessor"},
    {QUORATE_NO_PASSWORD_USER, StatusCode::UNKNOWN,
     "auth: authentication failed, password was given for no password user"},
    {QUORATE_PROPOSAL_DROPPED, StatusCode::UNKNOWN, "raft proposal dropped"},
    {QUORATE_WATCH_EMPTY_RANGE, StatusCode::UNKNOWN, "mvcc: watcher range is empty"},
    {QUORATE_WATCH_DUPLICATE_ID, StatusCode::UNKNOWN,
     "mvcc: duplicate watch ID provided on the WatchStream"},
    // No text of etcd's: the kernel's own sentence goes in the place of these.
    {QUORATE_NOT_FOUND, StatusCode::NOT_FOUND, "etcdserver: not found"},
    {QUORATE_INVALID_ARGUMENT, StatusCode::INVALID_ARGUMENT, "etcdserver: invalid argument"},
    {QUORATE_UNSUPPORTED, StatusCode::UNIMPLEMENTED, "etcdserver: not supported by this server"},
    {QUORATE_NO_SPACE, StatusCode::RESOURCE_EXHAUSTED, "etcdserver: no space left on the disk"},
    {QUORATE_CORRUPT, StatusCode::DATA_LOSS, "etcdserver: stored data is damaged"},
    {QUORATE_IO_ERROR, StatusCode::INTERNAL, "etcdserver: input or output failed"},
    {QUORATE_UNAVAILABLE, StatusCode::UNAVAILABLE, "etcdserver: server not ready"},
    {QUORATE_INTERNAL, StatusCode::INTERNAL, "etcdserver: internal error"},
    {QUORATE_USE_RANGE_OPEN, StatusCode::INTERNAL, "etcdserver: answer too large for one piece"},
    {QUORATE_DAMAGED_REQUEST, StatusCode::INTERNAL, "etcdserver: damaged request"},
    {12345, StatusCode::INTERNAL, "etcdserver: internal error"},
};

TEST_CASE("every code has the code and the text that etcd's clients know", "[frontend]") {
  Frontend frontend;
  GrpcClient client(frontend.address());
  for (const Row& row : kRows) {
    INFO("code " << row.status);
    frontend.kernel.answer_code(row.status);
    grpc::ClientContext context;
    pb::PutResponse response;
    const grpc::Status status = client.kv->Put(&context, pb::PutRequest(), &response);
    CHECK(status.error_code() == row.code);
    CHECK(status.error_message() == row.text);
  }
}

TEST_CASE("the table is whole", "[frontend]") {
  for (quorate_status status = 1; status <= QUORATE_PROPOSAL_DROPPED; ++status) {
    INFO("code " << status);
    CHECK(std::count_if(std::begin(kRows), std::end(kRows),
                        [status](const Row& row) { return row.status == status; }) == 1);
  }
}

TEST_CASE("the kernel's sentence is passed on only where etcd has no text", "[frontend]") {
  Frontend frontend;
  GrpcClient client(frontend.address());
  const auto [code, text] = GENERATE(
      table<quorate_status, std::string>({{QUORATE_UNSUPPORTED, "a sentence"},
                                          {QUORATE_EMPTY_KEY, "etcdserver: key is not provided"}}));
  frontend.kernel.answer_with([code = code](schema::Request::Reader, schema::Response::Builder to) {
    to.setMessage("a sentence");
    return code;
  });
  grpc::ClientContext context;
  pb::PutResponse response;
  CHECK(client.kv->Put(&context, pb::PutRequest(), &response).error_message() == text);
}

}  // namespace
}  // namespace quorate::tests
