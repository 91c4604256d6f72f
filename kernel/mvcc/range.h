// SPDX-License-Identifier: Apache-2.0
// Reading a range at one revision: the rules of limit, more, count, order and filters, in slices
// that can be resumed. The same code serves readers on the pool (behind a pin, lock held for a
// slice at a time) and transactions on the apply loop (which see their own changes).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "mvcc/index.h"
#include "mvcc/record.h"
#include "storage/read_view.h"

namespace quorate::mvcc {

enum class SortOrder : int32_t { kNone = 0, kAscend = 1, kDescend = 2 };
enum class SortTarget : int32_t { kKey = 0, kVersion = 1, kCreate = 2, kMod = 3, kValue = 4 };

// A range without its revision. The slices outlive the scan.
struct RangeQuery {
  KeyRange range;
  int64_t limit = 0;  // <= 0: none
  SortOrder sort_order = SortOrder::kNone;
  SortTarget sort_target = SortTarget::kKey;
  bool count_only = false;
  // Inclusive bounds, 0: unset.
  int64_t min_mod_revision = 0, max_mod_revision = 0;
  int64_t min_create_revision = 0, max_create_revision = 0;

  bool filters() const {
    return min_mod_revision != 0 || max_mod_revision != 0 || min_create_revision != 0 ||
           max_create_revision != 0;
  }
};

struct RangeOutcome {
  int64_t count = 0;      // keys in the range, without limit and filters
  bool more = false;      // the limit cut
  uint64_t pairs = 0;     // records given
  uint64_t kv_bytes = 0;  // of their runs
};

// One range at one revision. A scan is used by one thread at a time; between steps it holds no
// lock.
class RangeScan {
 public:
  enum class Want {
    kRuns,     // the records, as runs with kRangeTag
    kLengths,  // only what RangeOutcome says: a pull's head
  };
  // at: the revision, pinned by the caller. own: the caller is the apply loop, which needs no pin
  // and sees its own changes. index, query: outlive this.
  RangeScan(const Index* index, const RangeQuery& query, int64_t at, Want want, bool own = false);

  // Goes on for about one slice of keys; appends runs to `out`, no more than `bytes_max` of them,
  // but always at least one record, so a scan moves on. True: complete; outcome() holds.
  Result<bool> step(storage::RecordReader& reader, std::string& out, uint64_t bytes_max);

  // count and more: complete only at the end. pairs, kv_bytes: so far.
  const RangeOutcome& outcome() const { return outcome_; }

 private:
  struct Item {
    Revision revision;
    int64_t number;
    std::string value;
  };
  enum class Stage { kCount, kWalk, kSelect, kEmit, kDone };
  bool in_key_order() const;
  bool next_slice(std::vector<Revision>* visible);
  uint64_t room() const;  // records that the limit still allows
  Status walk(storage::RecordReader& reader, std::string& out, uint64_t bytes_max);
  Status select(storage::RecordReader& reader);
  Status consider(storage::RecordReader& reader, Revision revision);
  void sort_and_cut();
  Status emit(storage::RecordReader& reader, std::string& out, uint64_t bytes_max);
  template <typename List, typename RevisionOf>
  Status give_all(storage::RecordReader& reader, const List& list, size_t& next, std::string& out,
                  uint64_t bytes_max, RevisionOf&& revision_of);
  Result<bool> give(storage::RecordReader& reader, Revision revision, std::string& out,
                    uint64_t bytes_left);

  const Index* const index_;
  const RangeQuery& query_;
  const int64_t at_;
  const Want want_;
  const bool own_;
  Stage stage_;
  RangeOutcome outcome_;
  std::string cursor_;  // where the next slice of keys begins
  bool range_done_ = false;
  std::vector<Revision> slice_;  // visible, in key order
  size_t slice_next_ = 0;        // the first one not yet given
  std::vector<Item> items_;      // of a sorted or filtered range
  size_t items_next_ = 0;
};

}  // namespace quorate::mvcc
