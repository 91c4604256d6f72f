// SPDX-License-Identifier: Apache-2.0
#include "apply/request.h"

#include <capnp/any.h>

#include <cstring>

#include "base/check.h"
#include "base/coding.h"
#include "schemas/api.capnp.h"
#include "schemas/segment.h"

namespace quorate::apply {
namespace {

constexpr uint8_t kEntryVersion = 1;
constexpr size_t kFixedHeaderBytes = 32;

constexpr size_t padded(size_t size) {
  return (size + 7) & ~size_t{7};
}

Slice slice(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}
Slice slice(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}

// Reads one message into operations. The first thing that is wrong stays in status(); what is read
// after that means nothing.
class Decoder {
 public:
  explicit Decoder(size_t body_bytes) : elements_left_(body_bytes / sizeof(capnp::word)) {}

  const Status& status() const { return status_; }

  Operation request(schema::Request::Reader from) {
    gate(from);
    switch (from.which()) {
      case schema::Request::RANGE: return range(from.getRange());
      case schema::Request::PUT: return put(from.getPut());
      case schema::Request::DELETE_RANGE: return delete_range(from.getDeleteRange());
      case schema::Request::TXN: return txn(from.getTxn(), 1);
      case schema::Request::COMPACT: return compact(from.getCompact());
      case schema::Request::LEASE: return lease(from.getLease());
      case schema::Request::AUTH: return auth(from.getAuth());
      case schema::Request::CLUSTER: return cluster(from.getCluster());
      case schema::Request::MAINTENANCE: return maintenance(from.getMaintenance());
    }
    return unknown();
  }

  Operation internal(schema::Internal::Reader from) {
    gate(from);
    switch (from.which()) {
      case schema::Internal::EXPIRE_LEASES: return expire_leases(from.getExpireLeases());
      case schema::Internal::LEASE_CHECKPOINT: return lease_checkpoint(from.getLeaseCheckpoint());
      case schema::Internal::CLUSTER_VERSION:
        return ClusterVersionOp{slice(from.getClusterVersion())};
      case schema::Internal::MEMBER_ATTRIBUTES:
        return member_attributes(from.getMemberAttributes());
      case schema::Internal::RAISE_ALARM: {
        const auto alarm = from.getRaiseAlarm();
        gate(alarm);
        return RaiseAlarmOp{alarm.getMemberId(), alarm.getType()};
      }
      case schema::Internal::SIMPLE_TOKEN: {
        const auto token = from.getSimpleToken();
        gate(token);
        return SimpleTokenOp{slice(token.getUser()), slice(token.getToken()),
                             token.getAuthRevision()};
      }
    }
    return unknown();
  }

 private:
  void fail(Code code, const char* message) {
    if (status_.ok()) status_ = Status(code, message);
  }
  Operation unknown() {
    fail(Code::kUnsupported, "the request is of a kind that this version does not know");
    return StatusOp{};
  }

  // An older member would ignore a field that a newer one obeys, from the same entry. So a struct
  // that is larger than this schema's is refused as a whole.
  template <typename T>
  void gate(const T& from) {
    using Private = typename capnp::FromReader<T>::_capnpPrivate;
    const capnp::AnyStruct::Reader any(from);
    if (any.getDataSection().size() > Private::dataWordSize * sizeof(capnp::word) ||
        any.getPointerSection().size() > Private::pointerCount) {
      fail(Code::kUnsupported, "the request has a field that this version does not know");
    }
  }

  // Lists whose elements share their bytes must not cost more than the message's size says.
  bool take_elements(size_t count) {
    if (count > elements_left_) {
      fail(Code::kDamagedRequest, "the request has more list elements than bytes for them");
      return false;
    }
    elements_left_ -= count;
    return true;
  }

  RangeOp range(schema::RangeRequest::Reader from) {
    gate(from);
    RangeOp op;
    op.key = slice(from.getKey());
    op.range_end = slice(from.getRangeEnd());
    op.limit = from.getLimit();
    op.revision = from.getRevision();
    op.sort_order = from.getSortOrder();
    op.sort_target = from.getSortTarget();
    op.serializable = from.getSerializable();
    op.keys_only = from.getKeysOnly();
    op.count_only = from.getCountOnly();
    op.min_mod_revision = from.getMinModRevision();
    op.max_mod_revision = from.getMaxModRevision();
    op.min_create_revision = from.getMinCreateRevision();
    op.max_create_revision = from.getMaxCreateRevision();
    return op;
  }

  PutOp put(schema::PutRequest::Reader from) {
    gate(from);
    PutOp op;
    op.key = slice(from.getKey());
    op.value = slice(from.getValue());
    op.lease = from.getLease();
    op.prev_kv = from.getPrevKv();
    op.ignore_value = from.getIgnoreValue();
    op.ignore_lease = from.getIgnoreLease();
    return op;
  }

  DeleteRangeOp delete_range(schema::DeleteRangeRequest::Reader from) {
    gate(from);
    return {slice(from.getKey()), slice(from.getRangeEnd()), from.getPrevKv()};
  }

  CompareOp compare(schema::Compare::Reader from) {
    gate(from);
    CompareOp op;
    op.result = from.getResult();
    op.target = from.getTarget();
    op.key = slice(from.getKey());
    op.range_end = slice(from.getRangeEnd());
    op.number = from.getNumber();
    op.value = slice(from.getValue());
    return op;
  }

  BranchOp branch_op(schema::RequestOp::Reader from, int depth) {
    gate(from);
    switch (from.which()) {
      case schema::RequestOp::NONE: return std::monostate{};
      case schema::RequestOp::RANGE: return range(from.getRange());
      case schema::RequestOp::PUT: return put(from.getPut());
      case schema::RequestOp::DELETE_RANGE: return delete_range(from.getDeleteRange());
      case schema::RequestOp::TXN: return std::make_unique<TxnOp>(txn(from.getTxn(), depth + 1));
    }
    unknown();
    return std::monostate{};
  }

  std::vector<BranchOp> branch(capnp::List<schema::RequestOp>::Reader from, int depth) {
    std::vector<BranchOp> ops;
    if (!take_elements(from.size())) return ops;
    ops.reserve(from.size());
    for (auto op : from) ops.push_back(branch_op(op, depth));
    return ops;
  }

  TxnOp txn(schema::TxnRequest::Reader from, int depth) {
    gate(from);
    TxnOp op;
    if (depth > kTxnDepthMax) {
      fail(Code::kTooManyOps, "transactions are nested too deep; nest at most 16");
      return op;
    }
    const auto compares = from.getCompare();
    if (!take_elements(compares.size())) return op;
    op.compares.reserve(compares.size());
    for (auto each : compares) op.compares.push_back(compare(each));
    op.success = branch(from.getSuccess(), depth);
    op.failure = branch(from.getFailure(), depth);
    return op;
  }

  CompactOp compact(schema::CompactRequest::Reader from) {
    gate(from);
    return {from.getRevision(), from.getPhysical()};
  }

  Operation lease(schema::LeaseRequest::Reader from) {
    gate(from);
    switch (from.which()) {
      case schema::LeaseRequest::GRANT: {
        const auto grant = from.getGrant();
        gate(grant);
        return LeaseGrantOp{grant.getTtl(), grant.getId()};
      }
      case schema::LeaseRequest::REVOKE: return LeaseRevokeOp{from.getRevoke()};
      case schema::LeaseRequest::KEEP_ALIVE: return LeaseKeepAliveOp{from.getKeepAlive()};
      case schema::LeaseRequest::TIME_TO_LIVE: {
        const auto ttl = from.getTimeToLive();
        gate(ttl);
        return LeaseTimeToLiveOp{ttl.getId(), ttl.getKeys()};
      }
      case schema::LeaseRequest::LIST: return LeaseListOp{};
    }
    return unknown();
  }

  void credentials(AuthOp& op, schema::UserAdd::Reader from) {
    gate(from);
    op.user = slice(from.getName());
    op.password = slice(from.getPassword());
    op.hashed_password = slice(from.getHashedPassword());
    op.no_password = from.getNoPassword();
  }
  void user_role(AuthOp& op, schema::UserRole::Reader from) {
    gate(from);
    op.user = slice(from.getUser());
    op.role = slice(from.getRole());
  }
  void role_permission(AuthOp& op, schema::RolePermission::Reader from) {
    gate(from);
    op.role = slice(from.getRole());
    op.permission_given = from.getGiven();
    const auto permission = from.getPermission();
    gate(permission);
    op.permission_type = permission.getType();
    op.key = slice(permission.getKey());
    op.range_end = slice(permission.getRangeEnd());
  }

  Operation auth(schema::AuthRequest::Reader from) {
    gate(from);
    AuthOp op;
    op.action = static_cast<AuthAction>(from.which());
    switch (from.which()) {
      case schema::AuthRequest::ENABLE:
      case schema::AuthRequest::DISABLE:
      case schema::AuthRequest::STATUS:
      case schema::AuthRequest::USER_LIST:
      case schema::AuthRequest::ROLE_LIST: return op;
      case schema::AuthRequest::AUTHENTICATE: {
        const auto who = from.getAuthenticate();
        gate(who);
        op.user = slice(who.getName());
        op.password = slice(who.getPassword());
        return op;
      }
      case schema::AuthRequest::USER_ADD: credentials(op, from.getUserAdd()); return op;
      case schema::AuthRequest::USER_GET: op.user = slice(from.getUserGet()); return op;
      case schema::AuthRequest::USER_DELETE: op.user = slice(from.getUserDelete()); return op;
      case schema::AuthRequest::USER_CHANGE_PASSWORD:
        credentials(op, from.getUserChangePassword());
        return op;
      case schema::AuthRequest::USER_GRANT_ROLE: user_role(op, from.getUserGrantRole()); return op;
      case schema::AuthRequest::USER_REVOKE_ROLE:
        user_role(op, from.getUserRevokeRole());
        return op;
      case schema::AuthRequest::ROLE_ADD: op.role = slice(from.getRoleAdd()); return op;
      case schema::AuthRequest::ROLE_GET: op.role = slice(from.getRoleGet()); return op;
      case schema::AuthRequest::ROLE_DELETE: op.role = slice(from.getRoleDelete()); return op;
      case schema::AuthRequest::ROLE_GRANT_PERMISSION:
        role_permission(op, from.getRoleGrantPermission());
        return op;
      case schema::AuthRequest::ROLE_REVOKE_PERMISSION:
        role_permission(op, from.getRoleRevokePermission());
        return op;
    }
    return unknown();
  }

  std::vector<Slice> texts(capnp::List<capnp::Text>::Reader from) {
    std::vector<Slice> result;
    if (!take_elements(from.size())) return result;
    for (auto text : from) result.push_back(slice(text));
    return result;
  }

  Operation cluster(schema::ClusterRequest::Reader from) {
    gate(from);
    switch (from.which()) {
      case schema::ClusterRequest::ADD: {
        const auto add = from.getAdd();
        gate(add);
        return MemberAddOp{texts(add.getPeerUrls()), add.getLearner()};
      }
      case schema::ClusterRequest::REMOVE: return MemberRemoveOp{from.getRemove()};
      case schema::ClusterRequest::UPDATE: {
        const auto update = from.getUpdate();
        gate(update);
        return MemberUpdateOp{update.getId(), texts(update.getPeerUrls())};
      }
      case schema::ClusterRequest::PROMOTE: return MemberPromoteOp{from.getPromote()};
      case schema::ClusterRequest::LIST: return MemberListOp{from.getList()};
    }
    return unknown();
  }

  Operation maintenance(schema::MaintenanceRequest::Reader from) {
    gate(from);
    switch (from.which()) {
      case schema::MaintenanceRequest::STATUS: return StatusOp{};
      case schema::MaintenanceRequest::ALARM: {
        const auto alarm = from.getAlarm();
        gate(alarm);
        return AlarmOp{alarm.getAction(), alarm.getMemberId(), alarm.getAlarm()};
      }
      case schema::MaintenanceRequest::HASH: return HashOp{};
      case schema::MaintenanceRequest::HASH_KV: return HashKvOp{from.getHashKv()};
      case schema::MaintenanceRequest::STATE_HASH: return StateHashOp{from.getStateHash()};
      case schema::MaintenanceRequest::DEFRAGMENT: return DefragmentOp{};
      case schema::MaintenanceRequest::MOVE_LEADER: return MoveLeaderOp{from.getMoveLeader()};
      case schema::MaintenanceRequest::DOWNGRADE: {
        const auto downgrade = from.getDowngrade();
        gate(downgrade);
        return DowngradeOp{downgrade.getAction(), slice(downgrade.getVersion())};
      }
    }
    return unknown();
  }

  ExpireLeasesOp expire_leases(capnp::List<schema::LeaseStamp>::Reader from) {
    ExpireLeasesOp op;
    if (!take_elements(from.size())) return op;
    for (auto stamp : from) {
      gate(stamp);
      op.stamps.push_back({stamp.getLease(), stamp.getGrantRevision(), stamp.getGrantIndex()});
    }
    return op;
  }
  LeaseCheckpointOp lease_checkpoint(capnp::List<schema::LeaseRest>::Reader from) {
    LeaseCheckpointOp op;
    if (!take_elements(from.size())) return op;
    for (auto rest : from) {
      gate(rest);
      op.leases.push_back({rest.getLease(), rest.getRemainingTtl()});
    }
    return op;
  }
  MemberAttributesOp member_attributes(schema::MemberAttributes::Reader from) {
    gate(from);
    return {from.getId(), slice(from.getName()), texts(from.getClientUrls())};
  }

  size_t elements_left_;
  Status status_;
};

Bytes aligned(const Bytes& body) {
  return reinterpret_cast<uintptr_t>(body.data()) % 8 == 0 ? body : Bytes::copy(body.slice());
}

struct Decoded {
  Bytes body;
  Operation operation;
};

template <typename Root, typename Read>
Result<Decoded> decode(const Bytes& bytes, Read read) {
  Bytes body = aligned(bytes);
  if (!schema::SegmentReader::well_formed(body.slice())) {
    return Status(Code::kDamagedRequest, "the request is not a whole number of words");
  }
  try {
    schema::SegmentReader reader(body.slice());
    Decoder decoder(body.size());
    Operation operation = read(decoder, reader.root<Root>());
    if (!decoder.status().ok()) return decoder.status();
    return Decoded{std::move(body), std::move(operation)};
  } catch (const kj::Exception&) {
    // The library's own text names its source lines; it helps nobody who sends requests.
    return Status(Code::kDamagedRequest, "the request is not a message of the schema");
  }
}

}  // namespace

size_t entry_size(const EntryHeader& header, size_t body_size) {
  return kFixedHeaderBytes + padded(header.user.size()) + body_size;
}

void write_entry(char* to, const EntryHeader& header, Slice body) {
  QUORATE_CHECK(header.user.size() <= kUserBytesMax, "a user name is too long for an entry");
  to[0] = static_cast<char>(kEntryVersion);
  to[1] = static_cast<char>(header.kind);
  set_le(to + 2, static_cast<uint16_t>(header.user.size()));
  set_le(to + 4, header.lease_ttl_min);
  set_le(to + 8, header.request_id);
  set_le(to + 16, header.auth_revision);
  set_le(to + 24, header.prepared_id);
  char* user = to + kFixedHeaderBytes;
  std::memset(user, 0, padded(header.user.size()));
  if (!header.user.empty()) std::memcpy(user, header.user.data(), header.user.size());
  if (!body.empty()) std::memcpy(user + padded(header.user.size()), body.data(), body.size());
}

Bytes encode_entry(const EntryHeader& header, Slice body) {
  std::string bytes(entry_size(header, body.size()), '\0');
  write_entry(bytes.data(), header, body);
  return Bytes::copy(bytes);
}

Result<DecodedEntry> decode_entry(const Bytes& payload) {
  const Status corrupt(Code::kCorrupt, "a log entry does not begin with an entry header");
  const char* from = payload.data();
  if (payload.size() < kFixedHeaderBytes || from[0] != static_cast<char>(kEntryVersion)) {
    return corrupt;
  }
  const auto kind = static_cast<uint8_t>(from[1]);
  const size_t user_size = get_le<uint16_t>(from + 2);
  if (kind < 1 || kind > 3 || user_size > kUserBytesMax ||
      payload.size() - kFixedHeaderBytes < padded(user_size)) {
    return corrupt;
  }
  DecodedEntry entry;
  entry.header.kind = static_cast<EntryKind>(kind);
  entry.header.lease_ttl_min = get_le<uint32_t>(from + 4);
  entry.header.request_id = get_le<uint64_t>(from + 8);
  entry.header.auth_revision = get_le<uint64_t>(from + 16);
  entry.header.prepared_id = get_le<uint64_t>(from + 24);
  entry.header.user = payload.slice().substr(kFixedHeaderBytes, user_size);
  const size_t body = kFixedHeaderBytes + padded(user_size);
  entry.body = payload.sub(body, payload.size() - body);
  return entry;
}

Result<Request> Request::decode_client(const Bytes& body) {
  auto decoded = decode<schema::Request>(
      body, [](Decoder& decoder, schema::Request::Reader root) { return decoder.request(root); });
  if (!decoded) return std::move(decoded).error();
  return Request(std::move(decoded->body), std::move(decoded->operation));
}

Result<Request> Request::decode_internal(const Bytes& body) {
  auto decoded = decode<schema::Internal>(
      body, [](Decoder& decoder, schema::Internal::Reader root) { return decoder.internal(root); });
  if (!decoded) return std::move(decoded).error();
  return Request(std::move(decoded->body), std::move(decoded->operation));
}

}  // namespace quorate::apply
