// SPDX-License-Identifier: Apache-2.0
// The parts without a group around them: conf changes, text forms, progress, inflights, reads.
#include <catch2/catch.hpp>

#include "base/random.h"
#include "raft/message.h"
#include "raft/progress.h"
#include "raft/quorum.h"
#include "raft/read_only.h"
#include "raft/text.h"

namespace quorate::raft {
namespace {

TEST_CASE("a configuration change comes back from its bytes, with its context", "[raft]") {
  const ConfChange change{
      ConfTransition::kJointExplicit,
      {{ConfChangeType::kAddLearner, ~uint64_t{0}}, {ConfChangeType::kRemoveNode, 2}}};
  const auto decoded = decode_conf_change(encode_conf_change(change, "context"));
  REQUIRE(decoded);
  CHECK(decoded->change == change);
  CHECK(decoded->context.slice() == "context");
  CHECK(decode_conf_change(encode_conf_change({}, {}))->change.leaves_joint());
}

TEST_CASE("no cut or changed head of a configuration change is taken for one", "[raft]") {
  const std::string bytes(
      encode_conf_change({ConfTransition::kAuto, {{ConfChangeType::kAddNode, 7}}}, {}).slice());
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(decode_conf_change(Bytes::copy(Slice(bytes).substr(0, size))));
  for (size_t place : {size_t{0}, size_t{1}, size_t{2}, size_t{3}}) {
    std::string damaged = bytes;
    damaged[place] = '\x7f';
    CHECK(decode_conf_change(Bytes::copy(damaged)).error().code() == Code::kCorrupt);
  }
}

TEST_CASE("after leaving a joint configuration every member has one role", "[raft]") {
  Random random(1);
  ConfState state{{1, 2, 3}, {}, {}, {}, false};
  for (int i = 0; i < 2000; ++i) {
    ConfChange change;
    change.transition = static_cast<ConfTransition>(random.below(3));
    for (uint64_t steps = random.below(4); steps != 0; --steps)
      change.steps.push_back({static_cast<ConfChangeType>(random.below(4)), 1 + random.below(6)});
    const ConfState before = state;
    const auto next = apply_conf_change(state, change);
    if (next) state = *next;
    CHECK(state.voters.size() >= 1);
    CHECK(members_of(state).size() <= 6);
    if (state.voters_outgoing.empty()) {
      CHECK(state.learners_next.empty());
      CHECK(members_of(state).size() == state.voters.size() + state.learners.size());
    } else if (before.voters_outgoing.empty()) {
      CHECK(state.voters_outgoing == before.voters);
    }
  }
}

TEST_CASE("messages read as etcd raft's do", "[raft]") {
  Message message;
  message.type = MessageType::kMsgApp;
  message.from = 1;
  message.to = 2;
  message.term = 1;
  message.log_term = 1;
  message.index = 11;
  message.commit = 11;
  message.entries.push_back({1, 12, EntryType::kNormal, Bytes::copy("x")});
  CHECK(to_text(message) ==
        "1->2 MsgApp Term:1 Log:1/11 Commit:11 Entries:[1/12 EntryNormal \"x\"]");
  message.entries[0].payload = Bytes::copy(Slice("a\"\0\xff", 4));
  CHECK(to_text(message.entries[0]) == "1/12 EntryNormal \"a\\\"\\x00\\xff\"");
  CHECK(std::string(message_type_name(MessageType::kMsgLogLoaded)) == "MsgLogLoaded");
  CHECK(std::string(message_type_name(static_cast<MessageType>(200))) == "MsgUnknown");
}

TEST_CASE("messages in flight are counted in messages and bytes", "[raft]") {
  Inflights inflights(20, 100);
  for (Index i = 1; i <= 10; ++i) inflights.add(i, 5);
  CHECK(inflights.bytes() == 50);
  inflights.free_to(4);
  CHECK(inflights.size() == 6);
  CHECK(inflights.bytes() == 30);
  inflights.add(11, 70);
  CHECK(inflights.full());
  inflights.free_to(100);
  CHECK(inflights.bytes() == 0);
  CHECK_FALSE(inflights.full());
}

TEST_CASE("a full count of messages is full too, and the ring goes round", "[raft]") {
  Inflights inflights(3, 1000);
  for (Index i = 1; i <= 100; ++i) {
    inflights.add(i, 1);
    if (inflights.full()) inflights.free_to(i - 1);
  }
  CHECK(inflights.size() == 2);
  CHECK(inflights.bytes() == 2);
}

TEST_CASE("late and repeated answers do not move progress", "[raft]") {
  Progress peer(2, 11, Inflights(8, 1000));
  CHECK(peer.refused(10, 5));
  CHECK(peer.next() == 6);
  CHECK_FALSE(peer.refused(10, 3));
  CHECK(peer.acknowledged(5));
  CHECK_FALSE(peer.acknowledged(4));
  CHECK(peer.match() == 5);
  peer.become_replicate();
  peer.sent(3, 30, 4);
  CHECK(peer.next() == 9);
  CHECK_FALSE(peer.refused(5, 2));
  CHECK(peer.state() == ProgressState::kReplicate);
  CHECK(peer.refused(8, 5));
  CHECK(peer.state() == ProgressState::kProbe);
  CHECK(peer.next() == 6);
  CHECK(peer.inflights().bytes() == 0);
}

TEST_CASE("next stays above match, whatever hint a peer gives", "[raft]") {
  Progress peer(2, 11, Inflights(8, 1000));
  peer.acknowledged(7);
  CHECK(peer.next() == 11);
  CHECK(peer.refused(10, 0));
  CHECK(peer.next() == 8);
}

TEST_CASE("after a snapshot a peer is probed behind it, or where it was", "[raft]") {
  Progress peer(2, 1, Inflights(8, 1000));
  peer.become_snapshot(20);
  CHECK(peer.paused());
  peer.snapshot_finished();
  CHECK(peer.next() == 21);
  peer.become_snapshot(30);
  peer.become_probe();
  CHECK(peer.next() == 1);
}

TEST_CASE("a round answers those who waited when it began", "[raft]") {
  ReadOnly reads;
  reads.add({1, 100});
  reads.start(5, 42, 0);
  reads.add({1, 101});
  CHECK_FALSE(reads.can_start());
  CHECK_FALSE(reads.acknowledge(2, 4));
  CHECK_FALSE(reads.acknowledge(2, 0));
  CHECK(reads.acknowledge(2, 5));
  CHECK(reads.acknowledged_by(2));
  const auto answered = reads.finish();
  REQUIRE(answered.size() == 1);
  CHECK(answered[0].id == 100);
  CHECK(reads.can_start());
  CHECK_FALSE(reads.acknowledged_by(2));
  CHECK(reads.clear().size() == 1);
}

}  // namespace
}  // namespace quorate::raft
