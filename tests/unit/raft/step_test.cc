// SPDX-License-Identifier: Apache-2.0
// Messages that no correct peer sends, or that come too late.
#include <catch2/catch.hpp>

#include "support/raft_group/raft_group.h"

namespace quorate::raft {
namespace {

Message message(MessageType type, NodeId from, NodeId to, Term term) {
  Message made;
  made.type = type;
  made.from = from;
  made.to = to;
  made.term = term;
  return made;
}
RaftGroup led_by_1() {
  RaftGroup group;
  group.add_voters(3);
  group.elect(1);
  return group;
}
void step(RaftGroup& group, const Message& what) {
  group.event(what.to, [&](RawNode& node) { CHECK(node.step(what).ok()); });
}

TEST_CASE("only the leader can make a follower campaign at once", "[raft]") {
  RaftGroup group = led_by_1();
  step(group, message(MessageType::kMsgTimeoutNow, 3, 2, 1));
  CHECK(group.raft(2).role() == Role::kFollower);
  step(group, message(MessageType::kMsgTimeoutNow, 1, 2, 1));
  CHECK(group.raft(2).role() == Role::kCandidate);
}

TEST_CASE("what only the server may say is not taken from the network", "[raft]") {
  RaftGroup group = led_by_1();
  for (MessageType type :
       {MessageType::kMsgHup, MessageType::kMsgBeat, MessageType::kMsgUnreachable,
        MessageType::kMsgSnapStatus, MessageType::kMsgCheckQuorum, MessageType::kMsgLogLoaded})
    step(group, message(type, 3, 2, 9));
  CHECK(group.raft(2).term() == 1);
  CHECK_FALSE(group.node(2).has_ready());
}

TEST_CASE("entries that do not follow one another are dropped", "[raft]") {
  RaftGroup group = led_by_1();
  Message gap = message(MessageType::kMsgApp, 1, 2, 1);
  gap.log_term = gap.index = 1;
  gap.entries.push_back({1, 3, EntryType::kNormal, {}});
  step(group, gap);
  gap.entries[0] = {2, 2, EntryType::kNormal, {}};  // of a term its sender has not reached
  step(group, gap);
  CHECK(group.node(2).last_index() == 1);
}

TEST_CASE("an acknowledgement beyond the log's end does not count", "[raft]") {
  RaftGroup group = led_by_1();
  Message ahead = message(MessageType::kMsgAppResp, 2, 1, 1);
  ahead.index = 7;
  step(group, ahead);
  CHECK(group.node(1).status().progress.at(1).match == 1);
  ahead.from = 9;  // no member
  ahead.index = 1;
  step(group, ahead);
  CHECK_FALSE(group.node(1).has_ready());
}

// A tail of an older leader's may lie behind it, which the sender must not take for its own.
TEST_CASE("a snapshot of what is committed here is answered with that, not with the log's end",
          "[raft]") {
  RaftGroup group;
  group.add_voters(3);
  group.set_log(2, {1, 1, 1, 1}, 1, 3);
  Message snapshot = message(MessageType::kMsgSnap, 3, 2, 2);
  snapshot.snapshot = SnapshotMeta{3, 1, group.raft(2).conf_state()};
  step(group, snapshot);
  while (group.node(2).has_ready() || group.waiting_appends(2) != 0) {
    group.process_ready(2);
    group.process_append(2);
  }
  REQUIRE(group.network().size() == 1);
  CHECK(group.network()[0].type == MessageType::kMsgAppResp);
  CHECK(group.network()[0].index == 3);
  CHECK(group.raft(2).log().last_index() == 4);
}

TEST_CASE("a message for another node is not taken", "[raft]") {
  RaftGroup group = led_by_1();
  const Message lost = message(MessageType::kMsgHeartbeat, 1, 3, 8);
  group.event(2, [&](RawNode& node) { CHECK(node.step(lost).ok()); });
  CHECK(group.raft(2).term() == 1);
}

}  // namespace
}  // namespace quorate::raft
