// SPDX-License-Identifier: Apache-2.0
#include "frontend_etcd/response_codec.h"

#include "frontend_etcd/wire.h"
#include "sdk/records.h"

namespace quorate::frontend_etcd {
namespace {

using wire::Writer;

std::string_view text_of(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}
std::string_view data_view(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

class Encoder {
 public:
  explicit Encoder(std::string& text) : text_(text), out_(text) {}

  bool range(schema::RangeResult::Reader range, bool keys_only) {
    const std::string_view run = data_view(range.getKvs());
    if (keys_only) {
      if (!sdk::append_run_without_values(text_, run, sdk::kRangeRunTag)) return false;
    } else {
      out_.raw(run);
    }
    write_range_tail(text_, range);
    return true;
  }

  void put(schema::PutResult::Reader put) {
    if (put.getHasPrev()) out_.bytes_always(2, data_view(put.getPrevKv()));
  }

  void delete_range(schema::DeleteRangeResult::Reader deleted) {
    out_.number(2, deleted.getDeleted());
    out_.raw(data_view(deleted.getPrevKvs()));
  }

  // ops: of the branch that ran, when some range of the request wants keys only.
  bool txn(schema::TxnResult::Reader txn, const schema::TxnRequest::Reader* request) {
    out_.number(2, txn.getSucceeded());
    const auto responses = txn.getResponses();
    for (uint32_t i = 0; i < responses.size(); ++i) {
      const size_t response = out_.begin(3);
      bool whole = false;
      if (request == nullptr) {
        whole = operation(responses[i], nullptr);
      } else {
        const auto ops = txn.getSucceeded() ? request->getSuccess() : request->getFailure();
        if (i >= ops.size()) return false;
        const schema::RequestOp::Reader op = ops[i];
        whole = operation(responses[i], &op);
      }
      if (!whole) return false;
      out_.end(response);
    }
    return true;
  }

  bool lease(Method method, int64_t id, schema::LeaseResult::Reader lease) {
    switch (method) {
      case Method::kLeaseGrant:
        out_.number(2, lease.getId());
        out_.number(3, lease.getTtl());
        return true;
      case Method::kLeaseRevoke: return true;
      case Method::kLeaseKeepAlive:
        out_.number(2, id);
        out_.number(3, lease.getTtl());
        return true;
      case Method::kLeaseTimeToLive:
        out_.number(2, id);
        out_.number(3, lease.getTtl());
        out_.number(4, lease.getGrantedTtl());
        for (const auto key : lease.getKeys()) out_.bytes_always(5, data_view(key));
        return true;
      case Method::kLeaseLeases:
        for (const int64_t one : lease.getLeases()) {
          const size_t status = out_.begin(2);
          out_.number(1, one);
          out_.end(status);
        }
        return true;
      default: return false;
    }
  }

  void member(uint32_t field, schema::Member::Reader member) {
    const size_t mark = out_.begin(field);
    out_.number(1, member.getId());
    out_.bytes(2, text_of(member.getName()));
    for (const auto url : member.getPeerUrls()) out_.bytes_always(3, text_of(url));
    for (const auto url : member.getClientUrls()) out_.bytes_always(4, text_of(url));
    out_.number(5, member.getLearner());
    out_.end(mark);
  }

  void cluster(Method method, schema::ClusterResult::Reader cluster) {
    uint32_t field = 2;
    if (method == Method::kMemberAdd) member(field++, cluster.getMember());
    for (const auto one : cluster.getMembers()) member(field, one);
  }

  void status(schema::StatusResult::Reader status) {
    out_.bytes(2, text_of(status.getVersion()));
    out_.number(3, status.getDbSize());
    out_.number(4, status.getLeader());
    out_.number(5, status.getRaftIndex());
    out_.number(6, status.getRaftTerm());
    out_.number(7, status.getRaftAppliedIndex());
    for (const auto error : status.getErrors()) out_.bytes_always(8, text_of(error));
    out_.number(9, status.getDbSizeInUse());
    out_.number(10, status.getLearner());
    out_.bytes(11, text_of(status.getStorageVersion()));
    out_.number(12, status.getDbSizeQuota());
    out_.bytes_always(13, {});  // no downgrade is going on
  }

  bool maintenance(Method method, schema::MaintenanceResult::Reader result) {
    switch (method) {
      case Method::kStatus:
        if (!result.isStatus()) return false;
        status(result.getStatus());
        return true;
      case Method::kAlarm:
        if (!result.isAlarms()) return result.isNone();
        for (const auto alarm : result.getAlarms()) {
          const size_t mark = out_.begin(2);
          out_.number(1, alarm.getMemberId());
          out_.number(2, alarm.getType());
          out_.end(mark);
        }
        return true;
      case Method::kHash:
      case Method::kHashKv:
        if (!result.isHash()) return false;
        out_.number(2, result.getHash().getHash());
        if (method == Method::kHash) return true;
        out_.number(3, result.getHash().getCompactRevision());
        out_.number(4, result.getHash().getHashRevision());
        return true;
      case Method::kDowngrade:
        if (result.isVersion()) out_.bytes(2, text_of(result.getVersion()));
        return true;
      default: return true;
    }
  }

  void permission(uint32_t field, schema::Permission::Reader permission) {
    const size_t mark = out_.begin(field);
    out_.number(1, permission.getType());
    out_.bytes(2, data_view(permission.getKey()));
    out_.bytes(3, data_view(permission.getRangeEnd()));
    out_.end(mark);
  }

  void auth(Method method, schema::AuthResult::Reader auth) {
    switch (method) {
      case Method::kAuthStatus:
        out_.number(2, auth.getEnabled());
        out_.number(3, auth.getAuthRevision());
        break;
      case Method::kAuthenticate: out_.bytes(2, text_of(auth.getToken())); break;
      case Method::kUserGet:
      case Method::kUserList:
      case Method::kRoleList:
        for (const auto name : auth.getNames()) out_.bytes_always(2, text_of(name));
        break;
      case Method::kRoleGet:
        for (const auto one : auth.getPermissions()) permission(2, one);
        break;
      default: break;
    }
  }

 private:
  // The header of an operation carries a revision alone; a nested transaction's is empty.
  void operation_header(int64_t revision) {
    const size_t header = out_.begin(1);
    out_.number(3, revision);
    out_.end(header);
  }

  bool operation(schema::OpResult::Reader result, const schema::RequestOp::Reader* request) {
    const bool is_txn = result.isTxn();
    const uint32_t field = 1 + static_cast<uint32_t>(result.which());
    const size_t mark = out_.begin(field);
    operation_header(is_txn ? 0 : result.getRevision());
    bool whole = true;
    switch (result.which()) {
      case schema::OpResult::RANGE:
        whole = range(result.getRange(), request != nullptr && request->isRange() &&
                                             request->getRange().getKeysOnly());
        break;
      case schema::OpResult::PUT: put(result.getPut()); break;
      case schema::OpResult::DELETE_RANGE: delete_range(result.getDeleteRange()); break;
      case schema::OpResult::TXN:
        if (request != nullptr && request->isTxn()) {
          const schema::TxnRequest::Reader inner = request->getTxn();
          whole = txn(result.getTxn(), &inner);
        } else {
          whole = txn(result.getTxn(), nullptr);
        }
        break;
      default: whole = false;
    }
    out_.end(mark);
    return whole;
  }

  std::string& text_;
  Writer out_;
};

}  // namespace

std::string_view view(capnp::Data::Reader data) {
  return data_view(data);
}

Header header_of(schema::Header::Reader header) {
  return {header.getClusterId(), header.getMemberId(), header.getRevision(), header.getRaftTerm()};
}

void write_header(std::string& out, const Header& header) {
  Writer writer(out);
  const size_t mark = writer.begin(1);
  writer.number(1, header.cluster_id);
  writer.number(2, header.member_id);
  writer.number(3, header.revision);
  writer.number(4, header.raft_term);
  writer.end(mark);
}

void write_range_tail(std::string& out, schema::RangeResult::Reader range) {
  Writer writer(out);
  writer.number(3, range.getMore());
  writer.number(4, range.getCount());
}

bool encode_response(Method method, const RequestFacts& facts, std::string_view request,
                     schema::Response::Reader response, std::string& out) {
  Encoder encoder(out);
  Header header = header_of(response.getHeader());
  switch (method) {
    case Method::kDefragment:
    case Method::kMoveLeader: return true;  // etcd leaves their header unset
    case Method::kMemberAdd:
    case Method::kMemberRemove:
    case Method::kMemberUpdate:
    case Method::kMemberList:
    case Method::kMemberPromote:
      header.revision = 0;
      write_header(out, header);
      if (!response.isCluster()) return false;
      encoder.cluster(method, response.getCluster());
      return true;
    default: write_header(out, header);
  }
  switch (method) {
    case Method::kRange:
      return response.isRange() && encoder.range(response.getRange(), facts.keys_only);
    case Method::kPut:
      if (response.isPut()) encoder.put(response.getPut());
      return response.isPut();
    case Method::kDeleteRange:
      if (response.isDeleteRange()) encoder.delete_range(response.getDeleteRange());
      return response.isDeleteRange();
    case Method::kTxn: {
      if (!response.isTxn()) return false;
      if (!facts.keys_only) return encoder.txn(response.getTxn(), nullptr);
      schema::SegmentReader reader(request);
      const auto txn = reader.root<schema::Request>().getTxn();
      return encoder.txn(response.getTxn(), &txn);
    }
    case Method::kCompact: return true;
    case Method::kLeaseGrant:
    case Method::kLeaseKeepAlive:
    case Method::kLeaseTimeToLive:
    case Method::kLeaseLeases:
      return response.isLease() && encoder.lease(method, facts.lease, response.getLease());
    case Method::kLeaseRevoke: return true;
    case Method::kAlarm:
    case Method::kStatus:
    case Method::kHash:
    case Method::kHashKv:
    case Method::kDowngrade:
      return response.isMaintenance() && encoder.maintenance(method, response.getMaintenance());
    case Method::kAuthStatus:
    case Method::kAuthenticate:
    case Method::kUserGet:
    case Method::kUserList:
    case Method::kRoleGet:
    case Method::kRoleList:
      if (response.isAuth()) encoder.auth(method, response.getAuth());
      return response.isAuth();
    default: return true;  // a header is all
  }
}

}  // namespace quorate::frontend_etcd
