// SPDX-License-Identifier: Apache-2.0
// Runs the key-value operations of an entry on a store transaction. Every request is checked whole,
// with the branches that its compares choose, before its first change; from there on only the
// engine can fail, and that ends the member.
#pragma once

#include <vector>

#include "apply/request.h"
#include "base/result.h"
#include "mvcc/txn.h"
#include "schemas/api.capnp.h"

namespace quorate::mvcc {
class Store;
}
namespace quorate::lease {
class Lessor;
}

namespace quorate::apply {

// Which branch each transaction takes: the outer first, then those nested in the branch it takes,
// in the order in which they run.
using Choices = std::vector<bool>;

class TxnExecutor {
 public:
  TxnExecutor(mvcc::Store* store, lease::Lessor* lessor) : store_(store), lessor_(lessor) {}

  // Against the state before the entry; nothing changes. The client's answer, or kInternal.
  Status check(const PutOp& op);
  Result<Choices> check(const TxnOp& op);

  // REQUIRES: checked, and nothing has changed since. result: null when nobody waits for it. An
  // error is kInternal: the engine failed.
  Status put(mvcc::WriteTxn& txn, const PutOp& op, schema::PutResult::Builder* result);
  Status delete_range(mvcc::WriteTxn& txn, const DeleteRangeOp& op,
                      schema::DeleteRangeResult::Builder* result);
  Status run(mvcc::WriteTxn& txn, const TxnOp& op, const Choices& choices,
             schema::TxnResult::Builder* result);

 private:
  Status check(const RangeOp& op) const;
  Status plan(const TxnOp& op, Choices& choices);
  Status run(mvcc::WriteTxn& txn, const TxnOp& op, const Choices& choices, size_t& next,
             schema::TxnResult::Builder* result);
  Status run(mvcc::WriteTxn& txn, const BranchOp& op, const Choices& choices, size_t& next,
             schema::OpResult::Builder* result);
  Status range(mvcc::WriteTxn& txn, const RangeOp& op, schema::RangeResult::Builder* result);
  Status kept_value(const mvcc::KeyMeta& meta, std::string& value);

  mvcc::Store* const store_;
  lease::Lessor* const lessor_;
};

// An error that is not a client's: the engine gave no record that the index names.
Status engine_failed(Status status);

}  // namespace quorate::apply
