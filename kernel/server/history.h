// SPDX-License-Identifier: Apache-2.0
// The store's past, as watchers are caught up from it.
#pragma once

#include <cstdint>
#include <functional>

#include "mvcc/read_txn.h"
#include "watch/catch_up.h"

namespace quorate::server {

// One catch-up on the reader pool: a moment of the store, pinned for as long as this lives.
class StoreHistory final : public watch::History {
 public:
  explicit StoreHistory(mvcc::ReadSource source) : txn_(source) {}
  // Pins what a scan from `from` on needs, its previous pairs included. kCompacted is no error
  // here: compact_revision() then says so.
  Status begin(int64_t from, uint64_t deadline_ns);

  int64_t revision() override { return txn_.current(); }
  int64_t compact_revision() override { return txn_.compacted(); }
  Status scan(int64_t from, int64_t to,
              const std::function<bool(const watch::Change&)>& visit) override;
  Bytes previous(Slice key, int64_t revision) override;

 private:
  mvcc::ReadTxn txn_;
};

// The apply loop's own view, always of the present; used between batches.
class ApplyHistory final : public watch::History {
 public:
  explicit ApplyHistory(mvcc::ReadSource source) : source_(source) {}
  int64_t revision() override { return source_.index->published(); }
  int64_t compact_revision() override { return source_.index->compacted(); }
  Status scan(int64_t from, int64_t to,
              const std::function<bool(const watch::Change&)>& visit) override;
  Bytes previous(Slice key, int64_t revision) override;

 private:
  const mvcc::ReadSource source_;
};

}  // namespace quorate::server
