// SPDX-License-Identifier: Apache-2.0
// The hand-made codec against the code that protobuf generates from the same contract, over random
// messages.
#include <catch2/catch.hpp>

#include <google/protobuf/util/message_differencer.h>

#include <random>

#include "frontend/fixture.h"
#include "frontend/grpc/text.h"
#include "frontend_etcd/request_codec.h"
#include "frontend_etcd/response_codec.h"
#include "rpc.pb.h"

namespace quorate::tests {
namespace {

namespace pb = etcdserverpb;
using frontend_etcd::decode_request;
using frontend_etcd::encode_response;
using frontend_etcd::GrpcCode;
using frontend_etcd::Limits;
using frontend_etcd::Method;
using frontend_etcd::RequestFacts;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Fills messages at random, every field now and then left out.
class Filler {
 public:
  explicit Filler(uint32_t seed) : random_(seed) {}

  void fill(Message& message, int depth) {
    const auto* descriptor = message.GetDescriptor();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const auto* field = descriptor->field(i);
      const int times = field->is_repeated() ? below(4) : below(3) == 0 ? 0 : 1;
      for (int k = 0; k < times; ++k) set(message, *field, depth);
    }
  }
  int below(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }
  std::string bytes() {
    std::string result(static_cast<size_t>(below(8) == 0 ? below(400) : below(12)), '\0');
    for (char& c : result) c = static_cast<char>('a' + below(26));
    return result;
  }
  int64_t number() {
    const auto wide = static_cast<int64_t>(random_() << 32 | random_());
    return below(2) == 0 ? below(300) : wide;
  }

 private:
  void set(Message& message, const google::protobuf::FieldDescriptor& field, int depth) {
    const Reflection& to = *message.GetReflection();
    using F = google::protobuf::FieldDescriptor;
    const bool many = field.is_repeated();
    switch (field.cpp_type()) {
      case F::CPPTYPE_INT64:
        many ? to.AddInt64(&message, &field, number()) : to.SetInt64(&message, &field, number());
        break;
      case F::CPPTYPE_UINT64:
        to.SetUInt64(&message, &field, static_cast<uint64_t>(number()));
        break;
      case F::CPPTYPE_BOOL: to.SetBool(&message, &field, below(2) == 0); break;
      case F::CPPTYPE_ENUM: {
        const int value = below(field.enum_type()->value_count() + 1);  // one beyond as well
        many ? to.AddEnumValue(&message, &field, value) : to.SetEnumValue(&message, &field, value);
        break;
      }
      case F::CPPTYPE_STRING:
        many ? to.AddString(&message, &field, bytes()) : to.SetString(&message, &field, bytes());
        break;
      case F::CPPTYPE_MESSAGE:
        if (depth > 0)
          fill(many ? *to.AddMessage(&message, &field) : *to.MutableMessage(&message, &field),
               depth - 1);
        break;
      default: FAIL("a type that etcd's requests do not use");
    }
  }

  std::mt19937_64 random_;
};

// The way back, written from the schema's words.
void back(schema::RangeRequest::Reader from, pb::RangeRequest& to) {
  to.set_key(text(from.getKey()));
  to.set_range_end(text(from.getRangeEnd()));
  to.set_limit(from.getLimit());
  to.set_revision(from.getRevision());
  to.set_sort_order(static_cast<pb::RangeRequest::SortOrder>(from.getSortOrder()));
  to.set_sort_target(static_cast<pb::RangeRequest::SortTarget>(from.getSortTarget()));
  to.set_serializable(from.getSerializable());
  to.set_keys_only(from.getKeysOnly());
  to.set_count_only(from.getCountOnly());
  to.set_min_mod_revision(from.getMinModRevision());
  to.set_max_mod_revision(from.getMaxModRevision());
  to.set_min_create_revision(from.getMinCreateRevision());
  to.set_max_create_revision(from.getMaxCreateRevision());
}
void back(schema::PutRequest::Reader from, pb::PutRequest& to) {
  to.set_key(text(from.getKey()));
  to.set_value(text(from.getValue()));
  to.set_lease(from.getLease());
  to.set_prev_kv(from.getPrevKv());
  to.set_ignore_value(from.getIgnoreValue());
  to.set_ignore_lease(from.getIgnoreLease());
}
void back(schema::DeleteRangeRequest::Reader from, pb::DeleteRangeRequest& to) {
  to.set_key(text(from.getKey()));
  to.set_range_end(text(from.getRangeEnd()));
  to.set_prev_kv(from.getPrevKv());
}
// The kind of the union is not kept: the target says which is meant.
void back(schema::Compare::Reader from, const pb::Compare& asked, pb::Compare& to) {
  to.set_result(static_cast<pb::Compare::CompareResult>(from.getResult()));
  to.set_target(static_cast<pb::Compare::CompareTarget>(from.getTarget()));
  to.set_key(text(from.getKey()));
  to.set_range_end(text(from.getRangeEnd()));
  switch (asked.target_union_case()) {
    case pb::Compare::kVersion: to.set_version(from.getNumber()); break;
    case pb::Compare::kCreateRevision: to.set_create_revision(from.getNumber()); break;
    case pb::Compare::kModRevision: to.set_mod_revision(from.getNumber()); break;
    case pb::Compare::kLease: to.set_lease(from.getNumber()); break;
    case pb::Compare::kValue: to.set_value(text(from.getValue())); break;
    default: CHECK((from.getNumber() == 0 && from.getValue().size() == 0));
  }
}
void back(schema::TxnRequest::Reader from, const pb::TxnRequest& asked, pb::TxnRequest& to);
void back(schema::RequestOp::Reader from, const pb::RequestOp& asked, pb::RequestOp& to) {
  switch (from.which()) {
    case schema::RequestOp::NONE: break;
    case schema::RequestOp::RANGE: back(from.getRange(), *to.mutable_request_range()); break;
    case schema::RequestOp::PUT: back(from.getPut(), *to.mutable_request_put()); break;
    case schema::RequestOp::DELETE_RANGE:
      back(from.getDeleteRange(), *to.mutable_request_delete_range());
      break;
    case schema::RequestOp::TXN:
      back(from.getTxn(), asked.request_txn(), *to.mutable_request_txn());
      break;
  }
}
void back(schema::TxnRequest::Reader from, const pb::TxnRequest& asked, pb::TxnRequest& to) {
  for (uint32_t i = 0; i < from.getCompare().size(); ++i)
    back(from.getCompare()[i], asked.compare(static_cast<int>(i)), *to.add_compare());
  for (uint32_t i = 0; i < from.getSuccess().size(); ++i)
    back(from.getSuccess()[i], asked.success(static_cast<int>(i)), *to.add_success());
  for (uint32_t i = 0; i < from.getFailure().size(); ++i)
    back(from.getFailure()[i], asked.failure(static_cast<int>(i)), *to.add_failure());
}

bool equal(const Message& a, const Message& b) {
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

// Decodes what protobuf wrote; the reader lives as long as this.
struct Decoded {
  Decoded(Method method, const Message& message) : Decoded(method, message.SerializeAsString()) {}
  Decoded(Method method, const std::string& bytes)
      : error(decode_request(method, bytes, Limits(), builder, facts)),
        segment(builder.finish()),
        reader(segment) {}
  schema::Request::Reader request() { return reader.root<schema::Request>(); }

  schema::SegmentBuilder builder;
  RequestFacts facts;
  frontend_etcd::RpcError error;
  std::string segment;
  schema::SegmentReader reader;
};

TEST_CASE("requests of the key-value service survive the change of language", "[frontend][codec]") {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Filler filler(seed);
    INFO("seed " << seed);
    pb::RangeRequest range, range_back;
    filler.fill(range, 0);
    Decoded decoded_range(Method::kRange, range);
    back(decoded_range.request().getRange(), range_back);
    CHECK(equal(range, range_back));
    CHECK(decoded_range.facts.keys_only == range.keys_only());

    pb::PutRequest put, put_back;
    filler.fill(put, 0);
    back(Decoded(Method::kPut, put).request().getPut(), put_back);
    CHECK(equal(put, put_back));

    pb::DeleteRangeRequest del, del_back;
    filler.fill(del, 0);
    back(Decoded(Method::kDeleteRange, del).request().getDeleteRange(), del_back);
    CHECK(equal(del, del_back));

    pb::TxnRequest txn, txn_back;
    filler.fill(txn, 6);
    Decoded decoded_txn(Method::kTxn, txn);
    REQUIRE(decoded_txn.error.code == GrpcCode::kOk);
    back(decoded_txn.request().getTxn(), txn, txn_back);
    CHECK(equal(txn, txn_back));
  }
}

TEST_CASE("unknown fields are skipped", "[frontend][codec]") {
  pb::StatusResponse other;  // its fields 2 to 13 are not a compaction's
  other.set_version("x");
  other.mutable_downgradeinfo()->set_enabled(true);
  pb::CompactionRequest compact;
  compact.set_revision(4);
  Decoded decoded(Method::kCompact, compact.SerializeAsString() + "\x22\x01x" + "\x2d" + "1234" +
                                        "\x31" + "12345678" + "\x3b\x08\x01\x3c");
  CHECK(decoded.error.code == GrpcCode::kOk);
  CHECK(decoded.request().getCompact().getRevision() == 4);
}

TEST_CASE("a field of the wrong type damages the message", "[frontend][codec]") {
  CHECK(Decoded(Method::kPut, std::string("\x08\x01")).error.code == GrpcCode::kInternal);
  CHECK(Decoded(Method::kCompact, std::string("\x0a\x01x")).error.code == GrpcCode::kInternal);
}

TEST_CASE("a transaction with too many operations is refused here", "[frontend][codec]") {
  pb::TxnRequest txn;
  for (int i = 0; i < 129; ++i) txn.add_failure();
  CHECK(Decoded(Method::kTxn, txn).error.text == "etcdserver: too many operations in txn request");
}

TEST_CASE("a transaction nested without end is refused here", "[frontend][codec]") {
  pb::TxnRequest txn;
  pb::TxnRequest* inner = &txn;
  for (int i = 0; i < 60; ++i) inner = inner->add_success()->mutable_request_txn();
  CHECK(Decoded(Method::kTxn, txn).error.code == GrpcCode::kInvalidArgument);
}

TEST_CASE("the requests of the small services are understood", "[frontend][codec]") {
  SECTION("lease") {
    pb::LeaseGrantRequest grant;
    grant.set_ttl(60);
    grant.set_id(-7);
    Decoded decoded(Method::kLeaseGrant, grant);
    CHECK(decoded.request().getLease().getGrant().getTtl() == 60);
    CHECK(decoded.request().getLease().getGrant().getId() == -7);
    pb::LeaseTimeToLiveRequest ask;
    ask.set_id(9);
    ask.set_keys(true);
    Decoded ttl(Method::kLeaseTimeToLive, ask);
    CHECK(ttl.request().getLease().getTimeToLive().getId() == 9);
    CHECK(ttl.request().getLease().getTimeToLive().getKeys());
    CHECK(ttl.facts.lease == 9);
    pb::LeaseRevokeRequest revoke;
    revoke.set_id(5);
    CHECK(Decoded(Method::kLeaseRevoke, revoke).request().getLease().getRevoke() == 5);
    CHECK(Decoded(Method::kLeaseLeases, std::string()).request().getLease().isList());
  }
  SECTION("cluster") {
    pb::MemberAddRequest add;
    add.add_peerurls("http://a");
    add.add_peerurls("http://b");
    add.set_islearner(true);
    Decoded decoded(Method::kMemberAdd, add);
    const auto asked = decoded.request().getCluster().getAdd();
    REQUIRE(asked.getPeerUrls().size() == 2);
    CHECK(text(asked.getPeerUrls()[1]) == "http://b");
    CHECK(asked.getLearner());
    pb::MemberUpdateRequest update;
    update.set_id(3);
    update.add_peerurls("http://c");
    Decoded updated(Method::kMemberUpdate, update);
    CHECK(updated.request().getCluster().getUpdate().getId() == 3);
    CHECK(text(updated.request().getCluster().getUpdate().getPeerUrls()[0]) == "http://c");
    pb::MemberListRequest list;
    list.set_linearizable(true);
    CHECK(Decoded(Method::kMemberList, list).request().getCluster().getList());
  }
  SECTION("maintenance") {
    pb::AlarmRequest alarm;
    alarm.set_action(pb::AlarmRequest::DEACTIVATE);
    alarm.set_memberid(8);
    alarm.set_alarm(pb::CORRUPT);
    Decoded decoded(Method::kAlarm, alarm);
    const auto asked = decoded.request().getMaintenance().getAlarm();
    CHECK(asked.getAction() == 2);
    CHECK(asked.getMemberId() == 8);
    CHECK(asked.getAlarm() == 2);
    pb::HashKVRequest hash;
    hash.set_revision(4);
    CHECK(Decoded(Method::kHashKv, hash).request().getMaintenance().getHashKv() == 4);
  }
  SECTION("auth") {
    pb::AuthUserAddRequest user;
    user.set_name("n");
    user.set_password("p");
    user.set_hashedpassword("h");
    user.mutable_options()->set_no_password(true);
    Decoded decoded(Method::kUserAdd, user);
    const auto asked = decoded.request().getAuth().getUserAdd();
    CHECK(text(asked.getName()) == "n");
    CHECK(text(asked.getPassword()) == "p");
    CHECK(text(asked.getHashedPassword()) == "h");
    CHECK(asked.getNoPassword());
    pb::AuthRoleGrantPermissionRequest grant;
    grant.set_name("r");
    CHECK_FALSE(Decoded(Method::kRoleGrantPermission, grant)
                    .request()
                    .getAuth()
                    .getRoleGrantPermission()
                    .getGiven());
    grant.mutable_perm()->set_permtype(authpb::Permission::READWRITE);
    grant.mutable_perm()->set_key("k");
    Decoded granted(Method::kRoleGrantPermission, grant);
    const auto permission = granted.request().getAuth().getRoleGrantPermission();
    CHECK(permission.getGiven());
    CHECK(permission.getPermission().getType() == 2);
    CHECK(text(permission.getPermission().getKey()) == "k");
  }
}

// ---- responses

template <typename Answer>
Answer encoded(Method method, const std::function<void(schema::Response::Builder)>& fill,
               const RequestFacts& facts = {}, const std::string& request = "") {
  const std::string bytes = response_bytes(fill);
  schema::SegmentReader reader(bytes);
  std::string out;
  REQUIRE(encode_response(method, facts, request, reader.root<schema::Response>(), out));
  Answer answer;
  REQUIRE(answer.ParseFromString(out));
  REQUIRE(answer.GetReflection()->GetUnknownFields(answer).empty());
  return answer;
}

TEST_CASE("keys-only answers leave out the values alone", "[frontend][codec]") {
  RequestFacts facts;
  facts.keys_only = true;
  const auto answer = encoded<pb::RangeResponse>(
      Method::kRange,
      [](schema::Response::Builder response) {
        response.initRange().setKvs(data(run_of({record("k", "value", 1, 2, 3, 4)})));
      },
      facts);
  REQUIRE(answer.kvs_size() == 1);
  CHECK(answer.kvs(0).key() == "k");
  CHECK(answer.kvs(0).value().empty());
  CHECK(answer.kvs(0).mod_revision() == 2);
  CHECK(answer.kvs(0).lease() == 4);
}

TEST_CASE("a transaction's answers nest and carry their own revisions", "[frontend][codec]") {
  // The second range of the branch that ran wants keys only, and so does one nested.
  pb::TxnRequest txn;
  txn.add_success()->mutable_request_range();
  txn.add_success()->mutable_request_range()->set_keys_only(true);
  txn.add_success()->mutable_request_put();
  txn.add_success()->mutable_request_delete_range();
  txn.add_success()->mutable_request_txn()->add_failure()->mutable_request_range()->set_keys_only(
      true);
  Decoded decoded(Method::kTxn, txn);
  REQUIRE(decoded.facts.needs_request);
  const std::string run = run_of({record("k", "v")});
  const auto answer = encoded<pb::TxnResponse>(
      Method::kTxn,
      [&run](schema::Response::Builder response) {
        auto result = response.initTxn();
        result.setSucceeded(true);
        auto all = result.initResponses(5);
        all[0].setRevision(6);
        all[0].initRange().setKvs(data(run));
        all[1].setRevision(6);
        all[1].initRange().setKvs(data(run));
        all[2].setRevision(7);
        all[2].initPut().setHasPrev(true);
        all[2].getPut().setPrevKv(data(record("p", std::string(300, 'v'))));
        all[3].setRevision(7);
        all[3].initDeleteRange().setDeleted(2);
        all[3].getDeleteRange().setPrevKvs(data(run_of({record("d", "")}, 0x1a)));
        auto nested = all[4].initTxn().initResponses(1);
        nested[0].setRevision(7);
        nested[0].initRange().setKvs(data(run));
      },
      decoded.facts, decoded.segment);
  CHECK(answer.header().revision() == 7);
  CHECK(answer.succeeded());
  REQUIRE(answer.responses_size() == 5);
  CHECK(answer.responses(0).response_range().header().revision() == 6);
  CHECK(answer.responses(0).response_range().header().cluster_id() == 0);
  CHECK(answer.responses(0).response_range().kvs(0).value() == "v");
  CHECK(answer.responses(1).response_range().kvs(0).value().empty());
  CHECK(answer.responses(2).response_put().prev_kv().value().size() == 300);
  CHECK(answer.responses(3).response_delete_range().deleted() == 2);
  CHECK(answer.responses(3).response_delete_range().prev_kvs(0).key() == "d");
  const auto& nested = answer.responses(4).response_txn();
  CHECK(nested.has_header());
  CHECK(nested.header().revision() == 0);
  CHECK(nested.responses(0).response_range().kvs(0).value().empty());
  CHECK(nested.responses(0).response_range().header().revision() == 7);
}

TEST_CASE("the answers of the small services are complete", "[frontend][codec]") {
  SECTION("time to live") {
    RequestFacts facts;
    facts.lease = 9;
    const auto answer = encoded<pb::LeaseTimeToLiveResponse>(
        Method::kLeaseTimeToLive,
        [](schema::Response::Builder response) {
          auto lease = response.initLease();
          lease.setTtl(-1);
          lease.setGrantedTtl(60);
          lease.initKeys(2).set(1, data("k"));
        },
        facts);
    CHECK(answer.id() == 9);
    CHECK(answer.ttl() == -1);
    CHECK(answer.grantedttl() == 60);
    REQUIRE(answer.keys_size() == 2);
    CHECK(answer.keys(1) == "k");
  }
  SECTION("leases") {
    const auto answer = encoded<pb::LeaseLeasesResponse>(
        Method::kLeaseLeases,
        [](schema::Response::Builder response) { response.initLease().initLeases(2).set(1, 5); });
    REQUIRE(answer.leases_size() == 2);
    CHECK(answer.leases(1).id() == 5);
  }
  SECTION("members, whose header has no revision") {
    const auto answer =
        encoded<pb::MemberAddResponse>(Method::kMemberAdd, [](schema::Response::Builder response) {
          auto cluster = response.initCluster();
          cluster.initMember().setId(3);
          auto members = cluster.initMembers(2);
          members[1].setName("two");
          members[1].initPeerUrls(1).set(0, "http://p");
          members[1].initClientUrls(1).set(0, "http://c");
          members[1].setLearner(true);
        });
    CHECK(answer.header().revision() == 0);
    CHECK(answer.header().raft_term() == 3);
    CHECK(answer.member().id() == 3);
    REQUIRE(answer.members_size() == 2);
    CHECK(answer.members(1).name() == "two");
    CHECK(answer.members(1).peerurls(0) == "http://p");
    CHECK(answer.members(1).clienturls(0) == "http://c");
    CHECK(answer.members(1).islearner());
  }
  SECTION("status") {
    const auto answer =
        encoded<pb::StatusResponse>(Method::kStatus, [](schema::Response::Builder response) {
          auto status = response.initMaintenance().initStatus();
          status.setVersion("3.6.0");
          status.setDbSize(1);
          status.setDbSizeInUse(2);
          status.setDbSizeQuota(3);
          status.setLeader(4);
          status.setRaftIndex(5);
          status.setRaftTerm(6);
          status.setRaftAppliedIndex(7);
          status.setLearner(true);
          status.initErrors(1).set(0, "etcdserver: no leader");
          status.setStorageVersion("3.6.0");
        });
    CHECK(answer.version() == "3.6.0");
    CHECK(answer.dbsize() == 1);
    CHECK(answer.dbsizeinuse() == 2);
    CHECK(answer.dbsizequota() == 3);
    CHECK(answer.leader() == 4);
    CHECK(answer.raftindex() == 5);
    CHECK(answer.raftterm() == 6);
    CHECK(answer.raftappliedindex() == 7);
    CHECK(answer.islearner());
    CHECK(answer.errors(0) == "etcdserver: no leader");
    CHECK(answer.storageversion() == "3.6.0");
    CHECK(answer.has_downgradeinfo());
  }
  SECTION("hash") {
    const auto answer =
        encoded<pb::HashKVResponse>(Method::kHashKv, [](schema::Response::Builder response) {
          auto hash = response.initMaintenance().initHash();
          hash.setHash(4'000'000'000u);
          hash.setCompactRevision(-1);
          hash.setHashRevision(9);
        });
    CHECK(answer.hash() == 4'000'000'000u);
    CHECK(answer.compact_revision() == -1);
    CHECK(answer.hash_revision() == 9);
  }
  SECTION("alarms") {
    const auto answer =
        encoded<pb::AlarmResponse>(Method::kAlarm, [](schema::Response::Builder response) {
          auto alarms = response.initMaintenance().initAlarms(1);
          alarms[0].setMemberId(8);
          alarms[0].setType(1);
        });
    CHECK(answer.alarms(0).memberid() == 8);
    CHECK(answer.alarms(0).alarm() == pb::NOSPACE);
  }
  SECTION("roles") {
    const auto answer =
        encoded<pb::AuthRoleGetResponse>(Method::kRoleGet, [](schema::Response::Builder response) {
          auto permissions = response.initAuth().initPermissions(1);
          permissions[0].setType(2);
          permissions[0].setKey(data("k"));
          permissions[0].setRangeEnd(data("z"));
        });
    CHECK(answer.perm(0).permtype() == authpb::Permission::READWRITE);
    CHECK(answer.perm(0).key() == "k");
    CHECK(answer.perm(0).range_end() == "z");
  }
  SECTION("defragment, without a header") {
    CHECK_FALSE(encoded<pb::DefragmentResponse>(
                    Method::kDefragment,
                    [](schema::Response::Builder response) { response.initMaintenance(); })
                    .has_header());
  }
}

TEST_CASE("an answer of the wrong kind is not encoded", "[frontend][codec]") {
  const std::string bytes =
      response_bytes([](schema::Response::Builder response) { response.setNone(); });
  schema::SegmentReader reader(bytes);
  const auto method = GENERATE(Method::kRange, Method::kPut, Method::kDeleteRange, Method::kTxn,
                               Method::kLeaseGrant, Method::kMemberList, Method::kStatus,
                               Method::kHashKv, Method::kAuthStatus, Method::kUserList);
  std::string out;
  CHECK_FALSE(encode_response(method, {}, "", reader.root<schema::Response>(), out));
}

}  // namespace
}  // namespace quorate::tests
