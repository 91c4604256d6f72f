// SPDX-License-Identifier: Apache-2.0
// Requests for tests, spelled shortly.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apply/request.h"
#include "apply/results.h"
#include "schemas/api.capnp.h"
#include "schemas/segment.h"

namespace quorate::apply {

using FillRequest = std::function<void(schema::Request::Builder)>;
using FillInternal = std::function<void(schema::Internal::Builder)>;
using FillTxn = std::function<void(schema::TxnRequest::Builder)>;

inline Bytes client_body(const FillRequest& fill) {
  schema::SegmentBuilder builder;
  fill(builder.start<schema::Request>());
  return Bytes::copy(builder.finish());
}
inline Bytes internal_body(const FillInternal& fill) {
  schema::SegmentBuilder builder;
  fill(builder.start<schema::Internal>());
  return Bytes::copy(builder.finish());
}

// One operation of a branch; also a request of its own.
struct Op {
  enum Kind { kNone, kRange, kPut, kDelete, kTxn } kind = kNone;
  std::string key, end, value;
  int64_t lease = 0, revision = 0, limit = 0;
  bool prev_kv = false, ignore_value = false, ignore_lease = false, serializable = false;
  int32_t sort_order = 0, sort_target = 0;
  struct Compare {
    std::string key;
    int32_t target = 0, result = 0;
    int64_t number = 0;
    std::string value = {}, end = {};
  };
  std::vector<Compare> compares;
  std::vector<Op> success, failure;
};

inline Op put(std::string key, std::string value, int64_t lease = 0) {
  Op op;
  op.kind = Op::kPut;
  op.key = std::move(key);
  op.value = std::move(value);
  op.lease = lease;
  return op;
}
inline Op del(std::string key, std::string end = "") {
  Op op;
  op.kind = Op::kDelete;
  op.key = std::move(key);
  op.end = std::move(end);
  return op;
}
inline Op range(std::string key, std::string end = "", int64_t revision = 0) {
  Op op;
  op.kind = Op::kRange;
  op.key = std::move(key);
  op.end = std::move(end);
  op.revision = revision;
  return op;
}
inline Op txn(std::vector<Op::Compare> compares, std::vector<Op> success,
              std::vector<Op> failure = {}) {
  Op op;
  op.kind = Op::kTxn;
  op.compares = std::move(compares);
  op.success = std::move(success);
  op.failure = std::move(failure);
  return op;
}
inline Op with_prev(Op op) {
  op.prev_kv = true;
  return op;
}
inline const std::string kOpenEnd(1, '\0');

inline void write(const Op& op, schema::RangeRequest::Builder to) {
  to.setKey(to_data(op.key));
  to.setRangeEnd(to_data(op.end));
  to.setRevision(op.revision);
  to.setLimit(op.limit);
  to.setSortOrder(op.sort_order);
  to.setSortTarget(op.sort_target);
  to.setSerializable(op.serializable);
}
inline void write(const Op& op, schema::PutRequest::Builder to) {
  to.setKey(to_data(op.key));
  to.setValue(to_data(op.value));
  to.setLease(op.lease);
  to.setPrevKv(op.prev_kv);
  to.setIgnoreValue(op.ignore_value);
  to.setIgnoreLease(op.ignore_lease);
}
inline void write(const Op& op, schema::DeleteRangeRequest::Builder to) {
  to.setKey(to_data(op.key));
  to.setRangeEnd(to_data(op.end));
  to.setPrevKv(op.prev_kv);
}
inline void write(const Op& op, schema::TxnRequest::Builder to);
inline void write(const Op& op, schema::RequestOp::Builder to) {
  switch (op.kind) {
    case Op::kNone: to.setNone(); break;
    case Op::kRange: write(op, to.initRange()); break;
    case Op::kPut: write(op, to.initPut()); break;
    case Op::kDelete: write(op, to.initDeleteRange()); break;
    case Op::kTxn: write(op, to.initTxn()); break;
  }
}
inline void write(const std::vector<Op>& ops, capnp::List<schema::RequestOp>::Builder to) {
  for (size_t i = 0; i < ops.size(); ++i) write(ops[i], to[static_cast<unsigned>(i)]);
}
inline void write(const Op& op, schema::TxnRequest::Builder to) {
  auto compares = to.initCompare(static_cast<unsigned>(op.compares.size()));
  for (size_t i = 0; i < op.compares.size(); ++i) {
    auto each = compares[static_cast<unsigned>(i)];
    each.setKey(to_data(op.compares[i].key));
    each.setRangeEnd(to_data(op.compares[i].end));
    each.setTarget(op.compares[i].target);
    each.setResult(op.compares[i].result);
    each.setNumber(op.compares[i].number);
    each.setValue(to_data(op.compares[i].value));
  }
  write(op.success, to.initSuccess(static_cast<unsigned>(op.success.size())));
  write(op.failure, to.initFailure(static_cast<unsigned>(op.failure.size())));
}

inline Bytes body_of(const Op& op) {
  return client_body([&](schema::Request::Builder to) {
    switch (op.kind) {
      case Op::kRange: write(op, to.initRange()); break;
      case Op::kPut: write(op, to.initPut()); break;
      case Op::kDelete: write(op, to.initDeleteRange()); break;
      case Op::kTxn: write(op, to.initTxn()); break;
      case Op::kNone: break;
    }
  });
}

}  // namespace quorate::apply
