// SPDX-License-Identifier: Apache-2.0
#include "lease/lessor.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace quorate::lease {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr size_t kStaleEntriesMax = 1024;

// A TTL of up to kTtlMax seconds does not fit behind every point in time.
uint64_t after(uint64_t now_ns, int64_t seconds) {
  const uint64_t span = static_cast<uint64_t>(seconds) * kSecondNs;
  return span > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + span;
}

}  // namespace

Status Lessor::load(Slice key, Slice record) {
  Result<LeaseRecord> lease = decode_lease(record);
  QUORATE_TRY(lease);
  if (lease->grant.lease == 0 || lease->ttl < 1 || lease->ttl > kTtlMax ||
      key != lease_key(lease->grant.lease)) {
    return Status(Code::kCorrupt, "a record of bucket lease does not fit its key");
  }
  leases_[lease->grant.lease].record = *lease;
  return Status();
}

Status Lessor::check_grant(int64_t id, int64_t ttl) const {
  if (ttl > kTtlMax) {
    return Status(Code::kLeaseTtlTooLarge, "a TTL is at most 9000000000 seconds");
  }
  if (id == 0) return Status(Code::kInvalidArgument, "a lease cannot have the id 0");
  if (exists(id)) return Status(Code::kLeaseExists, "lease " + std::to_string(id) + " exists");
  return Status();
}

LeaseRecord Lessor::grant(const Stamp& grant, int64_t ttl, int64_t ttl_min) {
  QUORATE_CHECK(check_grant(grant.lease, ttl).ok(), "a lease was granted that may not be");
  LeaseRecord& record = leases_[grant.lease].record;
  record.grant = grant;
  record.ttl = std::max({ttl, ttl_min, int64_t{1}});
  if (primary_) fresh_.push_back(grant.lease);
  return record;
}

void Lessor::release(Lease& lease, KeepAlive::Outcome outcome) {
  for (uint64_t waiter : lease.waiters) released_.push_back({waiter, outcome});
  lease.waiters.clear();
}

void Lessor::revoke(int64_t id) {
  const auto found = leases_.find(id);
  QUORATE_CHECK(found != leases_.end(), "an unknown lease was revoked");
  release(found->second, KeepAlive::Outcome::kGone);
  leases_.erase(found);
}

bool Lessor::matches(const Stamp& stamp) const {
  const auto found = leases_.find(stamp.lease);
  return found != leases_.end() && found->second.record.grant == stamp;
}

std::optional<LeaseRecord> Lessor::checkpoint(int64_t id, int64_t remaining_ttl) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return std::nullopt;
  LeaseRecord& record = found->second.record;
  record.remaining_ttl = std::clamp<int64_t>(remaining_ttl, 0, record.ttl);
  return record;
}

bool Lessor::exists(int64_t id) const {
  return leases_.count(id) != 0;
}

std::optional<LeaseRecord> Lessor::find(int64_t id) const {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return std::nullopt;
  return found->second.record;
}

size_t Lessor::size() const {
  return leases_.size();
}

std::vector<LeaseRecord> Lessor::records() const {
  std::vector<LeaseRecord> all;
  all.reserve(leases_.size());
  for (const auto& [id, lease] : leases_) all.push_back(lease.record);
  return all;
}

void Lessor::attach(int64_t id, Slice key) {
  const auto found = leases_.find(id);
  QUORATE_CHECK(found != leases_.end(), "a key was attached to an unknown lease");
  found->second.keys.emplace(key);
}

void Lessor::detach(int64_t id, Slice key) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  auto& keys = found->second.keys;
  if (const auto at = keys.find(key); at != keys.end()) keys.erase(at);
}

std::vector<std::string> Lessor::keys(int64_t id) const {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return {};
  const auto& attached = found->second.keys;
  return std::vector<std::string>(attached.begin(), attached.end());
}

void Lessor::leadership_start(uint64_t first_index, uint64_t now_ns, uint64_t extend_ns) {
  if (primary_) leadership_end();
  primary_ = true;
  first_index_ = first_index;
  for (auto& [id, lease] : leases_) {
    const LeaseRecord& record = lease.record;
    const int64_t ttl = record.remaining_ttl > 0 ? record.remaining_ttl : record.ttl;
    const uint64_t expiry = after(now_ns, ttl);
    lease.expiry_ns = expiry > UINT64_MAX - extend_ns ? UINT64_MAX : expiry + extend_ns;
    queue_.push(lease.expiry_ns, id);
  }
}

void Lessor::leadership_end() {
  primary_ = false;
  queue_.clear();
  fresh_.clear();
  for (auto& [id, lease] : leases_) {
    lease.expiry_ns = 0;
    lease.stamped = false;
    release(lease, KeepAlive::Outcome::kNotPrimary);
  }
}

void Lessor::settle(uint64_t now_ns) {
  for (int64_t id : fresh_) {
    const auto found = leases_.find(id);
    // Revoked, or revoked and granted again, since.
    if (found == leases_.end() || found->second.expiry_ns != 0) continue;
    found->second.expiry_ns = after(now_ns, found->second.record.ttl);
    queue_.push(found->second.expiry_ns, id);
  }
  fresh_.clear();
  if (queue_.size() > 2 * leases_.size() + kStaleEntriesMax) drop_stale_entries();
}

// A revoked lease leaves its entry behind until that comes up, which may be never.
void Lessor::drop_stale_entries() {
  queue_.clear();
  for (const auto& [id, lease] : leases_) queue_.push(lease.due_ns(), id);
}

KeepAlive Lessor::keep_alive(int64_t id, uint64_t arrived_ns, uint64_t waiter) {
  if (!primary_) return {KeepAlive::Outcome::kNotPrimary, 0};
  settle(arrived_ns);
  const auto found = leases_.find(id);
  if (found == leases_.end()) return {KeepAlive::Outcome::kGone, 0};
  Lease& lease = found->second;
  // Once it was stamped the revoke may be in the log already, so nothing can save the lease.
  if (lease.stamped || arrived_ns >= lease.expiry_ns) {
    lease.waiters.push_back(waiter);
    return {KeepAlive::Outcome::kExpiring, 0};
  }
  lease.expiry_ns = std::max(lease.expiry_ns, after(arrived_ns, lease.record.ttl));
  return {KeepAlive::Outcome::kRenewed, lease.record.ttl};
}

std::vector<Stamp> Lessor::tick(uint64_t now_ns, uint64_t applied_index, bool lagging) {
  std::vector<Stamp> stamps;
  if (!primary_) return stamps;
  settle(now_ns);
  if (lagging || applied_index < first_index_) return stamps;
  while (!queue_.empty() && queue_.top().due_ns <= now_ns && stamps.size() < kStampsMax) {
    const int64_t id = queue_.top().lease;
    queue_.pop();
    const auto found = leases_.find(id);
    if (found == leases_.end()) continue;
    Lease& lease = found->second;
    if (lease.due_ns() > now_ns) {
      // Renewed since, or another entry has stamped it.
      queue_.push(lease.due_ns(), id);
      continue;
    }
    lease.stamped = true;
    lease.retry_ns = now_ns + kStampRetryNs;
    stamps.push_back(lease.record.grant);
    queue_.push(lease.retry_ns, id);
  }
  return stamps;
}

Result<std::optional<TimeToLive>> Lessor::time_to_live(int64_t id, bool with_keys,
                                                       uint64_t now_ns) {
  if (!primary_) {
    return Status(Code::kNotPrimaryLessor, "this member does not lead; ask the leader");
  }
  settle(now_ns);
  const auto found = leases_.find(id);
  if (found == leases_.end()) return std::optional<TimeToLive>();
  const Lease& lease = found->second;
  TimeToLive result;
  if (lease.expiry_ns > now_ns) {
    result.ttl = static_cast<int64_t>((lease.expiry_ns - now_ns) / kSecondNs);
  }
  result.granted_ttl = lease.record.ttl;
  if (with_keys) result.keys = keys(id);
  return std::optional<TimeToLive>(std::move(result));
}

std::vector<int64_t> Lessor::list() const {
  std::vector<std::pair<uint64_t, int64_t>> order;
  order.reserve(leases_.size());
  for (const auto& [id, lease] : leases_) {
    // A lease whose clock has not started was granted last.
    const uint64_t expiry = primary_ && lease.expiry_ns == 0 ? UINT64_MAX : lease.expiry_ns;
    order.emplace_back(expiry, id);
  }
  std::sort(order.begin(), order.end());
  std::vector<int64_t> ids;
  ids.reserve(order.size());
  for (const auto& [expiry, id] : order) ids.push_back(id);
  return ids;
}

std::vector<ReleasedWaiter> Lessor::take_released() {
  return std::exchange(released_, {});
}

}  // namespace quorate::lease
