// SPDX-License-Identifier: Apache-2.0
#include "apply/store_applier.h"

#include <optional>
#include <string>
#include <vector>

#include "apply/results.h"
#include "auth/auth_store.h"
#include "cluster/alarms.h"
#include "cluster/membership.h"
#include "cluster/version.h"
#include "lease/lessor.h"
#include "mvcc/store.h"

namespace quorate::apply {

using storage::Bucket;

StoreApplier::StoreApplier(const ChainParts& parts)
    : parts_(parts), executor_(parts.store, parts.lessor) {}

Result<Reply> StoreApplier::apply(const EntryContext& entry, const Request& request) {
  return std::visit([&](const auto& op) { return run(entry, op); }, request.operation());
}

schema::Response::Builder StoreApplier::start(const EntryContext& entry, size_t bytes_expected) {
  return response_.start(*entry.reply_header, parts_.store->revision(), bytes_expected);
}

Reply StoreApplier::empty_reply(const EntryContext& entry) {
  if (!entry.wants_reply()) return {};
  start(entry);
  return {response_.finish()};
}

// ---------------------------------------------------------------- keys

// The header, which is written first, carries the revision after the change; so it is set last.
Result<Reply> StoreApplier::run(const EntryContext& entry, const PutOp& op) {
  QUORATE_TRY(executor_.check(op));
  std::optional<schema::Response::Builder> response;
  std::optional<schema::PutResult::Builder> result;
  if (entry.wants_reply()) {
    response = start(entry);
    result = response->initPut();
  }
  mvcc::WriteTxn txn = parts_.store->begin();
  const Status status = executor_.put(txn, op, result ? &*result : nullptr);
  const int64_t revision = txn.end();
  QUORATE_TRY(status);
  if (!response) return Reply();
  response->getHeader().setRevision(revision);
  return Reply{response_.finish()};
}

Result<Reply> StoreApplier::run(const EntryContext& entry, const DeleteRangeOp& op) {
  std::optional<schema::Response::Builder> response;
  std::optional<schema::DeleteRangeResult::Builder> result;
  if (entry.wants_reply()) {
    response = start(entry);
    result = response->initDeleteRange();
  }
  mvcc::WriteTxn txn = parts_.store->begin();
  const Status status = executor_.delete_range(txn, op, result ? &*result : nullptr);
  const int64_t revision = txn.end();
  QUORATE_TRY(status);
  if (!response) return Reply();
  response->getHeader().setRevision(revision);
  return Reply{response_.finish()};
}

Result<Reply> StoreApplier::run(const EntryContext& entry, const TxnOp& op) {
  const Result<Choices> choices = executor_.check(op);
  QUORATE_TRY(choices.status());
  std::optional<schema::Response::Builder> response;
  std::optional<schema::TxnResult::Builder> result;
  if (entry.wants_reply()) {
    response = start(entry);
    result = response->initTxn();
  }
  mvcc::WriteTxn txn = parts_.store->begin();
  const Status status = executor_.run(txn, op, *choices, result ? &*result : nullptr);
  const int64_t revision = txn.end();
  QUORATE_TRY(status);
  if (!response) return Reply();
  response->getHeader().setRevision(revision);
  return Reply{response_.finish()};
}

Result<Reply> StoreApplier::run(const EntryContext& entry, const CompactOp& op) {
  QUORATE_TRY(parts_.store->check_compact(op.revision));
  parts_.store->compact(op.revision);
  parts_.effects->compact_to = op.revision;
  return empty_reply(entry);
}

// ---------------------------------------------------------------- leases

Result<Reply> StoreApplier::run(const EntryContext& entry, const LeaseGrantOp& op) {
  const int64_t id = op.id != 0 ? op.id : static_cast<int64_t>(entry.header.prepared_id);
  QUORATE_TRY(parts_.lessor->check_grant(id, op.ttl));
  const lease::LeaseRecord granted = parts_.lessor->grant(
      {id, parts_.store->revision(), entry.id.index}, op.ttl, entry.header.lease_ttl_min);
  parts_.store->put_small(Bucket::kLease, lease::lease_key(id), lease::encode_lease(granted));
  if (!entry.wants_reply()) return Reply();
  auto result = start(entry).initLease();
  result.setId(id);
  result.setTtl(granted.ttl);
  result.setGrantedTtl(granted.ttl);
  return Reply{response_.finish()};
}

// The keys go in order, all in one revision, then the lease itself.
Status StoreApplier::revoke(int64_t lease) {
  Status status;
  mvcc::WriteTxn txn = parts_.store->begin();
  for (const std::string& key : parts_.lessor->keys(lease)) {
    status = executor_.delete_range(txn, DeleteRangeOp{key, {}, false}, nullptr);
    if (!status.ok()) break;
  }
  txn.end();
  QUORATE_TRY(status);
  parts_.lessor->revoke(lease);
  parts_.store->delete_small(Bucket::kLease, lease::lease_key(lease));
  return Status();
}

Result<Reply> StoreApplier::run(const EntryContext& entry, const LeaseRevokeOp& op) {
  if (!parts_.lessor->exists(op.id)) {
    return Status(Code::kLeaseNotFound, "there is no lease " + std::to_string(op.id));
  }
  QUORATE_TRY(revoke(op.id));
  return empty_reply(entry);
}

Result<Reply> StoreApplier::run(const EntryContext& entry, const ExpireLeasesOp& op) {
  for (const LeaseStampOp& stamp : op.stamps) {
    if (!parts_.lessor->matches({stamp.lease, stamp.grant_revision, stamp.grant_index})) continue;
    QUORATE_TRY(revoke(stamp.lease));
  }
  return empty_reply(entry);
}

Result<Reply> StoreApplier::run(const EntryContext& entry, const LeaseCheckpointOp& op) {
  for (const LeaseRestOp& rest : op.leases) {
    const auto lease = parts_.lessor->checkpoint(rest.lease, rest.remaining_ttl);
    if (!lease) continue;
    parts_.store->put_small(Bucket::kLease, lease::lease_key(rest.lease),
                            lease::encode_lease(*lease));
  }
  return empty_reply(entry);
}

// ---------------------------------------------------------------- auth

Result<Reply> StoreApplier::run(const EntryContext& entry, const AuthOp& op) {
  if (op.action == AuthAction::kAuthenticate && !parts_.auth->enabled()) {
    return Status(Code::kAuthNotEnabled, "authentication is switched off");
  }
  if (op.action != AuthAction::kStatus) {
    return Status(Code::kUnsupported, "this version has no users and roles yet");
  }
  if (!entry.wants_reply()) return Reply();
  auto result = start(entry).initAuth();
  result.setEnabled(parts_.auth->enabled());
  result.setAuthRevision(parts_.auth->revision());
  return Reply{response_.finish()};
}

// A token means something only while auth is on.
Result<Reply> StoreApplier::run(const EntryContext& entry, const SimpleTokenOp&) {
  return empty_reply(entry);
}

// ---------------------------------------------------------------- cluster

bool StoreApplier::set_alarm(uint64_t member, int32_t type, bool on) {
  const cluster::Alarm alarm{static_cast<cluster::AlarmType>(type), member};
  const bool known =
      alarm.type == cluster::AlarmType::kNoSpace || alarm.type == cluster::AlarmType::kCorrupt;
  if (!known) return false;
  const bool changed = on ? parts_.alarms->activate(alarm) : parts_.alarms->deactivate(alarm);
  if (!changed) return false;
  if (on) {
    parts_.store->put_small(Bucket::kAlarm, cluster::encode_alarm(alarm), "");
  } else {
    parts_.store->delete_small(Bucket::kAlarm, cluster::encode_alarm(alarm));
  }
  parts_.effects->alarms_changed = true;
  return true;
}

Result<Reply> StoreApplier::run(const EntryContext& entry, const AlarmOp& op) {
  enum Action : int32_t { kGet = 0, kActivate = 1, kDeactivate = 2 };
  const auto type = static_cast<cluster::AlarmType>(op.alarm);
  std::vector<cluster::Alarm> answer;
  if (op.action == kGet) answer = parts_.alarms->list(type);
  if (op.action == kActivate) {
    set_alarm(op.member, op.alarm, true);
    for (const cluster::Alarm& alarm : parts_.alarms->list(cluster::AlarmType::kNone)) {
      if (alarm == cluster::Alarm{type, op.member}) answer.push_back(alarm);
    }
  }
  if (op.action == kDeactivate && set_alarm(op.member, op.alarm, false)) {
    answer.push_back({type, op.member});
  }
  if (!entry.wants_reply()) return Reply();
  write_alarms(answer, start(entry).initMaintenance());
  return Reply{response_.finish()};
}

Result<Reply> StoreApplier::run(const EntryContext& entry, const RaiseAlarmOp& op) {
  set_alarm(op.member, op.alarm, true);
  return empty_reply(entry);
}

Result<Reply> StoreApplier::run(const EntryContext& entry, const ClusterVersionOp& op) {
  const Status status = parts_.version->check_set(op.version);
  // What follows in the log this member could misread.
  if (status.code() == Code::kUnsupported) {
    return Status(Code::kInternal, std::string(status.message()));
  }
  QUORATE_TRY(status);
  if (parts_.version->set(op.version)) {
    parts_.store->put_small(Bucket::kCluster, cluster::kClusterVersionKey,
                            parts_.version->get()->text());
    parts_.effects->cluster_version_changed = true;
  }
  return empty_reply(entry);
}

Result<Reply> StoreApplier::run(const EntryContext& entry, const MemberAttributesOp& op) {
  const std::vector<std::string> client_urls(op.client_urls.begin(), op.client_urls.end());
  if (!parts_.members->set_attributes(op.id, std::string(op.name), client_urls)) {
    return Status(Code::kMemberNotFound,
                  "there is no member " + cluster::id_text(op.id) + " in this cluster");
  }
  parts_.store->put_small(Bucket::kMembers, cluster::id_text(op.id),
                          cluster::encode_member(*parts_.members->find(op.id)));
  parts_.effects->members_changed = true;
  return empty_reply(entry);
}

template <typename Op>
Result<Reply> StoreApplier::run(const EntryContext&, const Op&) {
  return Status(Code::kUnsupported, "a request of this kind does not pass the log");
}

}  // namespace quorate::apply
