// SPDX-License-Identifier: Apache-2.0
#include "mvcc/range.h"

#include <algorithm>
#include <utility>

namespace quorate::mvcc {
namespace {

bool outside(int64_t number, int64_t low, int64_t high) {
  return (low != 0 && number < low) || (high != 0 && number > high);
}

}  // namespace

RangeScan::RangeScan(const Index* index, const RangeQuery& query, int64_t at, Want want, bool own)
    : index_(index), query_(query), at_(at), want_(want), own_(own) {
  if (query.count_only) {
    stage_ = Stage::kCount;
  } else {
    stage_ = in_key_order() ? Stage::kWalk : Stage::kSelect;
  }
}

bool RangeScan::in_key_order() const {
  return !query_.filters() && query_.sort_target == SortTarget::kKey &&
         query_.sort_order != SortOrder::kDescend;
}

Result<bool> RangeScan::step(storage::RecordReader& reader, std::string& out, uint64_t bytes_max) {
  switch (stage_) {
    case Stage::kCount:
      if (next_slice(nullptr)) stage_ = Stage::kDone;
      break;
    case Stage::kWalk: QUORATE_TRY(walk(reader, out, bytes_max)); break;
    case Stage::kSelect: QUORATE_TRY(select(reader)); break;
    case Stage::kEmit: QUORATE_TRY(emit(reader, out, bytes_max)); break;
    case Stage::kDone: break;
  }
  return stage_ == Stage::kDone;
}

// The next keys of the range, counted; true: there are no more.
bool RangeScan::next_slice(std::vector<Revision>* visible) {
  return index_->slice(query_.range, at_, cursor_, kSliceKeys, visible, outcome_.count, own_);
}

uint64_t RangeScan::room() const {
  return query_.limit <= 0 ? UINT64_MAX : static_cast<uint64_t>(query_.limit) - outcome_.pairs;
}

Result<bool> RangeScan::give(storage::RecordReader& reader, Revision revision, std::string& out,
                             uint64_t bytes_left) {
  Result<Slice> record = reader.get(revision, false);
  if (!record) return std::move(record).error();
  const uint64_t bytes = run_bytes(record->size());
  if (bytes > bytes_left) return false;
  if (want_ == Want::kRuns) append_run(out, kRangeTag, *record);
  outcome_.kv_bytes += bytes;
  ++outcome_.pairs;
  return true;
}

// Gives the revisions of `list` from `next` on. The first one is given whatever its size.
template <typename List, typename RevisionOf>
Status RangeScan::give_all(storage::RecordReader& reader, const List& list, size_t& next,
                           std::string& out, uint64_t bytes_max, RevisionOf&& revision_of) {
  const uint64_t start = outcome_.kv_bytes;
  const size_t first = next;
  for (; next < list.size() && next - first < kSliceKeys && room() > 0; ++next) {
    const uint64_t left =
        next == first ? UINT64_MAX : bytes_max - std::min(bytes_max, outcome_.kv_bytes - start);
    Result<bool> given = give(reader, revision_of(list[next]), out, left);
    if (!given) return std::move(given).error();
    if (!*given) break;
  }
  return Status();
}

Status RangeScan::walk(storage::RecordReader& reader, std::string& out, uint64_t bytes_max) {
  if (slice_next_ == slice_.size() && !range_done_) {
    slice_.clear();
    slice_next_ = 0;
    range_done_ = next_slice(room() > 0 ? &slice_ : nullptr);
  }
  QUORATE_TRY(give_all(reader, slice_, slice_next_, out, bytes_max,
                       [](Revision revision) { return revision; }));
  if (room() == 0) slice_next_ = slice_.size();
  if (range_done_ && slice_next_ == slice_.size()) {
    outcome_.more = static_cast<uint64_t>(outcome_.count) > outcome_.pairs;
    stage_ = Stage::kDone;
  }
  return Status();
}

Status RangeScan::select(storage::RecordReader& reader) {
  slice_.clear();
  range_done_ = next_slice(&slice_);
  // Without an order, but with a target, only the first limit + 1 keys are looked at (etcd's way).
  const bool first_only =
      query_.sort_order == SortOrder::kNone && !query_.filters() && query_.limit > 0;
  for (Revision revision : slice_) {
    if (first_only && items_.size() > static_cast<uint64_t>(query_.limit)) break;
    QUORATE_TRY(consider(reader, revision));
  }
  if (range_done_) {
    sort_and_cut();
    stage_ = Stage::kEmit;
  }
  return Status();
}

Status RangeScan::consider(storage::RecordReader& reader, Revision revision) {
  if (outside(revision.main, query_.min_mod_revision, query_.max_mod_revision)) return Status();
  Item item{revision, revision.main, {}};
  const bool by_create = query_.min_create_revision != 0 || query_.max_create_revision != 0;
  const bool by_record =
      query_.sort_target != SortTarget::kKey && query_.sort_target != SortTarget::kMod;
  if (by_create || by_record) {
    Result<Slice> bytes = reader.get(revision, false);
    if (!bytes) return std::move(bytes).error();
    Result<Record> record = parse_record(*bytes);
    if (!record) return std::move(record).error();
    if (outside(record->create_revision, query_.min_create_revision, query_.max_create_revision)) {
      return Status();
    }
    if (query_.sort_target == SortTarget::kVersion) item.number = record->version;
    if (query_.sort_target == SortTarget::kCreate) item.number = record->create_revision;
    if (query_.sort_target == SortTarget::kValue) item.value = record->value;
  }
  items_.push_back(std::move(item));
  return Status();
}

void RangeScan::sort_and_cut() {
  const bool descend = query_.sort_order == SortOrder::kDescend;
  if (query_.sort_target == SortTarget::kKey) {
    if (descend) std::reverse(items_.begin(), items_.end());
  } else {
    const auto less = [](const Item& a, const Item& b) {
      return a.number != b.number ? a.number < b.number : a.value < b.value;
    };
    if (query_.sort_target == SortTarget::kValue)
      for (Item& item : items_) item.number = 0;
    std::stable_sort(items_.begin(), items_.end(), [&](const Item& a, const Item& b) {
      return descend ? less(b, a) : less(a, b);
    });
  }
  outcome_.more = items_.size() > room();
}

Status RangeScan::emit(storage::RecordReader& reader, std::string& out, uint64_t bytes_max) {
  QUORATE_TRY(give_all(reader, items_, items_next_, out, bytes_max,
                       [](const Item& item) { return item.revision; }));
  if (items_next_ == items_.size() || room() == 0) stage_ = Stage::kDone;
  return Status();
}

}  // namespace quorate::mvcc
