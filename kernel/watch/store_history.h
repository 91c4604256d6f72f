// SPDX-License-Identifier: Apache-2.0
// The store's past for catch-ups: one for the reader pool, one for the apply loop.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mvcc/read_txn.h"
#include "mvcc/store.h"
#include "watch/catch_up.h"

namespace quorate::watch {

// Reads behind a pin, as any reader. Changes that it gives have no `previous`.
class ReadHistory final : public History {
 public:
  // source: outlives this. deadline_ns: from then on the pin protects nothing.
  ReadHistory(mvcc::ReadSource source, uint64_t deadline_ns)
      : deadline_ns_(deadline_ns), txn_(std::move(source)) {}

  Status begin(int64_t from) override;
  int64_t revision() const override { return txn_.current(); }
  int64_t compact_revision() const override { return txn_.index().compacted(); }
  Status scan(int64_t from, int64_t to, const std::function<bool(const Change&)>& visit) override;
  Result<Slice> previous(const Change& change) override;
  // Unpins and gives the engine view back.
  void end() { txn_.end(); }

 private:
  struct Record {
    mvcc::Revision revision;
    bool tombstone;
    std::string bytes;
  };
  const uint64_t deadline_ns_;
  mvcc::ReadTxn txn_;
};

// The apply loop's own: live changes name what they replaced; the past is read as on the pool.
class ApplyHistory final : public History {
 public:
  explicit ApplyHistory(mvcc::Store* store)
      : store_(store), past_(store->read_source(), UINT64_MAX) {}
  // Another store has taken the place of the one before, its read source too.
  void restored(mvcc::Store* store) { store_ = store; }

  Status begin(int64_t from) override { return past_.begin(from); }
  int64_t revision() const override { return past_.revision(); }
  int64_t compact_revision() const override { return past_.compact_revision(); }
  Status scan(int64_t from, int64_t to, const std::function<bool(const Change&)>& visit) override;
  Result<Slice> previous(const Change& change) override;

 private:
  mvcc::Store* store_;
  ReadHistory past_;
  bool scanning_ = false;
};

}  // namespace quorate::watch
