// SPDX-License-Identifier: Apache-2.0
#include "mvcc/hash.h"

#include "base/crc32c.h"
#include "mvcc/record.h"
#include "storage/applied.h"

namespace quorate::mvcc {
namespace {

constexpr size_t kRecordsPerStep = 1000;

}  // namespace

Status HashKv::begin(int64_t revision, uint64_t deadline_ns) {
  QUORATE_TRY(txn_.begin(revision, deadline_ns, Index::Protect::kHistory));
  result_.compact_revision = txn_.compacted();
  result_.hash_revision = txn_.at();
  result_.current_revision = txn_.current();
  result_.hash = crc32c(storage::name(storage::Bucket::kKey));
  resume_ = {};
  any_live_ = find_any_live();
  return Status();
}

bool HashKv::find_any_live() const {
  const KeyRange all = KeyRange::from_client(Slice("\0", 1), Slice("\0", 1));
  std::string cursor;
  int64_t live = 0;
  bool done = false;
  while (!done && live == 0) {
    done = txn_.index().slice(all, txn_.at(), cursor, kSliceKeys, nullptr, live, false);
  }
  return live > 0;
}

Result<bool> HashKv::counts(Revision revision, bool tombstone, Slice record) const {
  if (revision.main > result_.compact_revision) return true;
  if (tombstone) {
    // Older members have deleted one exactly at the compact revision, newer ones have not; below it
    // none is left.
    return false;
  }
  Result<Record> parsed = parse_record(record);
  if (!parsed) return std::move(parsed).error();
  // Where no key lives at the hash revision etcd leaves nothing out, so what counts is what its
  // finished compaction left behind, however far this member's own has got.
  const int64_t at = any_live_ ? txn_.at() : result_.compact_revision;
  return txn_.index().newest(parsed->key, at).revision == revision;
}

Result<bool> HashKv::step() {
  Status failed;
  Result<bool> more = txn_.history(
      resume_, txn_.at(), kRecordsPerStep, [&](Revision revision, bool tombstone, Slice record) {
        Result<bool> counted = counts(revision, tombstone, record);
        if (!counted) {
          failed = std::move(counted).error();
          return false;
        }
        if (*counted) {
          const storage::RecordKey key(revision, tombstone);
          result_.hash = crc32c(record, crc32c(key.slice(), result_.hash));
        }
        return true;
      });
  QUORATE_TRY(std::move(failed));
  if (!more) return std::move(more).error();
  if (!*more) txn_.end();
  return !*more;
}

Result<uint32_t> hash_engine(storage::EngineView& view) {
  uint32_t hash = 0;
  for (uint32_t bucket = 0; bucket < storage::kBucketCount; ++bucket) {
    hash = crc32c(storage::kBucketNames[bucket], hash);
    Result<plugin::Cursor> cursor = view.read().cursor(bucket);
    if (!cursor) return std::move(cursor).error();
    Result<bool> at_pair = cursor->seek("");
    for (; at_pair && *at_pair; at_pair = cursor->next()) {
      if (bucket == number(storage::Bucket::kMeta) && cursor->key() == storage::kAppliedKey) {
        continue;
      }
      hash = crc32c(cursor->value(), crc32c(cursor->key(), hash));
    }
    if (!at_pair) return std::move(at_pair).error();
  }
  return hash;
}

}  // namespace quorate::mvcc
