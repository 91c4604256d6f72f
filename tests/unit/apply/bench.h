// SPDX-License-Identifier: Apache-2.0
// The whole apply side of one member on a test engine, with verbs: each call is one entry, applied
// in a batch of its own.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apply/chain.h"
#include "auth/auth_store.h"
#include "base/coding.h"
#include "cluster/alarms.h"
#include "cluster/membership.h"
#include "cluster/version.h"
#include "lease/lessor.h"
#include "mvcc/record.h"
#include "mvcc/store.h"
#include "storage/generations.h"
#include "support/test_engine.h"
#include "unit/apply/requests.h"

namespace quorate::apply {

inline constexpr ReplyHeader kReplyHeader{11, 12, 13};

// What came of an entry.
struct Answer {
  Status status;
  Bytes bytes;
  std::optional<raft::ConfState> conf_state;
  std::shared_ptr<schema::SegmentReader> reader;

  Code code() const { return status.code(); }
  schema::Response::Reader response() const {
    REQUIRE(reader != nullptr);
    return reader->root<schema::Response>();
  }
  int64_t revision() const { return response().getHeader().getRevision(); }
};

inline std::vector<mvcc::Record> records_of(Slice runs) {
  std::vector<mvcc::Record> records;
  while (!runs.empty()) {
    runs.remove_prefix(1);
    uint64_t size = 0;
    Slice bytes;
    REQUIRE(take_varint(runs, size));
    REQUIRE(take_bytes(runs, size, bytes));
    const auto record = mvcc::parse_record(bytes);
    REQUIRE(record.has_value());
    records.push_back(*record);
  }
  return records;
}
inline Slice slice_of(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}
// "a=1 b=2"
inline std::string pairs_of(capnp::Data::Reader runs) {
  std::string text;
  for (const mvcc::Record& record : records_of(slice_of(runs))) {
    text += (text.empty() ? "" : " ") + std::string(record.key) + "=" + std::string(record.value);
  }
  return text;
}

class Bench {
 public:
  explicit Bench(auth::AuthStore* auth_store = nullptr) {
    storage::OpenedEngine opened;
    opened.engine = std::make_shared<storage::Engine>(*disk_.open(), 1, 1);
    opened.is_new = true;
    auto made = mvcc::Store::open(opened, [](Slice, int64_t) {});
    REQUIRE(made.status().code() == Code::kOk);
    store = *std::move(made);
    engine_ = opened.engine;
    ChainParts parts;
    parts.store = store.get();
    parts.lessor = &lessor;
    parts.auth = auth_store != nullptr ? auth_store : &no_auth_;
    parts.members = &members;
    parts.alarms = &alarms;
    parts.version = &version;
    parts.conf_state = &conf_state;
    parts.effects = &effects;
    chain = std::make_unique<ApplierChain>(parts);
  }

  // What a proposal by this member becomes; one by another has no caller here.
  bool wanted = true;
  EntryHeader header;

  Result<EntryOutcome> execute(const raft::Entry& entry) {
    const auto committed = decode_committed(entry);
    REQUIRE(committed.status().code() == Code::kOk);
    store->begin_batch();
    auto outcome = chain->execute(*committed, wanted ? &kReplyHeader : nullptr);
    changes.clear();
    for (const mvcc::Change& change : store->changes()) {
      changes.push_back((change.tombstone ? "-" : "+") + std::string(change.key) + "@" +
                        std::to_string(change.revision.main) + "." +
                        std::to_string(change.revision.sub));
    }
    store->end_batch(entry.id());
    return outcome;
  }
  Answer apply(EntryKind kind, const Bytes& body) {
    header.kind = kind;
    return answer(
        execute({1, ++index, raft::EntryType::kNormal, encode_entry(header, body.slice())}));
  }
  Answer apply(const Op& op) { return apply(EntryKind::kClient, body_of(op)); }
  Answer client(const FillRequest& fill) { return apply(EntryKind::kClient, client_body(fill)); }
  Answer internal(const FillInternal& fill) {
    return apply(EntryKind::kInternal, internal_body(fill));
  }
  Answer conf_change(raft::ConfChangeType type, const cluster::Member& member) {
    header.kind = EntryKind::kConfChange;
    raft::ConfChange change;
    change.steps = {{type, member.id}};
    const Bytes context = encode_entry(header, cluster::encode_member(member));
    return answer(execute({1, ++index, raft::EntryType::kConfChange,
                           raft::encode_conf_change(change, context.slice())}));
  }

  Answer grant(int64_t id, int64_t ttl = 10) {
    return client([&](auto to) {
      auto grant = to.initLease().initGrant();
      grant.setId(id);
      grant.setTtl(ttl);
    });
  }
  Answer revoke(int64_t id) {
    return client([&](auto to) { to.initLease().setRevoke(id); });
  }
  Answer expire(const lease::Stamp& stamp) {
    return internal([&](auto to) {
      auto each = to.initExpireLeases(1)[0];
      each.setLease(stamp.lease);
      each.setGrantRevision(stamp.grant_revision);
      each.setGrantIndex(stamp.grant_index);
    });
  }
  Answer compact(int64_t revision) {
    return client([&](auto to) { to.initCompact().setRevision(revision); });
  }
  Answer alarm(int32_t action, uint64_t member, int32_t type) {
    return client([&](auto to) {
      auto alarm = to.initMaintenance().initAlarm();
      alarm.setAction(action);
      alarm.setMemberId(member);
      alarm.setAlarm(type);
    });
  }

  // "a=1 b=2": all that is alive now.
  std::string dump() {
    store->begin_batch();
    mvcc::WriteTxn txn = store->begin();
    mvcc::RangeQuery query;
    query.range = KeyRange::from_client(kOpenEnd, kOpenEnd);
    std::string runs;
    REQUIRE(txn.range(query, 0, runs).has_value());
    txn.end();
    store->end_batch({1, index});
    return pairs_of(to_data(runs));
  }
  // What the engine would hold after a freeze.
  std::shared_ptr<const test::TestEngineDisk::Buckets> freeze() {
    auto frozen = store->freeze();
    REQUIRE(engine_->write(frozen->ops(), frozen->batch()).ok());
    store->commit_done(
        {1, frozen->batch(), frozen->applied().entry.index, frozen->applied().entry.index});
    return disk_.content();
  }

  test::TestEngineDisk disk_;
  std::unique_ptr<mvcc::Store> store;
  lease::Lessor lessor;
  cluster::Membership members;
  cluster::Alarms alarms;
  cluster::ClusterVersion version;
  raft::ConfState conf_state;
  Effects effects;
  std::unique_ptr<ApplierChain> chain;
  raft::Index index = 0;
  std::vector<std::string> changes;  // of the last entry: "+key@main.sub"

 private:
  static Answer answer(Result<EntryOutcome> outcome) {
    REQUIRE(outcome.status().code() == Code::kOk);
    Answer answer;
    answer.status = outcome->status;
    answer.bytes = outcome->reply.response;
    answer.conf_state = outcome->conf_state;
    if (!answer.bytes.empty()) {
      answer.reader = std::make_shared<schema::SegmentReader>(answer.bytes.slice());
    }
    return answer;
  }
  auth::DisabledAuthStore no_auth_;
  std::shared_ptr<storage::Engine> engine_;
};

}  // namespace quorate::apply
