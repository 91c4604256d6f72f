// SPDX-License-Identifier: Apache-2.0
#include "watch/store_history.h"

#include <utility>

#include "mvcc/record.h"

namespace quorate::watch {
namespace {

constexpr size_t kRecordsAtOnce = 128;

}  // namespace

Status ReadHistory::begin(int64_t from) {
  txn_.end();
  return txn_.begin(from, deadline_ns_, mvcc::Index::Protect::kHistory);
}

// The records of a slice are copied before any is shown: who is shown one may ask for its
// predecessor, and that look-up ends what the reader gave before.
Status ReadHistory::scan(int64_t from, int64_t to,
                         const std::function<bool(const Change&)>& visit) {
  mvcc::Revision resume{from, 0};
  for (bool more = true; more;) {
    std::vector<Record> slice;
    const Result<bool> read = txn_.history(
        resume, to, kRecordsAtOnce, [&](mvcc::Revision revision, bool tombstone, Slice record) {
          slice.push_back({revision, tombstone, std::string(record)});
          return true;
        });
    QUORATE_TRY(read.status());
    more = *read;
    for (const Record& each : slice) {
      const Result<mvcc::Record> record = mvcc::parse_record(each.bytes);
      QUORATE_TRY(record.status());
      const Change change{each.revision, each.tombstone, record->key, each.bytes, {}};
      if (!visit(change)) return Status();
    }
  }
  return Status();
}

Result<Slice> ReadHistory::previous(const Change& change) {
  // What lies before the compact revision may be there or not, so it is never shown.
  if (change.revision.main <= txn_.compacted()) return Slice();
  Result<std::optional<Slice>> found = txn_.before(change.key, change.revision.main);
  QUORATE_TRY(found.status());
  return found->value_or(Slice());
}

Status ApplyHistory::scan(int64_t from, int64_t to,
                          const std::function<bool(const Change&)>& visit) {
  scanning_ = true;
  Status status = past_.scan(from, to, visit);
  scanning_ = false;
  past_.end();
  return status;
}

Result<Slice> ApplyHistory::previous(const Change& change) {
  if (scanning_) return past_.previous(change);
  if (change.previous.none()) return Slice();
  return store_->read(change.previous);
}

}  // namespace quorate::watch
