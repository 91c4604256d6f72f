// SPDX-License-Identifier: Apache-2.0
#include "mvcc/read_txn.h"

#include <utility>

namespace quorate::mvcc {

Status ReadTxn::begin(int64_t revision, uint64_t deadline_ns, Index::Protect protect) {
  side_ = source_.side ? source_.side : source_.stores->get();
  Result<Index::Begun> begun = side_->index.begin_read(pin_, revision, deadline_ns, protect);
  if (!begun) return std::move(begun).error();
  begun_ = *begun;
  view_ = side_->views.get();
  return Status();
}

storage::RecordReader& ReadTxn::reader() {
  if (!reader_.has_value()) reader_.emplace(view_);
  return *reader_;
}

Result<std::optional<Slice>> ReadTxn::get(Slice key) {
  return record_of(side_->index.newest(key, begun_.at));
}

Result<std::optional<Slice>> ReadTxn::before(Slice key, int64_t main) {
  return record_of(side_->index.newest(key, main - 1));
}

Result<std::optional<Slice>> ReadTxn::record_of(Dropped newest) {
  if (newest.revision.none() || newest.tombstone) {
    QUORATE_TRY(check());  // or it has been swept meanwhile
    return std::optional<Slice>();
  }
  Result<Slice> record = reader().get(newest.revision, false);
  QUORATE_TRY(check());
  if (!record) return std::move(record).error();
  return std::optional<Slice>(*record);
}

Result<bool> ReadTxn::step(RangeScan& scan, std::string& out, uint64_t bytes_max) {
  Result<bool> done = scan.step(reader(), out, bytes_max);
  QUORATE_TRY(check());
  return done;
}

Result<RangeOutcome> ReadTxn::range(const RangeQuery& query, std::string& out, uint64_t bytes_max) {
  RangeScan range = scan(query);
  for (bool done = false; !done;) {
    Result<bool> stepped = step(range, out, bytes_max);
    if (!stepped) return std::move(stepped).error();
    done = *stepped;
    if (range.outcome().kv_bytes > bytes_max) return Status(Code::kUseRangeOpen, "");
  }
  return range.outcome();
}

Status ReadTxn::check() const {
  if (pin_.holds()) return Status();
  return Status(Code::kTimeout,
                "the read took longer than its deadline, and a compaction went on without it");
}

void ReadTxn::rest() {
  reader_.reset();
  if (side_) view_ = side_->views.get();
}

void ReadTxn::end() {
  reader_.reset();
  view_.reset();
  pin_.unpin();
  side_.reset();
}

}  // namespace quorate::mvcc
