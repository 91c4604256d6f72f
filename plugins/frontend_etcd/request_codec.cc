// SPDX-License-Identifier: Apache-2.0
#include "frontend_etcd/request_codec.h"

#include <algorithm>

#include "frontend_etcd/wire.h"
#include "schemas/api.capnp.h"

namespace quorate::frontend_etcd {
namespace {

using wire::Reader;

RpcError malformed() {
  return {GrpcCode::kInternal, "grpc: error unmarshalling request: malformed message"};
}

capnp::Data::Reader data(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

void fill(capnp::Text::Builder to, std::string_view text) {
  std::copy(text.begin(), text.end(), to.begin());
}

// Decodes one message tree; a fault anywhere in it stays and is reported once, by error().
class Decoder {
 public:
  Decoder(const Limits& limits, RequestFacts& facts) : limits_(limits), facts_(facts) {}

  RpcError error() const {
    if (damaged_) return malformed();
    return too_many_ops_ ? rpc_error(QUORATE_TOO_MANY_OPS) : RpcError{};
  }

  void range(std::string_view message, schema::RangeRequest::Builder to) {
    Reader in(message);
    while (in.next()) switch (in.field()) {
        case 1: to.setKey(data(in.bytes())); break;
        case 2: to.setRangeEnd(data(in.bytes())); break;
        case 3: to.setLimit(in.int64()); break;
        case 4: to.setRevision(in.int64()); break;
        case 5: to.setSortOrder(in.int32()); break;
        case 6: to.setSortTarget(in.int32()); break;
        case 7: to.setSerializable(in.boolean()); break;
        case 8: to.setKeysOnly(in.boolean()); break;
        case 9: to.setCountOnly(in.boolean()); break;
        case 10: to.setMinModRevision(in.int64()); break;
        case 11: to.setMaxModRevision(in.int64()); break;
        case 12: to.setMinCreateRevision(in.int64()); break;
        case 13: to.setMaxCreateRevision(in.int64()); break;
      }
    facts_.keys_only |= to.getKeysOnly();
    finish(in);
  }

  void put(std::string_view message, schema::PutRequest::Builder to) {
    Reader in(message);
    while (in.next()) switch (in.field()) {
        case 1: to.setKey(data(in.bytes())); break;
        case 2: to.setValue(data(in.bytes())); break;
        case 3: to.setLease(in.int64()); break;
        case 4: to.setPrevKv(in.boolean()); break;
        case 5: to.setIgnoreValue(in.boolean()); break;
        case 6: to.setIgnoreLease(in.boolean()); break;
      }
    finish(in);
  }

  void delete_range(std::string_view message, schema::DeleteRangeRequest::Builder to) {
    Reader in(message);
    while (in.next()) switch (in.field()) {
        case 1: to.setKey(data(in.bytes())); break;
        case 2: to.setRangeEnd(data(in.bytes())); break;
        case 3: to.setPrevKv(in.boolean()); break;
      }
    finish(in);
  }

  void txn(std::string_view message, schema::TxnRequest::Builder to, int depth) {
    // Lists must know their length first; counting also keeps a message of many tiny operations
    // from growing tenfold here before the kernel refuses it.
    uint32_t counts[4] = {};
    Reader counting(message);
    while (counting.next())
      if (counting.field() <= 3) ++counts[counting.field()];
    finish(counting);
    if (depth == 0 || *std::max_element(counts, counts + 4) > limits_.txn_ops) too_many_ops_ = true;
    if (damaged_ || too_many_ops_) return;
    auto compares = to.initCompare(counts[1]);
    auto success = to.initSuccess(counts[2]);
    auto failure = to.initFailure(counts[3]);
    uint32_t at[4] = {};
    Reader in(message);
    while (in.next()) switch (in.field()) {
        case 1: compare(in.bytes(), compares[at[1]++]); break;
        case 2: operation(in.bytes(), success[at[2]++], depth - 1); break;
        case 3: operation(in.bytes(), failure[at[3]++], depth - 1); break;
      }
    finish(in);
  }

  void compact(std::string_view message, schema::CompactRequest::Builder to) {
    Reader in(message);
    while (in.next()) switch (in.field()) {
        case 1: to.setRevision(in.int64()); break;
        case 2: to.setPhysical(in.boolean()); break;
      }
    finish(in);
  }

  // Messages of scalars and texts in one or two fields are read into these slots.
  struct Fields {
    uint64_t number[5] = {};
    std::string_view bytes[5];
  };
  Fields fields(std::string_view message) {
    Fields result;
    Reader in(message);
    while (in.next()) {
      if (in.field() > 4) continue;
      if (in.is(wire::kVarint)) result.number[in.field()] = in.uint64();
      if (in.is(wire::kBytes)) result.bytes[in.field()] = in.bytes();
    }
    finish(in);
    return result;
  }

  template <typename List>
  void texts(std::string_view message, uint32_t field, List init) {
    uint32_t count = 0;
    Reader counting(message);
    while (counting.next())
      if (counting.field() == field && counting.is(wire::kBytes)) ++count;
    finish(counting);
    auto list = init(count);
    uint32_t at = 0;
    Reader in(message);
    while (in.next())
      if (in.field() == field && in.is(wire::kBytes)) {
        const std::string_view text = in.bytes();
        fill(list.init(at++, static_cast<uint32_t>(text.size())), text);
      }
  }

  void lease(Method method, std::string_view message, schema::LeaseRequest::Builder to) {
    const Fields in = fields(message);
    const auto number = [&in](int field) { return static_cast<int64_t>(in.number[field]); };
    facts_.lease = number(method == Method::kLeaseGrant ? 2 : 1);
    switch (method) {
      case Method::kLeaseGrant: {
        auto grant = to.initGrant();
        grant.setTtl(number(1));
        grant.setId(number(2));
        break;
      }
      case Method::kLeaseRevoke: to.setRevoke(number(1)); break;
      case Method::kLeaseKeepAlive: to.setKeepAlive(number(1)); break;
      case Method::kLeaseTimeToLive: {
        auto ask = to.initTimeToLive();
        ask.setId(number(1));
        ask.setKeys(number(2) != 0);
        break;
      }
      default: to.setList(); break;
    }
  }

  void cluster(Method method, std::string_view message, schema::ClusterRequest::Builder to) {
    const Fields in = fields(message);
    switch (method) {
      case Method::kMemberAdd: {
        auto add = to.initAdd();
        add.setLearner(in.number[2] != 0);
        texts(message, 1, [&add](uint32_t count) { return add.initPeerUrls(count); });
        break;
      }
      case Method::kMemberRemove: to.setRemove(in.number[1]); break;
      case Method::kMemberUpdate: {
        auto update = to.initUpdate();
        update.setId(in.number[1]);
        texts(message, 2, [&update](uint32_t count) { return update.initPeerUrls(count); });
        break;
      }
      case Method::kMemberPromote: to.setPromote(in.number[1]); break;
      default: to.setList(in.number[1] != 0); break;
    }
  }

  void maintenance(Method method, std::string_view message,
                   schema::MaintenanceRequest::Builder to) {
    const Fields in = fields(message);
    switch (method) {
      case Method::kAlarm: {
        auto alarm = to.initAlarm();
        alarm.setAction(static_cast<int32_t>(in.number[1]));
        alarm.setMemberId(in.number[2]);
        alarm.setAlarm(static_cast<int32_t>(in.number[3]));
        break;
      }
      case Method::kHash: to.setHash(); break;
      case Method::kHashKv: to.setHashKv(static_cast<int64_t>(in.number[1])); break;
      case Method::kDefragment: to.setDefragment(); break;
      case Method::kMoveLeader: to.setMoveLeader(in.number[1]); break;
      case Method::kDowngrade: {
        auto downgrade = to.initDowngrade();
        downgrade.setAction(static_cast<int32_t>(in.number[1]));
        fill(downgrade.initVersion(size(in.bytes[2])), in.bytes[2]);
        break;
      }
      default: to.setStatus(); break;
    }
  }

  void auth(Method method, std::string_view message, schema::AuthRequest::Builder to) {
    const Fields in = fields(message);
    const std::string_view first = in.bytes[1];
    switch (method) {
      case Method::kAuthEnable: to.setEnable(); break;
      case Method::kAuthDisable: to.setDisable(); break;
      case Method::kAuthenticate: {
        auto credentials = to.initAuthenticate();
        fill(credentials.initName(size(first)), first);
        fill(credentials.initPassword(size(in.bytes[2])), in.bytes[2]);
        break;
      }
      case Method::kUserAdd: {
        auto user = to.initUserAdd();
        fill_user(user, first, in.bytes[2], in.bytes[4]);
        user.setNoPassword(fields(in.bytes[3]).number[1] != 0);
        break;
      }
      case Method::kUserGet: fill(to.initUserGet(size(first)), first); break;
      case Method::kUserList: to.setUserList(); break;
      case Method::kUserDelete: fill(to.initUserDelete(size(first)), first); break;
      case Method::kUserChangePassword:
        fill_user(to.initUserChangePassword(), first, in.bytes[2], in.bytes[3]);
        break;
      case Method::kUserGrantRole: fill_role(to.initUserGrantRole(), first, in.bytes[2]); break;
      case Method::kUserRevokeRole: fill_role(to.initUserRevokeRole(), first, in.bytes[2]); break;
      case Method::kRoleAdd: fill(to.initRoleAdd(size(first)), first); break;
      case Method::kRoleGet: fill(to.initRoleGet(size(first)), first); break;
      case Method::kRoleList: to.setRoleList(); break;
      case Method::kRoleDelete: fill(to.initRoleDelete(size(first)), first); break;
      case Method::kRoleGrantPermission: {
        auto grant = to.initRoleGrantPermission();
        fill(grant.initRole(size(first)), first);
        // A view without data means the field was absent; an empty permission is one.
        grant.setGiven(in.bytes[2].data() != nullptr);
        const Fields given = fields(in.bytes[2]);
        auto permission = grant.initPermission();
        permission.setType(static_cast<int32_t>(given.number[1]));
        permission.setKey(data(given.bytes[2]));
        permission.setRangeEnd(data(given.bytes[3]));
        break;
      }
      case Method::kRoleRevokePermission: {
        auto revoke = to.initRoleRevokePermission();
        fill(revoke.initRole(size(first)), first);
        auto permission = revoke.initPermission();
        permission.setKey(data(in.bytes[2]));
        permission.setRangeEnd(data(in.bytes[3]));
        break;
      }
      default: to.setStatus(); break;
    }
  }

 private:
  static uint32_t size(std::string_view text) { return static_cast<uint32_t>(text.size()); }
  static void fill_user(schema::UserAdd::Builder to, std::string_view name,
                        std::string_view password, std::string_view hashed) {
    fill(to.initName(size(name)), name);
    fill(to.initPassword(size(password)), password);
    fill(to.initHashedPassword(size(hashed)), hashed);
  }
  static void fill_role(schema::UserRole::Builder to, std::string_view user,
                        std::string_view role) {
    fill(to.initUser(size(user)), user);
    fill(to.initRole(size(role)), role);
  }
  void finish(const Reader& in) { damaged_ |= in.damaged(); }

  void compare(std::string_view message, schema::Compare::Builder to) {
    Reader in(message);
    int64_t number = 0;
    std::string_view value;
    while (in.next()) switch (in.field()) {
        case 1: to.setResult(in.int32()); break;
        case 2: to.setTarget(in.int32()); break;
        case 3: to.setKey(data(in.bytes())); break;
        case 4:
        case 5:
        case 6:
        case 8:
          number = in.int64();
          value = {};
          break;
        case 7:
          value = in.bytes();
          number = 0;
          break;
        case 64: to.setRangeEnd(data(in.bytes())); break;
      }
    to.setNumber(number);
    to.setValue(data(value));
    finish(in);
  }

  // The last of several kinds counts, whole, as in etcd's own decoder.
  void operation(std::string_view message, schema::RequestOp::Builder to, int depth) {
    Reader in(message);
    uint32_t kind = 0;
    std::string_view body;
    while (in.next())
      if (in.field() <= 4) {
        kind = in.field();
        body = in.bytes();
      }
    finish(in);
    switch (kind) {
      case 1: range(body, to.initRange()); break;
      case 2: put(body, to.initPut()); break;
      case 3: delete_range(body, to.initDeleteRange()); break;
      case 4: txn(body, to.initTxn(), depth); break;
      default: to.setNone(); break;
    }
  }

  const Limits& limits_;
  RequestFacts& facts_;
  bool damaged_ = false;
  bool too_many_ops_ = false;
};

}  // namespace

RpcError decode_request(Method method, std::string_view message, const Limits& limits,
                        schema::SegmentBuilder& out, RequestFacts& facts) {
  facts = {};
  auto request = out.start<schema::Request>(message.size() + 256);
  Decoder decoder(limits, facts);
  switch (method) {
    case Method::kRange:
      decoder.range(message, request.initRange());
      facts.serializable = request.getRange().getSerializable();
      facts.needs_request = true;
      break;
    case Method::kPut: decoder.put(message, request.initPut()); break;
    case Method::kDeleteRange: decoder.delete_range(message, request.initDeleteRange()); break;
    case Method::kTxn:
      decoder.txn(message, request.initTxn(), kTxnDepthMax);
      facts.needs_request = facts.keys_only;
      break;
    case Method::kCompact: decoder.compact(message, request.initCompact()); break;
    case Method::kLeaseGrant:
    case Method::kLeaseRevoke:
    case Method::kLeaseKeepAlive:
    case Method::kLeaseTimeToLive:
    case Method::kLeaseLeases: decoder.lease(method, message, request.initLease()); break;
    case Method::kMemberAdd:
    case Method::kMemberRemove:
    case Method::kMemberUpdate:
    case Method::kMemberList:
    case Method::kMemberPromote: decoder.cluster(method, message, request.initCluster()); break;
    case Method::kAlarm:
    case Method::kStatus:
    case Method::kDefragment:
    case Method::kHash:
    case Method::kHashKv:
    case Method::kMoveLeader:
    case Method::kDowngrade: decoder.maintenance(method, message, request.initMaintenance()); break;
    case Method::kWatch:
    case Method::kSnapshot:
    case Method::kHealthCheck:
    case Method::kHealthWatch: return rpc_error(QUORATE_UNSUPPORTED);
    default: decoder.auth(method, message, request.initAuth()); break;
  }
  return decoder.error();
}

RpcError decode_watch(std::string_view message, WatchOp& op) {
  op = {};
  std::string_view body;
  Reader outer(message);
  while (outer.next())
    if (outer.field() >= 1 && outer.field() <= 3) {
      op.kind = static_cast<WatchOp::Kind>(outer.field());
      body = outer.bytes();
    }
  if (outer.damaged()) return malformed();
  Reader in(body);
  const auto filter = [&op](uint64_t kind) {
    op.no_put |= kind == 0;
    op.no_delete |= kind == 1;
  };
  if (op.kind == WatchOp::Kind::kCreate) {
    while (in.next()) switch (in.field()) {
        case 1: op.key = in.bytes(); break;
        case 2: op.range_end = in.bytes(); break;
        case 3: op.start_revision = in.int64(); break;
        case 4: op.progress_notify = in.boolean(); break;
        case 5:
          if (in.is(wire::kVarint)) {
            filter(in.uint64());
          } else {
            wire::PackedReader packed(in.bytes());
            while (packed.next()) filter(packed.value());
            if (packed.damaged()) in.damage();
          }
          break;
        case 6: op.prev_kv = in.boolean(); break;
        case 7: op.watch_id = in.int64(); break;
        case 8: op.fragment = in.boolean(); break;
      }
  } else {
    while (in.next())
      if (op.kind == WatchOp::Kind::kCancel && in.field() == 1) op.watch_id = in.int64();
  }
  return in.damaged() ? malformed() : RpcError{};
}

RpcError decode_health(std::string_view message, std::string_view& service) {
  Reader in(message);
  while (in.next())
    if (in.field() == 1) service = in.bytes();
  return in.damaged() ? malformed() : RpcError{};
}

}  // namespace quorate::frontend_etcd
