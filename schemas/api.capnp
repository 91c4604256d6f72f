# SPDX-License-Identifier: Apache-2.0
#
# The request language: what a front-end may ask of a member, and what it is told. A write's Request
# bytes become the log entry untouched, so this file is also the log's language: a field is only
# ever appended, and a new one is switched on by a committed cluster version.
#
# Enumerations that come from clients are plain Int32 here, so that a value outside the definition
# reaches the check that names it instead of being lost in a decoder.

@0xc2f4d7a1b7e36f01;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("quorate::schema");

# The one list of codes: the C ABI's integers (interfaces/quorate/abi.h), the kernel's enum
# (kernel/base/status.h) and the front-ends' mappings all carry these numbers.
enum ErrorCode {
  ok @0;
  notFound @1;
  invalidArgument @2;
  unsupported @3;
  busy @4;
  noSpace @5;
  corrupt @6;
  ioError @7;
  cancelled @8;
  timeout @9;
  unavailable @10;
  internal @11;
  unknownOutcome @12;
  useRangeOpen @13;
  compacted @14;
  futureRevision @15;
  emptyKey @16;
  keyNotFound @17;
  valueProvided @18;
  leaseProvided @19;
  tooManyOps @20;
  duplicateKey @21;
  invalidSortOption @22;
  invalidClientApiVersion @23;
  requestTooLarge @24;
  badMemberUrls @25;
  userEmpty @26;
  roleEmpty @27;
  authFailed @28;
  permissionNotGiven @29;
  invalidAuthManagement @30;
  authOldRevision @31;
  leaseTtlTooLarge @32;
  leaseNotFound @33;
  leaseExists @34;
  memberNotFound @35;
  memberExists @36;
  peerUrlExists @37;
  memberNotLearner @38;
  learnerNotReady @39;
  tooManyLearners @40;
  clusterIdMismatch @41;
  rootUserNotExist @42;
  rootRoleNotExist @43;
  userExists @44;
  userNotFound @45;
  roleExists @46;
  roleNotFound @47;
  roleNotGranted @48;
  permissionNotGranted @49;
  authNotEnabled @50;
  permissionDenied @51;
  invalidAuthToken @52;
  noPasswordUser @53;
  notLeader @54;
  badLeaderTransferee @55;
  transferTimeout @56;
  notCapable @57;
  notSupportedForLearner @58;
  downgradeVersionFormat @59;
  downgradeTarget @60;
  downgradeInProgress @61;
  noDowngrade @62;
  noLeader @63;
  leaderChanged @64;
  stopped @65;
  timeoutLeaderFailure @66;
  timeoutConnectionLost @67;
  timeoutWaitApply @68;
  unhealthyCluster @69;
  notEnoughStarted @70;
  corruptCluster @71;
  tooManyRequests @72;
  quotaExceeded @73;
  notPrimaryLessor @74;
  watchEmptyRange @75;
  watchDuplicateId @76;
  damagedRequest @77;
  proposalDropped @78;}

struct Header {
  clusterId @0 :UInt64;
  memberId  @1 :UInt64;   # the answering member, not the leader
  revision  @2 :Int64;
  raftTerm  @3 :UInt64;
}

# ---------------------------------------------------------------- requests

struct Request {
  union {
    range       @0 :RangeRequest;       # never logged: read-index or serializable
    put         @1 :PutRequest;
    deleteRange @2 :DeleteRangeRequest;
    txn         @3 :TxnRequest;
    compact     @4 :CompactRequest;
    lease       @5 :LeaseRequest;
    auth        @6 :AuthRequest;
    cluster     @7 :ClusterRequest;
    maintenance @8 :MaintenanceRequest;
  }
}

struct RangeRequest {
  key               @0 :Data;
  rangeEnd          @1 :Data;    # empty: the key alone; one zero byte: every key from `key` on
  limit             @2 :Int64;   # <= 0: none
  revision          @3 :Int64;   # <= 0: current
  sortOrder         @4 :Int32;   # 0 none, 1 ascending, 2 descending
  sortTarget        @5 :Int32;   # 0 key, 1 version, 2 create, 3 mod, 4 value
  serializable      @6 :Bool;
  keysOnly          @7 :Bool;
  countOnly         @8 :Bool;
  minModRevision    @9 :Int64;   # bounds are inclusive, 0: unset
  maxModRevision    @10 :Int64;
  minCreateRevision @11 :Int64;
  maxCreateRevision @12 :Int64;
}

struct PutRequest {
  key         @0 :Data;
  value       @1 :Data;
  lease       @2 :Int64;
  prevKv      @3 :Bool;
  ignoreValue @4 :Bool;
  ignoreLease @5 :Bool;
}

struct DeleteRangeRequest {
  key      @0 :Data;
  rangeEnd @1 :Data;
  prevKv   @2 :Bool;
}

struct Compare {
  result   @0 :Int32;   # 0 equal, 1 greater, 2 less, 3 not equal; any other counts as true
  target   @1 :Int32;   # 0 version, 1 create, 2 mod, 3 value, 4 lease
  key      @2 :Data;
  rangeEnd @3 :Data;
  number   @4 :Int64;   # right side for all targets but value
  value    @5 :Data;    # right side for value
}

struct RequestOp {
  union {
    none        @0 :Void;
    range       @1 :RangeRequest;
    put         @2 :PutRequest;
    deleteRange @3 :DeleteRangeRequest;
    txn         @4 :TxnRequest;
  }
}

struct TxnRequest {
  compare @0 :List(Compare);
  success @1 :List(RequestOp);
  failure @2 :List(RequestOp);
}

struct CompactRequest {
  revision @0 :Int64;
  physical @1 :Bool;   # answer only when the records are gone from this member's engine
}

struct LeaseRequest {
  union {
    grant      @0 :LeaseGrant;
    revoke     @1 :Int64;           # the lease's id
    keepAlive  @2 :Int64;
    timeToLive @3 :LeaseTimeToLive;
    list       @4 :Void;
  }
}
struct LeaseGrant { ttl @0 :Int64; id @1 :Int64; }              # seconds; id 0: the member picks one
struct LeaseTimeToLive { id @0 :Int64; keys @1 :Bool; }

struct AuthRequest {
  union {
    enable           @0 :Void;
    disable          @1 :Void;
    status           @2 :Void;
    authenticate     @3 :Credentials;
    userAdd          @4 :UserAdd;
    userGet          @5 :Text;
    userList         @6 :Void;
    userDelete       @7 :Text;
    userChangePassword @8 :UserAdd;
    userGrantRole    @9 :UserRole;
    userRevokeRole   @10 :UserRole;
    roleAdd          @11 :Text;
    roleGet          @12 :Text;
    roleList         @13 :Void;
    roleDelete       @14 :Text;
    roleGrantPermission  @15 :RolePermission;
    roleRevokePermission @16 :RolePermission;
  }
}
struct Credentials { name @0 :Text; password @1 :Text; }
struct UserAdd {
  name           @0 :Text;
  password       @1 :Text;     # never in the log: the prepare step hashes it and clears it
  hashedPassword @2 :Text;
  noPassword     @3 :Bool;
}
struct UserRole { user @0 :Text; role @1 :Text; }
struct Permission { type @0 :Int32; key @1 :Data; rangeEnd @2 :Data; }   # 0 read, 1 write, 2 both
struct RolePermission { role @0 :Text; given @1 :Bool; permission @2 :Permission; }

struct ClusterRequest {
  union {
    add     @0 :MemberAdd;
    remove  @1 :UInt64;
    update  @2 :MemberUpdate;
    promote @3 :UInt64;
    list    @4 :Bool;           # true: linearizable
  }
}
struct MemberAdd { peerUrls @0 :List(Text); learner @1 :Bool; }
struct MemberUpdate { id @0 :UInt64; peerUrls @1 :List(Text); }

struct MaintenanceRequest {
  union {
    status     @0 :Void;
    alarm      @1 :AlarmRequest;
    hash       @2 :Void;
    hashKv     @3 :Int64;       # revision, 0: current
    defragment @4 :Void;
    moveLeader @5 :UInt64;
    downgrade  @6 :DowngradeRequest;
    stateHash  @7 :UInt64;      # an applied index; answered once this member has come that far
  }
}
struct AlarmRequest { action @0 :Int32; memberId @1 :UInt64; alarm @2 :Int32; }  # 0 get, 1 activate, 2 deactivate
struct DowngradeRequest { action @0 :Int32; version @1 :Text; }

struct WatchCreate {
  key           @0 :Data;
  rangeEnd      @1 :Data;
  startRevision @2 :Int64;
  progressNotify @3 :Bool;
  noPut         @4 :Bool;
  noDelete      @5 :Bool;
  prevKv        @6 :Bool;
}

# ---------------------------------------------------------------- responses

# A response always carries the header, also beside an error. `message` refines the error's text for
# the person who reads it; empty where the code says it all.
struct Response {
  header  @0 :Header;
  message @1 :Text;
  union {
    none        @2 :Void;
    range       @3 :RangeResult;
    put         @4 :PutResult;
    deleteRange @5 :DeleteRangeResult;
    txn         @6 :TxnResult;
    lease       @7 :LeaseResult;
    auth        @8 :AuthResult;
    cluster     @9 :ClusterResult;
    maintenance @10 :MaintenanceResult;
  }
}

# Records cross as *runs*: for each, the tag byte its field has in etcd's message (0x12 in a range,
# 0x1a for previous pairs of a delete), the length as a varint, and an mvccpb.KeyValue in wire form.
# With keysOnly the records still carry their values; the front-end leaves field 5 out.
struct RangeResult {
  count   @0 :Int64;
  more    @1 :Bool;
  pairs   @2 :UInt64;
  kvBytes @3 :UInt64;   # bytes of all runs, of this message or of the pull it opens
  kvs     @4 :Data;
}
struct PutResult { hasPrev @0 :Bool; prevKv @1 :Data; }             # one bare record
struct DeleteRangeResult { deleted @0 :Int64; prevKvs @1 :Data; }   # a run, tag 0x1a
struct OpResult {
  revision @0 :Int64;    # of the operation's own header
  union {
    range       @1 :RangeResult;
    put         @2 :PutResult;
    deleteRange @3 :DeleteRangeResult;
    txn         @4 :TxnResult;
  }
}
struct TxnResult { succeeded @0 :Bool; responses @1 :List(OpResult); }

struct LeaseResult {
  id         @0 :Int64;
  ttl        @1 :Int64;    # seconds; keep-alive of a dead lease 0, time-to-live of an unknown one -1
  grantedTtl @2 :Int64;
  keys       @3 :List(Data);
  leases     @4 :List(Int64);
}

struct AuthResult {
  enabled      @0 :Bool;
  authRevision @1 :UInt64;
  token        @2 :Text;
  names        @3 :List(Text);          # roles of a user, all users, all roles
  permissions  @4 :List(Permission);
}

struct Member {
  id         @0 :UInt64;
  name       @1 :Text;
  peerUrls   @2 :List(Text);
  clientUrls @3 :List(Text);
  learner    @4 :Bool;
}
struct ClusterResult { member @0 :Member; members @1 :List(Member); }   # member: of an add

struct Alarm { memberId @0 :UInt64; type @1 :Int32; }   # 1 NOSPACE, 2 CORRUPT
struct StatusResult {
  version          @0 :Text;
  dbSize           @1 :Int64;
  dbSizeInUse      @2 :Int64;
  dbSizeQuota      @3 :Int64;
  leader           @4 :UInt64;
  raftIndex        @5 :UInt64;
  raftTerm         @6 :UInt64;
  raftAppliedIndex @7 :UInt64;
  learner          @8 :Bool;
  errors           @9 :List(Text);
  storageVersion   @10 :Text;
  hashVerdict      @11 :HashVerdict;  # of the last comparison with the other members
  hashIndex        @12 :UInt64;       # the applied index it was made at; 0: none yet
}
# How this member's state hash compares. Only `equal` says that a majority of the voters has it too.
enum HashVerdict {
  notCompared @0;  # too few others have answered
  equal       @1;
  disputed    @2;  # members differ, and no majority agrees
  differs     @3;  # a majority agrees on another: this member serves no client
}
struct MaintenanceResult {
  union {
    none   @0 :Void;
    status @1 :StatusResult;
    alarms @2 :List(Alarm);
    hash   @3 :HashResult;
    version @4 :Text;
    stateHash @5 :StateHashResult;
  }
}
# The rolling hash after the entry at `index`; comparable only with one of the same version.
struct StateHashResult { hash @0 :UInt64; index @1 :UInt64; version @2 :UInt32; }
struct HashResult { hash @0 :UInt32; compactRevision @1 :Int64; hashRevision @2 :Int64; }

# ---------------------------------------------------------------- the kernel's own entries

# What the kernel itself proposes; no front-end can make one, since the entry's header, which the
# kernel writes, says which of the two unions its bytes are.
struct Internal {
  union {
    expireLeases     @0 :List(LeaseStamp);
    leaseCheckpoint  @1 :List(LeaseRest);
    clusterVersion   @2 :Text;
    memberAttributes @3 :MemberAttributes;
    raiseAlarm       @4 :Alarm;
    simpleToken      @5 :SimpleToken;
  }
}
# Which grant is meant, so that a late revoke cannot hit a lease granted anew under the same id: the
# revision the store had at the grant, and the log index of the grant.
struct LeaseStamp { lease @0 :Int64; grantRevision @1 :Int64; grantIndex @2 :UInt64; }
struct LeaseRest { lease @0 :Int64; remainingTtl @1 :Int64; }
struct MemberAttributes { id @0 :UInt64; name @1 :Text; clientUrls @2 :List(Text); }
struct SimpleToken { user @0 :Text; token @1 :Text; authRevision @2 :UInt64; }
