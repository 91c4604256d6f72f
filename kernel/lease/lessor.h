// SPDX-License-Identifier: Apache-2.0
// The leases of the cluster, and, on the leader, their clocks.
//
// What is replicated (which leases exist, their TTL, their grant) changes only through grant(),
// revoke() and checkpoint(), the same on every member and without a clock. When a lease expires is
// the leader's own knowledge: it lives from leadership_start() to leadership_end(), and time comes
// in as arguments. Expiry only ever *proposes* a revoke, which names the grant that it means.
//
// Invariants: a key is attached to at most one lease; a lease that was stamped for expiry is never
// renewed again; nothing is stamped before the leader has applied the first entry of its term.
// Owned by the apply loop.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/status.h"
#include "lease/expiry_queue.h"

namespace quorate::lease {

inline constexpr int64_t kTtlMax = 9'000'000'000;  // seconds
inline constexpr size_t kStampsMax = 1000;         // of one tick
inline constexpr uint64_t kStampRetryNs = 3'000'000'000;

// Which grant a revoke means.
struct Stamp {
  int64_t lease = 0;
  int64_t grant_revision = 0;  // the store's revision at the grant
  uint64_t grant_index = 0;    // the log index of the grant
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

struct LeaseRecord {
  Stamp grant;
  int64_t ttl = 0;            // seconds, as granted
  int64_t remaining_ttl = 0;  // of a checkpoint; 0: none
};

// The record's key in bucket `lease`, and leasepb.Lease in wire form: 1 ID, 2 TTL, 3 RemainingTTL;
// 100 and 101, which etcd skips, are the revision and the index of the grant.
std::string lease_key(int64_t id);
std::string encode_lease(const LeaseRecord& lease);
// kCorrupt: no such record.
Result<LeaseRecord> decode_lease(Slice record);

struct KeepAlive {
  enum class Outcome {
    kRenewed,     // ttl is the full TTL
    kGone,        // there is no such lease: TTL 0
    kExpiring,    // its revoke is on the way; the waiter comes back through take_released()
    kNotPrimary,  // this member does not lead
  };
  Outcome outcome = Outcome::kGone;
  int64_t ttl = 0;
};

// A keep-alive that waited for a revoke: kGone when it was applied, kNotPrimary when leadership
// ended before.
struct ReleasedWaiter {
  uint64_t waiter = 0;
  KeepAlive::Outcome outcome = KeepAlive::Outcome::kGone;
};

struct TimeToLive {
  int64_t ttl = 0;  // whole seconds left
  int64_t granted_ttl = 0;
  std::vector<std::string> keys;  // sorted; empty unless asked for
};

class Lessor {
 public:
  // ---- replicated state

  // A record of bucket `lease`, at start. kCorrupt.
  Status load(Slice key, Slice record);
  // Whether grant() would succeed: kLeaseTtlTooLarge, kLeaseExists; kInvalidArgument for id 0.
  Status check_grant(int64_t id, int64_t ttl) const;
  // The record to store. ttl is raised to ttl_min. REQUIRES: check_grant() is OK.
  LeaseRecord grant(const Stamp& grant, int64_t ttl, int64_t ttl_min);
  // Forgets the lease and its attachments, and releases who waits for that. REQUIRES: exists.
  void revoke(int64_t id);
  // The lease as a revoke stamp means it, or null: unknown, or granted anew since.
  bool matches(const Stamp& stamp) const;
  // Sets the remaining TTL that a new leader starts from; null: unknown lease.
  std::optional<LeaseRecord> checkpoint(int64_t id, int64_t remaining_ttl);

  bool exists(int64_t id) const;
  std::optional<LeaseRecord> find(int64_t id) const;
  size_t size() const;
  // All records, sorted by id.
  std::vector<LeaseRecord> records() const;

  // A put made `key` part of lease `id`. REQUIRES: exists(id).
  void attach(int64_t id, Slice key);
  // The key left lease `id` (its record said so). An unknown lease or key is OK: it was revoked.
  void detach(int64_t id, Slice key);
  // The keys of a lease, sorted; empty for an unknown one.
  std::vector<std::string> keys(int64_t id) const;

  // ---- the leader's clocks

  // From now on this member leads: every lease gets its full TTL (or the checkpointed rest) plus
  // `extend_ns`, up to an election timeout, from now_ns. Nothing is stamped before `first_index`,
  // the first entry of the term, is applied.
  void leadership_start(uint64_t first_index, uint64_t now_ns, uint64_t extend_ns);
  void leadership_end();
  bool is_primary() const { return primary_; }

  // Starts the clocks of leases granted since the last call that knew the time. The apply loop
  // calls it at the end of a turn; everything below does so too.
  void settle(uint64_t now_ns);
  // Renews from `arrived_ns`, the time the call came in. REQUIRES: called before the tick of the
  // same turn, and after this member has confirmed its leadership and applied what was committed
  // then. `waiter` names the call if it must wait.
  KeepAlive keep_alive(int64_t id, uint64_t arrived_ns, uint64_t waiter);
  // The leases whose time is up, to be proposed for expiry as one entry; at most kStampsMax, the
  // most overdue first. One that is not revoked comes again after kStampRetryNs. lagging: apply is
  // more than a second behind, so nothing expires.
  std::vector<Stamp> tick(uint64_t now_ns, uint64_t applied_index, bool lagging);
  // kNotPrimaryLessor off the leader; null for an unknown lease.
  Result<std::optional<TimeToLive>> time_to_live(int64_t id, bool with_keys, uint64_t now_ns);
  // All ids; on the leader the one that expires first comes first, elsewhere by id.
  std::vector<int64_t> list() const;
  // Keep-alives whose wait has ended since the last call.
  std::vector<ReleasedWaiter> take_released();
  // Entries in the expiry queue, stale ones too; for metrics.
  size_t queued() const { return queue_.size(); }

 private:
  struct Lease {
    LeaseRecord record;
    std::set<std::string, std::less<>> keys;
    std::vector<uint64_t> waiters;
    uint64_t expiry_ns = 0;  // on the leader, once settled; else 0
    bool stamped = false;    // proposed for expiry in this leadership
    uint64_t retry_ns = 0;   // when stamped: not stamped again before
    uint64_t due_ns() const { return stamped ? retry_ns : expiry_ns; }
  };
  void drop_stale_entries();
  void release(Lease& lease, KeepAlive::Outcome outcome);

  std::map<int64_t, Lease> leases_;
  std::vector<ReleasedWaiter> released_;
  bool primary_ = false;
  uint64_t first_index_ = 0;    // of the leadership
  std::vector<int64_t> fresh_;  // granted under this leadership, clock not yet started
  ExpiryQueue queue_;           // an entry for each lease with a clock, and stale ones
};

}  // namespace quorate::lease
