// SPDX-License-Identifier: Apache-2.0
// Reading on the pool: one pinned revision, and whatever is asked of it. Used by one thread at a
// time; between calls it may rest, which gives the engine view back, and go on later at the same
// revision. The pin goes with it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "mvcc/index.h"
#include "mvcc/range.h"
#include "storage/read_view.h"

namespace quorate::mvcc {

// What the readers of one store share with apply. They hold it by counted pointers, so that a read
// that began before a snapshot was installed ends on the store that it began on.
struct ReadSide {
  Index index;
  storage::CurrentReadView views;
};

// Where a read finds the store of this moment.
struct ReadSource {
  const storage::Published<ReadSide>* stores = nullptr;  // outlives every reader
  std::shared_ptr<ReadSide> side;  // not null: this store, though another may have come since
};

class ReadTxn {
 public:
  explicit ReadTxn(ReadSource source) : source_(std::move(source)) {}
  ReadTxn(const ReadTxn&) = delete;
  ReadTxn& operator=(const ReadTxn&) = delete;

  // For a second read beside this one, of the same store. REQUIRES: begun.
  ReadSource source() const { return {source_.stores, side_}; }
  // Also after a begin() that was refused.
  const Index& index() const { return side_->index; }

  // Picks and pins the revision, and takes the read view. revision <= 0: the current one.
  // kCompacted, kFutureRevision. deadline_ns: from then on the pin protects nothing.
  Status begin(int64_t revision, uint64_t deadline_ns,
               Index::Protect protect = Index::Protect::kRevision);

  int64_t current() const { return begun_.current; }      // for the header of the answer
  int64_t compacted() const { return begun_.compacted; }  // kNeverCompacted (-1) if it never was
  int64_t at() const { return begun_.at; }
  const storage::ReadView& view() const { return *view_; }  // view().attached: the auth snapshot

  // The record of `key` at this revision, or nothing. Valid until the next call.
  Result<std::optional<Slice>> get(Slice key);

  // query: outlives the scan.
  RangeScan scan(const RangeQuery& query, RangeScan::Want want = RangeScan::Want::kRuns) const {
    return RangeScan(&side_->index, query, begun_.at, want);
  }
  // One step of a scan of this transaction; see RangeScan::step(). kTimeout when the pin is lost.
  Result<bool> step(RangeScan& scan, std::string& out, uint64_t bytes_max);
  // A whole range in one go, for answers in one piece. kUseRangeOpen when the runs would be longer
  // than `bytes_max`.
  Result<RangeOutcome> range(const RangeQuery& query, std::string& out, uint64_t bytes_max);

  // The records with main revisions in [resume.main, to], tombstones included, in order, at most
  // `records_max`: visit(Revision, bool tombstone, Slice record) -> bool (false stops behind that
  // record). True: there is more, from `resume` on. REQUIRES: begun at or below the first revision.
  template <typename Visit>
  Result<bool> history(Revision& resume, int64_t to, size_t records_max, Visit&& visit);
  // The record that was visible for `key` just before revision `main`, or nothing: a previous pair.
  Result<std::optional<Slice>> before(Slice key, int64_t main);

  // OK, or kTimeout: the deadline passed and compaction went on.
  Status check() const;
  // Gives the engine view back and takes the current read view at the next use. To be called at
  // least once a second in a long read.
  void rest();
  // Unpins. begin() may be called again.
  void end();

 private:
  storage::RecordReader& reader();
  Result<std::optional<Slice>> record_of(Dropped newest);

  const ReadSource source_;
  std::shared_ptr<ReadSide> side_;  // of the present read; ends after its pin
  Pin pin_;
  Index::Begun begun_{};
  std::shared_ptr<const storage::ReadView> view_;
  std::optional<storage::RecordReader> reader_;
};

template <typename Visit>
Result<bool> ReadTxn::history(Revision& resume, int64_t to, size_t records_max, Visit&& visit) {
  Result<bool> more = reader().scan(resume, Revision{to + 1, 0}, records_max, resume,
                                    [&](Revision revision, bool tombstone, Slice, Slice record) {
                                      return visit(revision, tombstone, record);
                                    });
  QUORATE_TRY(check());
  return more;
}

}  // namespace quorate::mvcc
