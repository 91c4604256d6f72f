// SPDX-License-Identifier: Apache-2.0
#include "mvcc/txn.h"

#include "base/check.h"
#include "mvcc/record.h"
#include "mvcc/store.h"

namespace quorate::mvcc {

KeyMeta WriteTxn::find(Slice key) const {
  return store_->index_.find_own(key);
}

Revision WriteTxn::next_revision() {
  QUORATE_CHECK(store_ != nullptr, "a transaction that has ended changes nothing");
  store_->hold_index();
  return {base_ + 1, next_sub_++};
}

KeyMeta WriteTxn::put(Slice key, Slice value, int64_t lease) {
  QUORATE_CHECK(!key.empty(), "a key has at least one byte");
  const Revision revision = next_revision();
  const KeyMeta before = store_->index_.put(key, revision, lease);
  QUORATE_CHECK(before.revision.main != revision.main, "a transaction puts a key once at most");
  const int64_t created = before.exists() ? before.create_revision : revision.main;
  store_->append({key, created, revision.main, before.version + 1, value, lease}, revision, false,
                 before.revision);
  return before;
}

size_t WriteTxn::delete_range(const KeyRange& range, std::vector<Deleted>* deleted) {
  std::vector<KeyIndex*>& victims = store_->victims_;
  victims.clear();
  store_->index_.live_own(range, victims);
  for (KeyIndex* victim : victims) {
    const Revision revision = next_revision();
    const KeyMeta before = victim->meta();
    store_->index_.tombstone(victim, revision);
    Record record;
    record.key = victim->key();
    store_->append(record, revision, true, before.revision);
    if (deleted != nullptr) deleted->push_back({victim->key(), before});
  }
  return victims.size();
}

Result<RangeOutcome> WriteTxn::range(const RangeQuery& query, int64_t at, std::string& out) {
  RangeScan scan(&store_->index_, query, at <= 0 ? revision() : at, RangeScan::Want::kRuns, true);
  for (bool done = false; !done;) {
    Result<bool> stepped = scan.step(store_->reader(), out, UINT64_MAX);
    if (!stepped) return std::move(stepped).error();
    done = *stepped;
  }
  return scan.outcome();
}

int64_t WriteTxn::end() {
  store_->end_txn(revision());
  store_ = nullptr;
  return revision();
}

}  // namespace quorate::mvcc
