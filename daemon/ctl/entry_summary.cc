// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/entry_summary.h"

#include <spdlog/fmt/fmt.h>

#include <variant>

#include "apply/request.h"
#include "cluster/member.h"
#include "raft/conf_change.h"
#include "raft/text.h"

namespace quorate::ctl {
namespace {

using namespace apply;

constexpr size_t kQuotedBytesMax = 80;

std::string range_text(Slice key, Slice range_end) {
  if (range_end.empty()) return quoted(key);
  if (range_end == Slice("\0", 1)) return "from " + quoted(key) + " on";
  return "from " + quoted(key) + " to " + quoted(range_end);
}

std::string branch_text(const std::vector<BranchOp>& branch);

// One overload for each operation that a log can hold.
struct Teller {
  std::string operator()(std::monostate) const { return "nothing"; }
  std::string operator()(const RangeOp& op) const {
    return "range " + range_text(op.key, op.range_end);
  }
  std::string operator()(const PutOp& op) const {
    std::string text = fmt::format("put {}, {} bytes", quoted(op.key), op.value.size());
    if (op.ignore_value) text += ", value kept";
    if (op.ignore_lease) text += ", lease kept";
    if (op.lease != 0) text += fmt::format(", lease {:x}", static_cast<uint64_t>(op.lease));
    return text;
  }
  std::string operator()(const DeleteRangeOp& op) const {
    return "delete " + range_text(op.key, op.range_end);
  }
  std::string operator()(const std::unique_ptr<TxnOp>& op) const { return (*this)(*op); }
  std::string operator()(const TxnOp& op) const {
    return fmt::format("txn, {} compares, then {}, else {}", op.compares.size(),
                       branch_text(op.success), branch_text(op.failure));
  }
  std::string operator()(const CompactOp& op) const {
    return fmt::format("compact {}{}", op.revision, op.physical ? ", physical" : "");
  }
  std::string operator()(const LeaseGrantOp& op) const {
    return fmt::format("grant lease {:x}, {} s", static_cast<uint64_t>(op.id), op.ttl);
  }
  std::string operator()(const LeaseRevokeOp& op) const {
    return fmt::format("revoke lease {:x}", static_cast<uint64_t>(op.id));
  }
  std::string operator()(const AuthOp& op) const {
    std::string text = fmt::format("auth, action {}", static_cast<int>(op.action));
    if (!op.user.empty()) text += ", user " + quoted(op.user);
    if (!op.role.empty()) text += ", role " + quoted(op.role);
    return text;
  }
  std::string operator()(const AlarmOp& op) const {
    return fmt::format("alarm {}, action {}, member {:x}", op.alarm, op.action, op.member);
  }
  std::string operator()(const ExpireLeasesOp& op) const {
    std::string text = "expire leases";
    for (const LeaseStampOp& stamp : op.stamps)
      text += fmt::format(" {:x}", static_cast<uint64_t>(stamp.lease));
    return text;
  }
  std::string operator()(const LeaseCheckpointOp& op) const {
    return fmt::format("checkpoint of {} leases", op.leases.size());
  }
  std::string operator()(const ClusterVersionOp& op) const {
    return "cluster version " + quoted(op.version);
  }
  std::string operator()(const MemberAttributesOp& op) const {
    return fmt::format("member {:x} is named {}", op.id, quoted(op.name));
  }
  std::string operator()(const RaiseAlarmOp& op) const {
    return fmt::format("raise alarm {}, member {:x}", op.alarm, op.member);
  }
  std::string operator()(const SimpleTokenOp& op) const { return "token of " + quoted(op.user); }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "a request that no log should hold";
  }
};

std::string branch_text(const std::vector<BranchOp>& branch) {
  std::string text = "[";
  for (const BranchOp& op : branch) {
    if (text.size() > 1) text += "; ";
    text += std::visit(Teller(), op);
  }
  return text + "]";
}

std::string unreadable(const Status& status) {
  return "not readable: " + std::string(status.message());
}

std::string conf_change_text(const Bytes& payload) {
  const auto change = raft::decode_conf_change(payload);
  if (!change) return unreadable(change.status());
  std::string text = "members " + (change->change.leaves_joint() ? "leave the joint configuration"
                                                                 : raft::to_text(change->change));
  const auto entry = decode_entry(change->context);
  if (!entry) return text;
  const auto member = cluster::decode_member(entry->body.slice());
  if (!member) return text;
  text += fmt::format(": {:x} {}", member->id, quoted(member->name));
  for (const std::string& url : member->peer_urls) text += " " + url;
  return text;
}

std::string request_text(const DecodedEntry& entry) {
  const auto request = entry.header.kind == EntryKind::kInternal
                           ? Request::decode_internal(entry.body)
                           : Request::decode_client(entry.body);
  if (!request) return unreadable(request.status());
  std::string text = std::visit(Teller(), request->operation());
  if (entry.header.prepared_id != 0)
    text += fmt::format(", prepared id {:x}", entry.header.prepared_id);
  if (!entry.header.user.empty()) text += ", by " + quoted(entry.header.user);
  return text;
}

}  // namespace

std::string summary_of(const raft::Entry& entry) {
  if (entry.payload.empty()) return "the first entry of a leader's term";
  if (entry.type == raft::EntryType::kConfChange) return conf_change_text(entry.payload);
  const auto decoded = decode_entry(entry.payload);
  return decoded ? request_text(*decoded) : unreadable(decoded.status());
}

std::string quoted(Slice bytes) {
  std::string text = "\"";
  for (const char c : bytes.substr(0, kQuotedBytesMax)) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  text += '"';
  if (bytes.size() > kQuotedBytesMax) text += fmt::format("... ({} bytes)", bytes.size());
  return text;
}

}  // namespace quorate::ctl
