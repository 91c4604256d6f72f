// SPDX-License-Identifier: Apache-2.0
// A log entry's bytes, decoded once into types that cannot be wrong. The permission check, the
// validation, the quota's cost and the executor all visit the same decoded operations, so none of
// them can see another form of the request than the others do.
//
// An entry is a fixed header that the kernel writes (it says who asks, and whether the body is a
// client's Request, an Internal or a member's record) and the body's bytes untouched, both padded
// to eight. Everything here is a pure function of the bytes: any byte string gives the same result
// on every member, and no input makes it throw, loop or read outside.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/status.h"

namespace quorate::apply {

// ---------------------------------------------------------------- the entry around a request

enum class EntryKind : uint8_t {
  kClient = 1,      // body: schema::Request
  kInternal = 2,    // body: schema::Internal; only the kernel proposes it
  kConfChange = 3,  // body: a cluster::Member as JSON; lies in the context of a raft::ConfChange
};

// Little-endian in the log: u8 version (1), u8 kind, u16 size of user, u32 lease_ttl_min,
// u64 request_id, u64 auth_revision, u64 prepared_id, user padded with zeros to eight, then the
// body.
struct EntryHeader {
  EntryKind kind = EntryKind::kClient;
  // Seconds that a granted TTL is raised to: hangs on the proposer's election timeout, so it must
  // come with the entry. The default is that of etcd's default timeouts.
  uint32_t lease_ttl_min = 2;
  uint64_t request_id = 0;  // names the waiting call; unique per member and start; 0: nobody waits
  uint64_t auth_revision = 0;  // of the identity below
  uint64_t prepared_id = 0;    // what prepare made: a lease's id for a grant, a member's for an add
  Slice user;                  // empty: nobody, or auth is off; at most kUserBytesMax
};
inline constexpr size_t kUserBytesMax = 4096;

// The bytes that an entry with this header and a body of `body_size` takes; a multiple of eight
// when body_size is.
size_t entry_size(const EntryHeader& header, size_t body_size);
// Writes the entry to `to`, which has entry_size() bytes and is aligned to eight.
void write_entry(char* to, const EntryHeader& header, Slice body);
// The same in memory of its own.
Bytes encode_entry(const EntryHeader& header, Slice body);

struct DecodedEntry {
  EntryHeader header;  // user points into `body`'s owner
  Bytes body;
};
// kCorrupt: no bytes that write_entry wrote. For a committed entry this means that this member
// cannot know what the others do: it must stop.
Result<DecodedEntry> decode_entry(const Bytes& payload);

// ---------------------------------------------------------------- operations

// Slices point into the request's bytes.

struct RangeOp {
  Slice key, range_end;
  int64_t limit = 0;
  int64_t revision = 0;
  int32_t sort_order = 0;   // 0 none, 1 ascending, 2 descending
  int32_t sort_target = 0;  // 0 key, 1 version, 2 create, 3 mod, 4 value
  bool serializable = false, keys_only = false, count_only = false;
  int64_t min_mod_revision = 0, max_mod_revision = 0;
  int64_t min_create_revision = 0, max_create_revision = 0;
};

struct PutOp {
  Slice key, value;
  int64_t lease = 0;
  bool prev_kv = false, ignore_value = false, ignore_lease = false;
};

struct DeleteRangeOp {
  Slice key, range_end;
  bool prev_kv = false;
};

struct CompareOp {
  int32_t result = 0;  // 0 equal, 1 greater, 2 less, 3 not equal; any other counts as true
  int32_t target = 0;  // 0 version, 1 create, 2 mod, 3 value, 4 lease
  Slice key, range_end;
  int64_t number = 0;  // right side for all targets but value
  Slice value;
};

struct TxnOp;
// monostate: a RequestOp with nothing set.
using BranchOp =
    std::variant<std::monostate, RangeOp, PutOp, DeleteRangeOp, std::unique_ptr<TxnOp>>;
struct TxnOp {
  std::vector<CompareOp> compares;
  std::vector<BranchOp> success;
  std::vector<BranchOp> failure;
};

struct CompactOp {
  int64_t revision = 0;
  bool physical = false;
};

struct LeaseGrantOp {
  int64_t ttl = 0;
  int64_t id = 0;  // 0: the one that prepare made
};
struct LeaseRevokeOp {
  int64_t id = 0;
};
struct LeaseKeepAliveOp {
  int64_t id = 0;
};
struct LeaseTimeToLiveOp {
  int64_t id = 0;
  bool keys = false;
};
struct LeaseListOp {};

// The numbers are those of schema::AuthRequest's union.
enum class AuthAction : uint16_t {
  kEnable = 0,
  kDisable = 1,
  kStatus = 2,
  kAuthenticate = 3,
  kUserAdd = 4,
  kUserGet = 5,
  kUserList = 6,
  kUserDelete = 7,
  kUserChangePassword = 8,
  kUserGrantRole = 9,
  kUserRevokeRole = 10,
  kRoleAdd = 11,
  kRoleGet = 12,
  kRoleList = 13,
  kRoleDelete = 14,
  kRoleGrantPermission = 15,
  kRoleRevokePermission = 16,
};
// Fields that an action does not use stay empty.
struct AuthOp {
  AuthAction action = AuthAction::kStatus;
  Slice user, role;
  Slice password, hashed_password;
  bool no_password = false;
  bool permission_given = false;
  int32_t permission_type = 0;  // 0 read, 1 write, 2 both
  Slice key, range_end;
};

struct MemberAddOp {
  std::vector<Slice> peer_urls;
  bool learner = false;
};
struct MemberRemoveOp {
  uint64_t id = 0;
};
struct MemberUpdateOp {
  uint64_t id = 0;
  std::vector<Slice> peer_urls;
};
struct MemberPromoteOp {
  uint64_t id = 0;
};
struct MemberListOp {
  bool linearizable = false;
};

struct StatusOp {};
struct AlarmOp {
  int32_t action = 0;  // 0 get, 1 activate, 2 deactivate
  uint64_t member = 0;
  int32_t alarm = 0;  // 0 none, 1 NOSPACE, 2 CORRUPT
};
struct HashOp {};
struct HashKvOp {
  int64_t revision = 0;
};
struct StateHashOp {
  uint64_t index = 0;  // an applied index
};
struct DefragmentOp {};
struct MoveLeaderOp {
  uint64_t target = 0;
};
struct DowngradeOp {
  int32_t action = 0;
  Slice version;
};

// Of Internal.
struct LeaseStampOp {
  int64_t lease = 0;
  int64_t grant_revision = 0;
  uint64_t grant_index = 0;
};
struct ExpireLeasesOp {
  std::vector<LeaseStampOp> stamps;
};
struct LeaseRestOp {
  int64_t lease = 0;
  int64_t remaining_ttl = 0;
};
struct LeaseCheckpointOp {
  std::vector<LeaseRestOp> leases;
};
struct ClusterVersionOp {
  Slice version;
};
struct MemberAttributesOp {
  uint64_t id = 0;
  Slice name;
  std::vector<Slice> client_urls;
};
struct RaiseAlarmOp {
  uint64_t member = 0;
  int32_t alarm = 0;
};
struct SimpleTokenOp {
  Slice user, token;
  uint64_t auth_revision = 0;
};

using Operation =
    std::variant<RangeOp, PutOp, DeleteRangeOp, TxnOp, CompactOp, LeaseGrantOp, LeaseRevokeOp,
                 LeaseKeepAliveOp, LeaseTimeToLiveOp, LeaseListOp, AuthOp, MemberAddOp,
                 MemberRemoveOp, MemberUpdateOp, MemberPromoteOp, MemberListOp, StatusOp, AlarmOp,
                 HashOp, HashKvOp, StateHashOp, DefragmentOp, MoveLeaderOp, DowngradeOp,
                 ExpireLeasesOp, LeaseCheckpointOp, ClusterVersionOp, MemberAttributesOp,
                 RaiseAlarmOp, SimpleTokenOp>;

// Transactions nest at most this deep; deeper is answered kTooManyOps.
inline constexpr int kTxnDepthMax = 16;

// A decoded request. Owns a share of its bytes; moved, not copied.
class Request {
 public:
  // body: a bare segment holding a schema::Request (schemas/segment.h), checked whole here. Bytes
  // that are not aligned are copied once. kDamagedRequest: no such message. kUnsupported: an
  // operation or a field that this schema does not have; at submit the caller's answer, for a
  // *committed* entry a reason to stop, since other members may know it. kTooManyOps: nested deeper
  // than kTxnDepthMax.
  static Result<Request> decode_client(const Bytes& body);
  // The same for a schema::Internal.
  static Result<Request> decode_internal(const Bytes& body);

  const Operation& operation() const { return operation_; }
  template <typename Op>
  const Op* get_if() const {
    return std::get_if<Op>(&operation_);
  }
  size_t size_bytes() const { return body_.size(); }
  // The bytes it was decoded from.
  const Bytes& body() const { return body_; }

 private:
  Request(Bytes body, Operation operation)
      : body_(std::move(body)), operation_(std::move(operation)) {}
  Bytes body_;
  Operation operation_;
};

// ---------------------------------------------------------------- what a request is

struct RequestLimits {
  uint32_t txn_ops_max = 128;
  uint64_t request_bytes_max = 1536 * 1024;
};

// The rules that need no state, checked before replication: keys given, sort options known, put
// flags that fit, the transaction's budget and duplicate rule, the size. The code is the client's
// answer. Apply checks again, with kNoLimits: limits are one member's settings, and must not decide
// what an entry does.
inline constexpr RequestLimits kNoLimits{UINT32_MAX, UINT64_MAX};
Status validate(const Request& request, const RequestLimits& limits);

// The bytes a request may add to the store, as the quota counts: 0 always passes.
uint64_t cost(const Request& request);

// Reads or changes keys or leases: a member whose data is known to be wrong refuses it.
bool uses_data(const Request& request);

// Answered only to a user with the root role, when auth is on.
bool needs_admin(const Request& request);

// How a request reaches its answer.
enum class Route {
  kLog,           // proposed as an entry, answered by apply
  kConfChange,    // proposed as a change of configuration
  kLinearizable,  // read after a read-index round
  kSerializable,  // read from this member's own state
  kLeader,        // answered by the leader's lessor, raft or membership; followers forward
  kLocal,         // about this member alone
  kPrepare,       // Authenticate: checked by prepare, then an Internal entry
};
Route route(const Request& request);
// Passes the log, as an entry or a change of configuration.
bool is_write(const Request& request);
// Only ranges in both branches and nothing nested; runs as a read. One without any operation counts
// as serializable.
bool is_read_only(const TxnOp& txn);

}  // namespace quorate::apply
