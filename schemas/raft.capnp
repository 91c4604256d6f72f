# SPDX-License-Identifier: Apache-2.0
#
# What members say to each other: the header of a raft message, whose entries' payloads follow it
# (kernel/server/message_codec.h), and the questions of a peer call. Fields are only ever appended.

@0xe1b6f0d2c95a7384;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("quorate::schema");

struct RaftMessage {
  type       @0 :RaftMessageType;
  reject     @1 :Bool;
  force      @2 :Bool;
  to         @3 :UInt64;
  from       @4 :UInt64;
  term       @5 :UInt64;
  logTerm    @6 :UInt64;
  index      @7 :UInt64;
  commit     @8 :UInt64;
  rejectHint @9 :UInt64;
  context    @10 :UInt64;
  entries    @11 :List(EntryHead);
  snapshot   @12 :SnapshotHead;
}

# Only what travels: the local types of raft/message.h have no number here.
enum RaftMessageType {
  prop @0;
  app @1;
  appResp @2;
  vote @3;
  voteResp @4;
  preVote @5;
  preVoteResp @6;
  snap @7;
  heartbeat @8;
  heartbeatResp @9;
  transferLeader @10;
  timeoutNow @11;
  readIndex @12;
  readIndexResp @13;
}

# The index is not said: those of an append follow RaftMessage.index, a proposal has none yet.
struct EntryHead {
  term @0 :UInt64;
  size @1 :UInt32;   # of the payload
  type @2 :UInt8;    # 0: normal, 1: change of configuration
}

struct SnapshotHead {
  index     @0 :UInt64;
  term      @1 :UInt64;
  confState @2 :ConfStateRecord;
}
struct ConfStateRecord {
  voters         @0 :List(UInt64);
  learners       @1 :List(UInt64);
  votersOutgoing @2 :List(UInt64);
  learnersNext   @3 :List(UInt64);
  autoLeave      @4 :Bool;
}

# A question to another member. Its answer is a code and an api.capnp Response.
struct PeerCall {
  union {
    none    @1 :Void;
    request @0 :Data;   # an api.capnp Request, as a front-end would submit it to that member
  }
}
