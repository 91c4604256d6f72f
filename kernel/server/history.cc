// SPDX-License-Identifier: Apache-2.0
#include "server/history.h"

#include <algorithm>

#include "base/check.h"
#include "mvcc/record.h"

namespace quorate::server {
namespace {

constexpr size_t kRecordsPerScan = 1024;

}  // namespace

Status StoreHistory::begin(int64_t from, uint64_t deadline_ns) {
  // Pinned one below `from`, so that what `from` replaced stays too; if that is compacted already,
  // the previous pairs of `from` itself are gone, and the rest is pinned at the present.
  Status status = txn_.begin(std::max<int64_t>(from - 1, 1), deadline_ns);
  if (status.code() == Code::kCompacted)
    status = txn_.begin(std::max<int64_t>(from, 1), deadline_ns);
  if (status.code() == Code::kCompacted) status = txn_.begin(0, deadline_ns);
  return status;
}

Status StoreHistory::scan(int64_t from, int64_t to,
                          const std::function<bool(const watch::Change&)>& visit) {
  mvcc::Revision resume{from, 0};
  bool go_on = true;
  Status malformed;
  while (go_on) {
    const Result<bool> more = txn_.history(
        resume, to, kRecordsPerScan, [&](mvcc::Revision revision, bool tombstone, Slice bytes) {
          const Result<mvcc::Record> record = mvcc::parse_record(bytes);
          if (!record) {
            malformed = record.error();
            return go_on = false;
          }
          return go_on = visit({revision.main, tombstone, record->key, bytes,
                                !tombstone && record->version == 1});
        });
    if (!more) return more.error();
    if (!malformed.ok()) return malformed;
    go_on = go_on && *more;
  }
  return Status();
}

Bytes StoreHistory::previous(Slice key, int64_t revision) {
  if (revision - 1 < txn_.compacted()) return {};
  const auto record = txn_.before(key, revision);
  if (!record || !*record) return {};
  return Bytes::copy(**record);
}

Status ApplyHistory::scan(int64_t from, int64_t to,
                          const std::function<bool(const watch::Change&)>& visit) {
  StoreHistory history(source_);
  QUORATE_TRY(history.begin(from, UINT64_MAX));
  return history.scan(from, to, visit);
}

Bytes ApplyHistory::previous(Slice key, int64_t revision) {
  StoreHistory history(source_);
  if (!history.begin(revision, UINT64_MAX).ok()) return {};
  return history.previous(key, revision);
}

}  // namespace quorate::server
