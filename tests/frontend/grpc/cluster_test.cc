// SPDX-License-Identifier: Apache-2.0
// The calls that change who is in the cluster and who leads it, driven with grpc++.
#include <catch2/catch.hpp>

#include <functional>

#include "frontend/fixture.h"
#include "frontend/grpc/grpc_client.h"

namespace quorate::tests {
namespace {

// A cluster of two, in the kernel's words: 3, which leads, and 4, a learner that has not started.
quorate_status answer_members(schema::Request::Reader request, schema::Response::Builder response) {
  auto cluster = response.initCluster();
  if (request.getCluster().isAdd()) cluster.initMember().setId(4);
  auto members = cluster.initMembers(2);
  members[0].setId(3);
  members[0].setName("three");
  members[0].initPeerUrls(1).set(0, "http://three:2380");
  members[0].initClientUrls(1).set(0, "http://three:2379");
  members[1].setId(4);
  members[1].initPeerUrls(1).set(0, "http://four:2380");
  members[1].setLearner(true);
  return QUORATE_OK;
}

template <typename Answer>
void check_members(const Answer& answer) {
  CHECK(answer.header().cluster_id() == 1);
  CHECK(answer.header().member_id() == 2);
  CHECK(answer.header().raft_term() == 3);
  CHECK(answer.header().revision() == 0);
  REQUIRE(answer.members_size() == 2);
  CHECK(answer.members(0).id() == 3);
  CHECK(answer.members(0).name() == "three");
  CHECK(answer.members(0).peerurls(0) == "http://three:2380");
  CHECK(answer.members(0).clienturls(0) == "http://three:2379");
  CHECK_FALSE(answer.members(0).islearner());
  CHECK(answer.members(1).name().empty());
  CHECK(answer.members(1).clienturls_size() == 0);
  CHECK(answer.members(1).islearner());
}

// A front-end with one client, and what its last call became in the kernel.
struct Cluster {
  Frontend frontend;
  GrpcClient client{frontend.address()};
  grpc::ClientContext context;

  void check_asked(const std::function<void(schema::ClusterRequest::Reader)>& check) {
    const Asked asked = frontend.kernel.asked(0);
    schema::SegmentReader reader(asked.request);
    REQUIRE(reader.root<schema::Request>().isCluster());
    check(reader.root<schema::Request>().getCluster());
  }
};

TEST_CASE("a member is added, and the answer names it and all", "[frontend][cluster]") {
  Cluster c;
  c.frontend.kernel.answer_with(answer_members);
  pb::MemberAddRequest request;
  request.add_peerurls("http://four:2380");
  request.add_peerurls("http://four:2480");
  request.set_islearner(true);
  pb::MemberAddResponse response;
  REQUIRE(c.client.cluster->MemberAdd(&c.context, request, &response).ok());
  CHECK(response.member().id() == 4);
  check_members(response);
  c.check_asked([](schema::ClusterRequest::Reader asked) {
    REQUIRE(asked.isAdd());
    REQUIRE(asked.getAdd().getPeerUrls().size() == 2);
    CHECK(text(asked.getAdd().getPeerUrls()[1]) == "http://four:2480");
    CHECK(asked.getAdd().getLearner());
  });
}

TEST_CASE("a member is removed", "[frontend][cluster]") {
  Cluster c;
  c.frontend.kernel.answer_with(answer_members);
  pb::MemberRemoveRequest request;
  request.set_id(UINT64_MAX);
  pb::MemberRemoveResponse response;
  REQUIRE(c.client.cluster->MemberRemove(&c.context, request, &response).ok());
  check_members(response);
  c.check_asked([](schema::ClusterRequest::Reader asked) {
    REQUIRE(asked.isRemove());
    CHECK(asked.getRemove() == UINT64_MAX);
  });
}

TEST_CASE("a member's peer URLs are updated", "[frontend][cluster]") {
  Cluster c;
  c.frontend.kernel.answer_with(answer_members);
  pb::MemberUpdateRequest request;
  request.set_id(4);
  request.add_peerurls("http://other:2380");
  pb::MemberUpdateResponse response;
  REQUIRE(c.client.cluster->MemberUpdate(&c.context, request, &response).ok());
  check_members(response);
  c.check_asked([](schema::ClusterRequest::Reader asked) {
    REQUIRE(asked.isUpdate());
    CHECK(asked.getUpdate().getId() == 4);
    REQUIRE(asked.getUpdate().getPeerUrls().size() == 1);
    CHECK(text(asked.getUpdate().getPeerUrls()[0]) == "http://other:2380");
  });
}

TEST_CASE("a learner is promoted", "[frontend][cluster]") {
  Cluster c;
  c.frontend.kernel.answer_with(answer_members);
  pb::MemberPromoteRequest request;
  request.set_id(4);
  pb::MemberPromoteResponse response;
  REQUIRE(c.client.cluster->MemberPromote(&c.context, request, &response).ok());
  check_members(response);
  c.check_asked([](schema::ClusterRequest::Reader asked) {
    REQUIRE(asked.isPromote());
    CHECK(asked.getPromote() == 4);
  });
}

TEST_CASE("members are listed, by a quorum or not", "[frontend][cluster]") {
  Cluster c;
  c.frontend.kernel.answer_with(answer_members);
  const bool linearizable = GENERATE(false, true);
  pb::MemberListRequest request;
  request.set_linearizable(linearizable);
  pb::MemberListResponse response;
  REQUIRE(c.client.cluster->MemberList(&c.context, request, &response).ok());
  check_members(response);
  c.check_asked([linearizable](schema::ClusterRequest::Reader asked) {
    REQUIRE(asked.isList());
    CHECK(asked.getList() == linearizable);
  });
}

TEST_CASE("leadership is moved, and the answer has no header", "[frontend][cluster]") {
  Cluster c;
  pb::MoveLeaderRequest request;
  request.set_targetid(4);
  pb::MoveLeaderResponse response;
  REQUIRE(c.client.maintenance->MoveLeader(&c.context, request, &response).ok());
  CHECK_FALSE(response.has_header());
  const Asked asked = c.frontend.kernel.asked(0);
  schema::SegmentReader reader(asked.request);
  CHECK(reader.root<schema::Request>().getMaintenance().getMoveLeader() == 4);
}

TEST_CASE("a change of members that cannot be says why", "[frontend][cluster]") {
  Cluster c;
  using grpc::StatusCode;
  const auto [code, status, text] = GENERATE(table<quorate_status, StatusCode, std::string>({
      {QUORATE_BAD_MEMBER_URLS, StatusCode::INVALID_ARGUMENT,
       "etcdserver: given member URLs are invalid"},
      {QUORATE_MEMBER_EXISTS, StatusCode::FAILED_PRECONDITION,
       "etcdserver: member ID already exist"},
      {QUORATE_PEER_URL_EXISTS, StatusCode::FAILED_PRECONDITION,
       "etcdserver: Peer URLs already exists"},
      {QUORATE_MEMBER_NOT_FOUND, StatusCode::NOT_FOUND, "etcdserver: member not found"},
      {QUORATE_TOO_MANY_LEARNERS, StatusCode::FAILED_PRECONDITION,
       "etcdserver: too many learner members in cluster"},
      {QUORATE_MEMBER_NOT_LEARNER, StatusCode::FAILED_PRECONDITION,
       "etcdserver: can only promote a learner member"},
      {QUORATE_LEARNER_NOT_READY, StatusCode::FAILED_PRECONDITION,
       "etcdserver: can only promote a learner member which is in sync with leader"},
      {QUORATE_UNHEALTHY_CLUSTER, StatusCode::UNAVAILABLE, "etcdserver: unhealthy cluster"},
      {QUORATE_NOT_ENOUGH_STARTED, StatusCode::UNKNOWN,
       "etcdserver: re-configuration failed due to not enough started members"},
      {QUORATE_NO_LEADER, StatusCode::UNAVAILABLE, "etcdserver: no leader"},
  }));
  // The kernel's sentence is for the log; clients compare etcd's.
  c.frontend.kernel.answer_with([code = code](schema::Request::Reader, auto response) {
    response.setMessage("a sentence of the kernel");
    return code;
  });
  pb::MemberAddResponse response;
  const grpc::Status answer =
      c.client.cluster->MemberAdd(&c.context, pb::MemberAddRequest(), &response);
  CHECK(answer.error_code() == status);
  CHECK(answer.error_message() == text);
}

TEST_CASE("a leadership that cannot be moved says why", "[frontend][cluster]") {
  Cluster c;
  using grpc::StatusCode;
  const auto [code, status, text] = GENERATE(table<quorate_status, StatusCode, std::string>({
      {QUORATE_NOT_LEADER, StatusCode::FAILED_PRECONDITION, "etcdserver: not leader"},
      {QUORATE_BAD_LEADER_TRANSFEREE, StatusCode::FAILED_PRECONDITION,
       "etcdserver: bad leader transferee"},
      {QUORATE_TRANSFER_TIMEOUT, StatusCode::UNKNOWN,
       "etcdserver: request timed out, leader transfer took too long"},
      {QUORATE_TIMEOUT, StatusCode::UNKNOWN,
       "etcdserver: request timed out, leader transfer took too long"},
  }));
  c.frontend.kernel.answer_code(code);
  pb::MoveLeaderResponse response;
  const grpc::Status answer =
      c.client.maintenance->MoveLeader(&c.context, pb::MoveLeaderRequest(), &response);
  CHECK(answer.error_code() == status);
  CHECK(answer.error_message() == text);
}

TEST_CASE("any member says its status and its hashes", "[frontend][cluster]") {
  Cluster c;
  c.frontend.host.change([](quorate_member_info& member) {
    member.leader_id = 0;
    member.role = QUORATE_ROLE_FOLLOWER;
  });
  pb::StatusResponse status;
  CHECK(c.client.maintenance->Status(&c.context, pb::StatusRequest(), &status).ok());
  CHECK(status.header().member_id() == 2);
  grpc::ClientContext second, third;
  pb::HashResponse hash;
  CHECK(c.client.maintenance->Hash(&second, pb::HashRequest(), &hash).ok());
  pb::HashKVResponse hash_kv;
  CHECK(c.client.maintenance->HashKV(&third, pb::HashKVRequest(), &hash_kv).ok());
  CHECK(c.frontend.kernel.asked_count() == 3);
}

}  // namespace
}  // namespace quorate::tests
