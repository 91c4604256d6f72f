// SPDX-License-Identifier: Apache-2.0
// Random transactions against a model that is as plain as can be: a map, and rules read off the
// reference one by one.
#include <map>

#include "base/key_range.h"
#include "base/random.h"
#include "unit/apply/bench.h"

namespace quorate::apply {
namespace {

struct Pair {
  std::string value;
  int64_t create = 0, mod = 0, version = 0, lease = 0;
};
using State = std::map<std::string, Pair>;

struct Write {
  bool is_put;
  Op op;
};
bool in_range(const Op& op, const std::string& key) {
  return KeyRange::from_client(op.key, op.end).contains(key);
}
bool clash(const Write& a, const Write& b) {
  if (a.is_put && b.is_put) return a.op.key == b.op.key;
  if (a.is_put) return in_range(b.op, a.op.key);
  return b.is_put && in_range(a.op, b.op.key);
}
// The writes of a branch, or nothing when it changes a key twice.
std::optional<std::vector<Write>> writes_of(const std::vector<Op>& branch) {
  std::vector<Write> all;
  for (const Op& op : branch) {
    std::vector<Write> own;
    if (op.kind == Op::kPut || op.kind == Op::kDelete) own.push_back({op.kind == Op::kPut, op});
    if (op.kind == Op::kTxn) {
      const auto success = writes_of(op.success), failure = writes_of(op.failure);
      if (!success || !failure) return std::nullopt;
      own = *success;
      own.insert(own.end(), failure->begin(), failure->end());
    }
    for (const Write& one : own) {
      for (const Write& other : all) {
        if (clash(one, other)) return std::nullopt;
      }
    }
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

class Model {
 public:
  int64_t revision = 1;
  State now;
  std::string trace;  // of the last transaction: what its operations answered

  Code run(const Op& txn) {
    trace.clear();
    if (!writes_of(txn.success) || !writes_of(txn.failure)) return Code::kDuplicateKey;
    before_ = now;
    changed_ = false;
    if (const Code code = check(txn); code != Code::kOk) return code;
    execute(txn);
    if (changed_) ++revision;
    return Code::kOk;
  }

 private:
  bool holds(const Op::Compare& compare) const {
    const auto found = before_.find(compare.key);
    const Pair left = found == before_.end() ? Pair() : found->second;
    if (compare.target == 3) {
      if (found == before_.end()) return false;
      return related(left.value.compare(compare.value), compare.result);
    }
    const int64_t numbers[] = {left.version, left.create, left.mod, 0, left.lease};
    const int64_t number = numbers[compare.target];
    return related(number < compare.number ? -1 : number > compare.number, compare.result);
  }
  static bool related(int order, int32_t result) {
    return result == 0   ? order == 0
           : result == 1 ? order > 0
           : result == 2 ? order < 0
                         : order != 0;
  }
  const std::vector<Op>& chosen(const Op& txn) const {
    for (const auto& compare : txn.compares) {
      if (!holds(compare)) return txn.failure;
    }
    return txn.success;
  }
  Code check(const Op& txn) const {
    for (const Op& op : chosen(txn)) {
      Code code = Code::kOk;
      if (op.kind == Op::kTxn) code = check(op);
      if (op.kind == Op::kPut && op.lease > 1) code = Code::kLeaseNotFound;
      if (code == Code::kOk && op.kind == Op::kPut && (op.ignore_value || op.ignore_lease) &&
          before_.count(op.key) == 0) {
        code = Code::kKeyNotFound;
      }
      if (op.kind == Op::kRange && op.revision > revision) code = Code::kFutureRevision;
      if (code != Code::kOk) return code;
    }
    return Code::kOk;
  }
  void execute(const Op& txn) {
    const auto& branch = chosen(txn);
    trace += &branch == &txn.success ? "(1" : "(0";
    for (const Op& op : branch) execute_one(op);
    trace += ")";
  }
  void execute_one(const Op& op) {
    if (op.kind == Op::kTxn) return execute(op);
    if (op.kind == Op::kPut) {
      Pair& pair = now[op.key];
      if (pair.version == 0) pair.create = revision + 1;
      pair.mod = revision + 1;
      ++pair.version;
      if (!op.ignore_value) pair.value = op.value;
      if (!op.ignore_lease) pair.lease = op.lease;
      changed_ = true;
      trace += " put";
    } else if (op.kind == Op::kDelete) {
      const size_t deleted =
          std::erase_if(now, [&](const auto& pair) { return in_range(op, pair.first); });
      changed_ = changed_ || deleted > 0;
      trace += " del" + std::to_string(deleted);
    } else {
      trace += " [";
      for (const auto& [key, pair] : now) {
        if (in_range(op, key)) trace += key + "=" + pair.value + ";";
      }
      trace += "]";
    }
    trace += "@" + std::to_string(revision + (changed_ ? 1 : 0));
  }

  State before_;
  bool changed_ = false;
};

std::string trace_of(schema::TxnResult::Reader txn) {
  std::string trace = txn.getSucceeded() ? "(1" : "(0";
  for (auto response : txn.getResponses()) {
    switch (response.which()) {
      case schema::OpResult::TXN: trace += trace_of(response.getTxn()); continue;
      case schema::OpResult::PUT: trace += " put"; break;
      case schema::OpResult::DELETE_RANGE:
        trace += " del" + std::to_string(response.getDeleteRange().getDeleted());
        break;
      case schema::OpResult::RANGE:
        trace += " [";
        for (const mvcc::Record& record : records_of(slice_of(response.getRange().getKvs()))) {
          trace += std::string(record.key) + "=" + std::string(record.value) + ";";
        }
        trace += "]";
        break;
    }
    trace += "@" + std::to_string(response.getRevision());
  }
  return trace + ")";
}

Op random_txn(Random& random, int depth) {
  const auto key = [&] { return std::string(1, static_cast<char>('a' + random.below(8))); };
  const auto number = [&](uint64_t below) { return static_cast<int32_t>(random.below(below)); };
  const auto branch = [&] {
    std::vector<Op> ops;
    for (uint64_t n = random.below(4); n > 0; --n) {
      switch (random.below(depth > 0 ? 6 : 5)) {
        case 0:
        case 1:
        case 2: {
          Op op = put(key(), std::to_string(random.below(9)), random.one_in(12) ? 2 : number(2));
          op.ignore_value = random.one_in(6);
          op.ignore_lease = random.one_in(6);
          if (op.ignore_value) op.value.clear();
          if (op.ignore_lease) op.lease = 0;
          ops.push_back(op);
          break;
        }
        case 3: ops.push_back(random.one_in(2) ? del(key()) : del(key(), key())); break;
        case 4: ops.push_back(range(key(), kOpenEnd, random.one_in(9) ? 1'000'000 : 0)); break;
        default: ops.push_back(random_txn(random, depth - 1)); break;
      }
    }
    return ops;
  };
  Op op = txn({}, branch(), branch());
  for (uint64_t n = random.below(3); n > 0; --n) {
    op.compares.push_back({key(), number(5), number(4), number(6), std::to_string(number(9)), ""});
  }
  return op;
}

TEST_CASE("random transactions do and answer what a plain model does", "[txn]") {
  std::map<Code, int> seen;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Bench bench;
    Model model;
    bench.grant(1);
    for (int step = 0; step < 200; ++step) {
      const Op op = random_txn(random, 2);
      const Answer answer = bench.apply(op);
      INFO("seed " << seed << " step " << step);
      const Code expected = model.run(op);
      REQUIRE(code_name(answer.code()) == code_name(expected));
      ++seen[expected];
      REQUIRE(answer.revision() == model.revision);
      if (expected == Code::kOk) {
        REQUIRE(trace_of(answer.response().getTxn()) == model.trace);
      }
      std::vector<std::string> leased;
      for (const auto& [key, pair] : model.now) {
        const mvcc::KeyMeta meta = bench.store->find(key);
        REQUIRE(meta.create_revision == pair.create);
        REQUIRE(meta.revision.main == pair.mod);
        REQUIRE(meta.version == pair.version);
        REQUIRE(meta.lease == pair.lease);
        if (pair.lease == 1) leased.push_back(key);
      }
      REQUIRE(bench.lessor.keys(1) == leased);
    }
  }
  // The draw is worth something only if it meets every outcome often.
  for (Code code : {Code::kOk, Code::kDuplicateKey, Code::kLeaseNotFound, Code::kKeyNotFound,
                    Code::kFutureRevision}) {
    INFO(code_name(code));
    CHECK(seen[code] > 20);
  }
}

}  // namespace
}  // namespace quorate::apply
