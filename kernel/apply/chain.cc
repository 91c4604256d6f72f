// SPDX-License-Identifier: Apache-2.0
#include "apply/chain.h"

#include <string>
#include <utility>

#include "apply/auth_applier.h"
#include "apply/capped_applier.h"
#include "apply/conf_change_applier.h"
#include "apply/corrupt_applier.h"
#include "apply/quota_applier.h"
#include "apply/store_applier.h"
#include "cluster/alarms.h"
#include "mvcc/store.h"

namespace quorate::apply {

Result<CommittedEntry> decode_committed(const raft::Entry& entry) {
  CommittedEntry result;
  result.id = entry.id();
  Bytes payload = entry.payload;
  if (entry.type == raft::EntryType::kConfChange) {
    Result<raft::DecodedConfChange> change = raft::decode_conf_change(payload);
    QUORATE_TRY(change.status());
    result.conf_change = std::move(change->change);
    payload = std::move(change->context);
  }
  // Raft leaves a joint configuration by itself, and begins a term: both without a header.
  result.empty = payload.empty();
  if (result.empty) return result;
  Result<DecodedEntry> decoded = decode_entry(payload);
  QUORATE_TRY(decoded.status());
  const bool is_change = decoded->header.kind == EntryKind::kConfChange;
  if (is_change != result.conf_change.has_value()) {
    return Status(Code::kCorrupt, "an entry's header contradicts its type");
  }
  result.entry = *std::move(decoded);
  return result;
}

ApplierChain::ApplierChain(const ChainParts& parts)
    : parts_(parts),
      store_(std::make_unique<StoreApplier>(parts)),
      conf_changes_(std::make_unique<ConfChangeApplier>(parts)) {
  rebuild();
}
ApplierChain::~ApplierChain() = default;

void ApplierChain::rebuild() {
  decorators_.clear();
  outermost_ = store_.get();
  const auto wrap = [&](std::unique_ptr<Applier> decorator) {
    outermost_ = decorator.get();
    decorators_.push_back(std::move(decorator));
  };
  wrap(std::make_unique<QuotaApplier>(outermost_, parts_.effects));
  wrap(std::make_unique<AuthApplier>(outermost_, parts_.auth, parts_.lessor));
  if (parts_.alarms->any(cluster::AlarmType::kNoSpace)) {
    wrap(std::make_unique<CappedApplier>(outermost_));
  }
  if (parts_.alarms->any(cluster::AlarmType::kCorrupt)) {
    wrap(std::make_unique<CorruptApplier>(outermost_));
  }
}

Result<Reply> ApplierChain::run(const EntryContext& context, const DecodedEntry& entry) {
  Result<Request> request = entry.header.kind == EntryKind::kInternal
                                ? Request::decode_internal(entry.body)
                                : Request::decode_client(entry.body);
  // Others may know what it is, so this member cannot go on.
  if (request.status().code() == Code::kUnsupported) {
    return Status(Code::kInternal, std::string(request.error().message()) +
                                       "; run a binary that speaks the cluster's version");
  }
  QUORATE_TRY(request.status());
  QUORATE_TRY(validate(*request, kNoLimits));
  return outermost_->apply(context, *request);
}

Result<EntryOutcome> ApplierChain::execute(const CommittedEntry& entry,
                                           const ReplyHeader* reply_header) {
  EntryOutcome outcome;
  if (entry.empty && !entry.conf_change) return outcome;
  const EntryContext context{entry.id, entry.entry.header, reply_header};
  const bool had_alarm_change = std::exchange(parts_.effects->alarms_changed, false);
  Result<Reply> result = entry.conf_change ? conf_changes_->apply(context, *entry.conf_change,
                                                                  entry.entry.body.slice())
                                           : run(context, entry.entry);
  if (parts_.effects->alarms_changed) rebuild();
  parts_.effects->alarms_changed |= had_alarm_change;
  outcome.status = result.status();
  if (outcome.status.code() == Code::kInternal) return outcome.status;
  if (result) {
    outcome.reply = *std::move(result);
  } else if (reply_header != nullptr) {
    const int64_t revision = entry.conf_change ? 0 : parts_.store->revision();
    outcome.reply.response = encode_error(*reply_header, revision, outcome.status.message());
  }
  if (entry.conf_change) outcome.conf_state = *parts_.conf_state;
  return outcome;
}

}  // namespace quorate::apply
