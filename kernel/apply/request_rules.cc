// SPDX-License-Identifier: Apache-2.0
// What can be said of a request without looking at the store.
#include <algorithm>
#include <string>

#include "apply/request.h"
#include "base/key_range.h"

namespace quorate::apply {
namespace {

constexpr uint64_t kPutOverheadBytes = 256;
constexpr uint64_t kGrantBytes = 64;
constexpr int64_t kLeaseTtlMax = 9'000'000'000;

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

Status check_key(Slice key) {
  return key.empty() ? Status(Code::kEmptyKey, "the request names no key") : Status();
}

Status check(const RangeOp& op) {
  QUORATE_TRY(check_key(op.key));
  if (op.sort_order < 0 || op.sort_order > 2 || op.sort_target < 0 || op.sort_target > 4) {
    return Status(Code::kInvalidSortOption, "the sort order is 0 to 2, the sort target 0 to 4");
  }
  return Status();
}

Status check(const PutOp& op) {
  QUORATE_TRY(check_key(op.key));
  if (op.ignore_value && !op.value.empty()) {
    return Status(Code::kValueProvided, "ignore_value keeps the present value: give none");
  }
  if (op.ignore_lease && op.lease != 0) {
    return Status(Code::kLeaseProvided, "ignore_lease keeps the present lease: give none");
  }
  return Status();
}

Status check(const DeleteRangeOp& op) {
  return check_key(op.key);
}

Status check(const TxnOp& op, size_t ops_max);

Status check(const std::vector<BranchOp>& branch, size_t nested_ops_max) {
  for (const BranchOp& each : branch) {
    QUORATE_TRY(std::visit(
        Overloaded{[](std::monostate) {
                     return Status(Code::kKeyNotFound, "an operation of the txn is empty");
                   },
                   [&](const std::unique_ptr<TxnOp>& txn) { return check(*txn, nested_ops_max); },
                   [](const auto& op) { return check(op); }},
        each));
  }
  return Status();
}

// A nested transaction may use what its parent's longest list leaves.
Status check(const TxnOp& op, size_t ops_max) {
  const size_t longest = std::max({op.compares.size(), op.success.size(), op.failure.size()});
  if (longest > ops_max) {
    return Status(Code::kTooManyOps, "the txn has " + std::to_string(longest) +
                                         " operations in one list; at most " +
                                         std::to_string(ops_max) + " are allowed here");
  }
  for (const CompareOp& compare : op.compares) QUORATE_TRY(check_key(compare.key));
  QUORATE_TRY(check(op.success, ops_max - longest));
  return check(op.failure, ops_max - longest);
}

// The writes of one branch, flattened; `sibling` is the operation of that branch that a write
// belongs to, itself or somewhere below it.
struct Writes {
  struct Put {
    Slice key;
    size_t sibling;
    friend bool operator<(const Put& a, const Put& b) { return a.key < b.key; }
  };
  struct Delete {
    KeyRange range;
    size_t sibling;
  };
  std::vector<Put> puts;
  std::vector<Delete> deletes;
};

void flatten(const std::vector<BranchOp>& branch, const size_t* sibling, Writes& to) {
  for (size_t i = 0; i < branch.size(); ++i) {
    const size_t owner = sibling != nullptr ? *sibling : i;
    if (const auto* put = std::get_if<PutOp>(&branch[i])) {
      to.puts.push_back({put->key, owner});
    } else if (const auto* del = std::get_if<DeleteRangeOp>(&branch[i])) {
      to.deletes.push_back({KeyRange::from_client(del->key, del->range_end), owner});
    } else if (const auto* txn = std::get_if<std::unique_ptr<TxnOp>>(&branch[i])) {
      flatten((*txn)->success, &owner, to);
      flatten((*txn)->failure, &owner, to);
    }
  }
}

// The puts of `sorted` whose keys lie in the range.
std::pair<size_t, size_t> places(const std::vector<Writes::Put>& sorted, const KeyRange& range) {
  const auto begin = std::lower_bound(sorted.begin(), sorted.end(), Writes::Put{range.begin, 0});
  auto end = sorted.end();
  if (range.single) {
    end = std::upper_bound(begin, sorted.end(), Writes::Put{range.begin, 0});
  } else if (!range.open) {
    end = std::lower_bound(begin, sorted.end(), Writes::Put{std::max(range.begin, range.end), 0});
  }
  return {begin - sorted.begin(), end - sorted.begin()};
}

// A key is written once at most: no two operations of one branch put it, and none puts what another
// deletes. The two branches of a nested txn count as one operation here, since only one runs.
Status check_duplicates(const std::vector<BranchOp>& branch) {
  const Status duplicate(Code::kDuplicateKey, "the txn would change one key twice");
  bool nested = false;
  for (const BranchOp& each : branch) {
    if (const auto* txn = std::get_if<std::unique_ptr<TxnOp>>(&each)) {
      nested = true;
      QUORATE_TRY(check_duplicates((*txn)->success));
      QUORATE_TRY(check_duplicates((*txn)->failure));
    }
  }
  Writes writes;
  flatten(branch, nullptr, writes);
  std::sort(writes.puts.begin(), writes.puts.end());
  // Equal keys stand side by side, so if any two of them have different siblings, two neighbours
  // do. Equal siblings are the two branches of a nested txn, each checked above.
  for (size_t i = 1; i < writes.puts.size(); ++i) {
    const auto &a = writes.puts[i - 1], &b = writes.puts[i];
    if (a.key == b.key && a.sibling != b.sibling) return duplicate;
  }
  if (writes.deletes.empty() || writes.puts.empty()) return Status();
  std::vector<std::vector<Writes::Put>> of_sibling(nested ? branch.size() : 0);
  if (nested) {
    for (const auto& put : writes.puts) of_sibling[put.sibling].push_back(put);
  }
  for (const auto& del : writes.deletes) {
    const auto [begin, end] = places(writes.puts, del.range);
    size_t own = 0;
    if (nested) {
      const auto [own_begin, own_end] = places(of_sibling[del.sibling], del.range);
      own = own_end - own_begin;
    }
    if (end - begin > own) return duplicate;
  }
  return Status();
}

uint64_t cost_of(const PutOp& op) {
  return kPutOverheadBytes + op.key.size() + op.value.size();
}
uint64_t cost_of(const TxnOp& op);
uint64_t cost_of(const std::vector<BranchOp>& branch) {
  uint64_t sum = 0;
  for (const BranchOp& each : branch) {
    if (const auto* put = std::get_if<PutOp>(&each)) sum += cost_of(*put);
    if (const auto* txn = std::get_if<std::unique_ptr<TxnOp>>(&each)) sum += cost_of(**txn);
  }
  return sum;
}
uint64_t cost_of(const TxnOp& op) {
  return std::max(cost_of(op.success), cost_of(op.failure));
}

bool all_serializable(const std::vector<BranchOp>& branch) {
  return std::all_of(branch.begin(), branch.end(), [](const BranchOp& each) {
    const auto* range = std::get_if<RangeOp>(&each);
    return range != nullptr && range->serializable;
  });
}
bool only_ranges(const std::vector<BranchOp>& branch) {
  return std::all_of(branch.begin(), branch.end(),
                     [](const BranchOp& each) { return std::holds_alternative<RangeOp>(each); });
}

Route route_of(const TxnOp& txn) {
  if (!is_read_only(txn)) return Route::kLog;
  return all_serializable(txn.success) && all_serializable(txn.failure) ? Route::kSerializable
                                                                        : Route::kLinearizable;
}

Route route_of(const AuthOp& op) {
  return op.action == AuthAction::kAuthenticate ? Route::kPrepare : Route::kLog;
}

}  // namespace

Status validate(const Request& request, const RequestLimits& limits) {
  if (request.size_bytes() > limits.request_bytes_max) {
    return Status(Code::kRequestTooLarge,
                  "the request has " + std::to_string(request.size_bytes()) + " bytes; at most " +
                      std::to_string(limits.request_bytes_max) +
                      " are allowed (--max-request-bytes)");
  }
  return std::visit(Overloaded{[](const RangeOp& op) { return check(op); },
                               [](const PutOp& op) { return check(op); },
                               [](const DeleteRangeOp& op) { return check(op); },
                               [&](const TxnOp& op) {
                                 QUORATE_TRY(check(op, limits.txn_ops_max));
                                 QUORATE_TRY(check_duplicates(op.success));
                                 return check_duplicates(op.failure);
                               },
                               [](const LeaseGrantOp& op) {
                                 return op.ttl > kLeaseTtlMax
                                            ? Status(Code::kLeaseTtlTooLarge,
                                                     "a TTL is at most 9000000000 s")
                                            : Status();
                               },
                               [](const auto&) { return Status(); }},
                    request.operation());
}

uint64_t cost(const Request& request) {
  return std::visit(Overloaded{[](const PutOp& op) { return cost_of(op); },
                               [](const TxnOp& op) { return cost_of(op); },
                               [](const LeaseGrantOp&) { return kGrantBytes; },
                               [](const auto&) { return uint64_t{0}; }},
                    request.operation());
}

bool needs_admin(const Request& request) {
  return std::visit(
      Overloaded{
          [](const CompactOp&) { return true; },
          [](const AuthOp& op) {
            // A user may read its own record and the roles it holds: the store decides.
            return op.action != AuthAction::kAuthenticate && op.action != AuthAction::kUserGet &&
                   op.action != AuthAction::kRoleGet;
          },
          [](const MemberAddOp&) { return true; }, [](const MemberRemoveOp&) { return true; },
          [](const MemberUpdateOp&) { return true; }, [](const MemberPromoteOp&) { return true; },
          [](const AlarmOp& op) { return op.action != 0; }, [](const HashOp&) { return true; },
          [](const HashKvOp&) { return true; }, [](const StateHashOp&) { return true; },
          [](const DefragmentOp&) { return true; }, [](const MoveLeaderOp&) { return true; },
          [](const DowngradeOp&) { return true; }, [](const auto&) { return false; }},
      request.operation());
}

bool uses_data(const Request& request) {
  return std::visit(
      Overloaded{[](const RangeOp&) { return true; }, [](const PutOp&) { return true; },
                 [](const DeleteRangeOp&) { return true; }, [](const TxnOp&) { return true; },
                 [](const CompactOp&) { return true; }, [](const LeaseGrantOp&) { return true; },
                 [](const LeaseRevokeOp&) { return true; },
                 [](const LeaseKeepAliveOp&) { return true; },
                 [](const LeaseTimeToLiveOp&) { return true; },
                 [](const LeaseListOp&) { return true; }, [](const auto&) { return false; }},
      request.operation());
}

bool is_read_only(const TxnOp& txn) {
  return only_ranges(txn.success) && only_ranges(txn.failure);
}

Route route(const Request& request) {
  return std::visit(
      Overloaded{[](const RangeOp& op) {
                   return op.serializable ? Route::kSerializable : Route::kLinearizable;
                 },
                 [](const TxnOp& op) { return route_of(op); },
                 [](const AuthOp& op) { return route_of(op); },
                 [](const LeaseKeepAliveOp&) { return Route::kLeader; },
                 [](const LeaseTimeToLiveOp&) { return Route::kLeader; },
                 [](const LeaseListOp&) { return Route::kLocal; },
                 [](const MemberAddOp&) { return Route::kConfChange; },
                 [](const MemberRemoveOp&) { return Route::kConfChange; },
                 [](const MemberUpdateOp&) { return Route::kConfChange; },
                 [](const MemberPromoteOp&) { return Route::kLeader; },
                 [](const MemberListOp& op) {
                   return op.linearizable ? Route::kLinearizable : Route::kSerializable;
                 },
                 [](const StatusOp&) { return Route::kLocal; },
                 [](const HashOp&) { return Route::kLocal; },
                 [](const HashKvOp&) { return Route::kLocal; },
                 [](const StateHashOp&) { return Route::kLocal; },
                 [](const DefragmentOp&) { return Route::kLocal; },
                 [](const MoveLeaderOp&) { return Route::kLocal; },
                 [](const auto&) { return Route::kLog; }},
      request.operation());
}

bool is_write(const Request& request) {
  const Route way = route(request);
  return way == Route::kLog || way == Route::kConfChange;
}

}  // namespace quorate::apply
