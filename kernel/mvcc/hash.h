// SPDX-License-Identifier: Apache-2.0
// The hashes that clients and members compare. HashKV covers the records up to one revision and is
// equal on all members with equal data, however far each has got with deleting what a compaction
// dropped; Hash covers every bucket of the engine and is for tests.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "mvcc/read_txn.h"
#include "storage/engine.h"

namespace quorate::mvcc {

struct HashKvResult {
  uint32_t hash = 0;
  int64_t compact_revision = kNeverCompacted;  // that was used
  int64_t hash_revision = 0;                   // what was asked, resolved
  int64_t current_revision = 0;                // for the header
};

// HashKV in slices. One thread at a time.
class HashKv {
 public:
  explicit HashKv(ReadSource source) : txn_(std::move(source)) {}
  // revision 0: the current one. kCompacted, kFutureRevision.
  Status begin(int64_t revision, uint64_t deadline_ns);
  // True: complete; result() holds.
  Result<bool> step();
  const HashKvResult& result() const { return result_; }
  // See ReadTxn::rest().
  void rest() { txn_.rest(); }

 private:
  bool find_any_live() const;
  Result<bool> counts(Revision revision, bool tombstone, Slice record) const;

  ReadTxn txn_;
  HashKvResult result_;
  bool any_live_ = false;  // some key is visible at the hash revision
  Revision resume_;
};

// CRC-32C over name, keys and values of every bucket in name order, without `meta/applied`. The
// caller has the buffer written first if it should count.
Result<uint32_t> hash_engine(storage::EngineView& view);

}  // namespace quorate::mvcc
