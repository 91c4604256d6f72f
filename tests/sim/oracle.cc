// SPDX-License-Identifier: Apache-2.0
#include "sim/oracle.h"

#include <fmt/format.h>

#include "apply/chain.h"
#include "base/crc32c.h"
#include "mvcc/record.h"
#include "raft/raft.h"
#include "schemas/api.capnp.h"
#include "schemas/segment.h"
#include "support/requests.h"

namespace quorate::sim {

bool in_range(const std::string& key, const std::string& first, const std::string& end) {
  if (end.empty()) return key == first;
  return key >= first && (end == test::kOpenEnd || key < end);
}

void Oracle::started(size_t m) {
  members_[m] = Member();
  if (const auto id = node_ids_.find(m); id != node_ids_.end()) group_.restarted(id->second);
}

void Oracle::look_at(size_t m, const raft::Raft& raft) {
  if (!verdicts_.is_on(Checker::kRaft)) return;
  node_ids_[m] = raft.id();
  std::string broken = members_[m].node.check(raft);
  if (broken.empty()) broken = group_.check(raft);
  if (!broken.empty())
    verdicts_.add(Checker::kRaft, env_.clock().now_ns(), fmt::format("member {}: {}", m, broken));
}

void Oracle::applied(size_t m, const raft::Entry& entry, const Status& status,
                     const mvcc::Store& store) {
  const uint64_t now_ns = env_.clock().now_ns();
  Member& member = members_[m];
  if (member.applied != 0 && entry.index != member.applied + 1)
    verdicts_.add(
        Checker::kEntries, now_ns,
        fmt::format("member {} applied index {} after {}", m, entry.index, member.applied));
  member.applied = entry.index;
  const Applied now{entry.term, crc32c(entry.payload.slice()), status.code(),
                    store.applied().state_hash, store.revision()};
  const auto [place, first] = entries_.emplace(entry.index, now);
  if (first) {
    note_events(store, note_leases(entry, status));
    return;
  }
  const Applied& then = place->second;
  if (now.term != then.term || now.payload != then.payload)
    verdicts_.add(Checker::kEntries, now_ns,
                  fmt::format("member {} applied another entry at index {} (term {}) than a member "
                              "before it (term {})",
                              m, entry.index, now.term, then.term));
  if (now.code != then.code || now.revision != then.revision)
    verdicts_.add(Checker::kEntries, now_ns,
                  fmt::format("member {} applied index {} with outcome {} at revision {}, another "
                              "member with outcome {} at revision {}",
                              m, entry.index, static_cast<int>(now.code), now.revision,
                              static_cast<int>(then.code), then.revision));
  if (now.state_hash != then.state_hash)
    verdicts_.add(Checker::kHash, now_ns,
                  fmt::format("member {} has the state hash {:016x} at index {}, where another has "
                              "{:016x}",
                              m, now.state_hash, entry.index, then.state_hash));
}

void Oracle::installed(size_t m, const mvcc::Store& store) {
  const raft::Index index = store.applied().entry.index;
  members_[m].applied = index;
  const auto found = entries_.find(index);
  if (found == entries_.end() || found->second.state_hash == store.applied().state_hash) return;
  verdicts_.add(Checker::kHash, env_.clock().now_ns(),
                fmt::format("member {} installed a snapshot at index {} with the state hash "
                            "{:016x}, where {:016x} belongs",
                            m, index, store.applied().state_hash, found->second.state_hash));
}

void Oracle::note_events(const mvcc::Store& store, bool ends_leases) {
  const int64_t before = revision_;
  for (const mvcc::Change& change : store.changes()) {
    if (change.revision.main <= before) continue;
    Event event{change.revision.main,
                change.revision.sub,
                change.tombstone,
                std::string(change.key),
                "",
                0,
                0,
                0};
    if (!change.tombstone) {
      const Result<mvcc::Record> record = mvcc::parse_record(change.record);
      if (!record) continue;
      event.value = std::string(record->value);
      event.create_revision = record->create_revision;
      event.version = record->version;
      event.lease = record->lease;
    }
    if (event.lease != 0)
      leased_[event.key] = event.lease;
    else if (leased_.erase(event.key) == 0 && ends_leases)
      verdicts_.add(Checker::kLease, env_.clock().now_ns(),
                    fmt::format("revision {} removed \"{}\" with a lease that it did not have",
                                event.revision, event.key));
    events_.push_back(std::move(event));
  }
  if (store.revision() < before)
    verdicts_.add(
        Checker::kContent, env_.clock().now_ns(),
        fmt::format("an entry took the revision from {} back to {}", before, store.revision()));
  revision_ = store.revision();
}

// Notes which leases the entry ends; true: it may end some.
bool Oracle::note_leases(const raft::Entry& entry, const Status& status) {
  if (!status.ok() || entry.payload.empty()) return false;
  const Result<apply::CommittedEntry> decoded = apply::decode_committed(entry);
  if (!decoded || decoded->conf_change || decoded->empty) return false;
  schema::SegmentReader reader(decoded->entry.body.slice());
  if (decoded->entry.header.kind != apply::EntryKind::kInternal) {
    const auto request = reader.root<schema::Request>();
    return request.isLease() && request.getLease().isRevoke();
  }
  const auto internal = reader.root<schema::Internal>();
  if (!internal.isExpireLeases()) return false;
  for (const auto& stamp : internal.getExpireLeases())
    expired_ns_.emplace(stamp.getLease(), env_.clock().now_ns());
  return true;
}

}  // namespace quorate::sim
