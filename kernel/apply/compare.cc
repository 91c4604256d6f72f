// SPDX-License-Identifier: Apache-2.0
#include "apply/compare.h"

#include "base/coding.h"
#include "mvcc/record.h"

namespace quorate::apply {
namespace {

enum Target : int32_t { kVersion = 0, kCreate = 1, kMod = 2, kValue = 3, kLease = 4 };
enum Relation : int32_t { kEqual = 0, kGreater = 1, kLess = 2, kNotEqual = 3 };

int order(int64_t left, int64_t right) {
  return left < right ? -1 : left > right ? 1 : 0;
}

int order(const CompareOp& compare, const KeyFacts& left) {
  switch (compare.target) {
    case kVersion: return order(left.version, compare.number);
    case kCreate: return order(left.create_revision, compare.number);
    case kMod: return order(left.mod_revision, compare.number);
    case kLease: return order(left.lease, compare.number);
    case kValue: return left.value.compare(compare.value);
    default: return 0;
  }
}

KeyFacts facts(const mvcc::Record& record) {
  return {true,         record.version, record.create_revision, record.mod_revision,
          record.lease, record.value};
}

Result<bool> holds_for_all(Slice runs, const CompareOp& compare) {
  if (runs.empty()) return holds(compare, KeyFacts());
  while (!runs.empty()) {
    runs.remove_prefix(1);
    uint64_t size = 0;
    Slice bytes;
    if (!take_varint(runs, size) || !take_bytes(runs, size, bytes)) {
      return Status(Code::kInternal, "a run of records is cut short");
    }
    const Result<mvcc::Record> record = mvcc::parse_record(bytes);
    QUORATE_TRY(record.status());
    if (!holds(compare, facts(*record))) return false;
  }
  return true;
}

}  // namespace

bool holds(const CompareOp& compare, const KeyFacts& left) {
  if (compare.target == kValue && !left.exists) return false;
  const int result = order(compare, left);
  switch (compare.result) {
    case kEqual: return result == 0;
    case kGreater: return result > 0;
    case kLess: return result < 0;
    case kNotEqual: return result != 0;
    default: return true;
  }
}

Result<bool> all_hold(CompareView& view, const std::vector<CompareOp>& compares) {
  for (const CompareOp& compare : compares) {
    if (compare.range_end.empty()) {
      const Result<KeyFacts> left = view.key(compare.key, compare.target == kValue);
      QUORATE_TRY(left.status());
      if (!holds(compare, *left)) return false;
      continue;
    }
    const Result<std::string> runs = view.runs(compare.key, compare.range_end);
    QUORATE_TRY(runs.status());
    const Result<bool> all = holds_for_all(*runs, compare);
    if (!all || !*all) return all;
  }
  return true;
}

}  // namespace quorate::apply
