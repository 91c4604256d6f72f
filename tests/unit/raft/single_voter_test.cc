// SPDX-License-Identifier: Apache-2.0
// One voter, with every step in the open: the form in which the first member runs.
#include <catch2/catch.hpp>

#include "raft/text.h"
#include "support/raft_group/raft_group.h"

namespace quorate::raft {
namespace {

RaftGroup one_voter(const std::function<void(Config&)>& adjust = {}) {
  RaftGroup group;
  group.add_voters(1, adjust);
  return group;
}

std::vector<std::string> payloads(const std::vector<Entry>& entries) {
  std::vector<std::string> texts;
  for (const Entry& entry : entries) texts.emplace_back(entry.payload.slice());
  return texts;
}

TEST_CASE("a single voter elects itself, and each promise travels with its append", "[raft]") {
  RaftGroup group = one_voter();
  group.event(1, [](RawNode& node) { node.campaign(); });

  Ready pre_vote = group.process_ready(1);
  CHECK(pre_vote.messages.empty());
  REQUIRE(pre_vote.append.replies.size() == 1);
  CHECK(pre_vote.append.replies.texts()[0] == "1->1 MsgPreVoteResp Term:1 Log:0/0");
  CHECK_FALSE(pre_vote.append.must_sync);
  group.process_append(1);

  Ready vote = group.process_ready(1);
  CHECK(vote.append.hard_state == HardState{1, 1, 0});
  CHECK(vote.append.must_sync);
  CHECK(group.node(1).soft_state().role == Role::kCandidate);
  group.process_append(1);

  Ready lead = group.process_ready(1);
  CHECK(lead.soft_state == SoftState{1, Role::kLeader});
  REQUIRE(lead.append.entries.size() == 1);
  CHECK(lead.append.entries[0].payload.empty());
  CHECK(lead.append.replies.texts().at(0) == "1->1 MsgAppResp Term:1 Log:0/1");
}

TEST_CASE("asking again does not start an election over", "[raft]") {
  RaftGroup group = one_voter();
  for (int i = 0; i < 3; ++i) {
    group.event(1, [](RawNode& node) { node.campaign(); });
    if (group.node(1).has_ready()) group.process_ready(1);
  }
  CHECK(group.waiting_appends(1) == 1);
  group.stabilize();
  CHECK(group.node(1).soft_state().role == Role::kLeader);
  CHECK(group.raft(1).term() == 1);
}

TEST_CASE("a single voter commits an entry when its own disk has it, and not before", "[raft]") {
  RaftGroup group = one_voter();
  group.elect(1);
  REQUIRE(group.propose(1, "x").ok());
  Ready ready = group.process_ready(1);
  CHECK(payloads(ready.append.entries) == std::vector<std::string>{"x"});
  CHECK(group.node(1).hard_state().commit == 1);
  CHECK_FALSE(group.node(1).has_ready());

  group.process_append(1);
  CHECK(group.node(1).hard_state().commit == 2);
  Ready committed = group.process_ready(1);
  CHECK(payloads(committed.committed) == std::vector<std::string>{"x"});
  CHECK_FALSE(committed.append.must_sync);
  CHECK(committed.append.hard_state == HardState{1, 1, 2});
}

TEST_CASE("proposals of one turn become one append", "[raft]") {
  RaftGroup group = one_voter();
  group.elect(1);
  const Bytes batch[] = {Bytes::copy("a"), Bytes::copy("b")};
  group.event(1, [&](RawNode& node) { CHECK(node.propose(batch).ok()); });
  REQUIRE(group.propose(1, "c").ok());
  Ready ready = group.process_ready(1);
  CHECK(payloads(ready.append.entries) == std::vector<std::string>{"a", "b", "c"});
  CHECK(ready.append.replies.size() == 1);
}

TEST_CASE("without a leader a proposal is dropped and a read refused", "[raft]") {
  RaftGroup group = one_voter();
  CHECK(group.propose(1, "x").code() == Code::kProposalDropped);
  group.event(1, [](RawNode& node) { node.read_index(7); });
  Ready ready = group.process_ready(1);
  REQUIRE(ready.read_states.size() == 1);
  CHECK(ready.read_states[0].request == 7);
  CHECK_FALSE(ready.read_states[0].ok);
}

TEST_CASE("a read waits for an entry of the leader's term to be committed", "[raft]") {
  RaftGroup group = one_voter();
  group.event(1, [](RawNode& node) { node.campaign(); });
  for (int i = 0; i < 2; ++i) {
    group.process_ready(1);
    group.process_append(1);
  }
  REQUIRE(group.node(1).soft_state().role == Role::kLeader);
  group.event(1, [](RawNode& node) { node.read_index(7); });
  CHECK(group.process_ready(1).read_states.empty());
  group.process_append(1);
  Ready ready = group.process_ready(1);
  REQUIRE(ready.read_states.size() == 1);
  CHECK(ready.read_states[0].ok);
  CHECK(ready.read_states[0].index == 1);
}

TEST_CASE("the uncommitted tail is bounded, and its counter comes back to zero", "[raft]") {
  RaftGroup group = one_voter([](Config& config) { config.uncommitted_bytes_max = 10; });
  group.elect(1);
  CHECK(group.propose(1, "123456").ok());
  CHECK(group.propose(1, "12345").code() == Code::kProposalDropped);
  CHECK(group.propose(1, "1234").ok());
  CHECK(group.raft(1).log().uncommitted_bytes() == 10);
  group.stabilize();
  CHECK(group.raft(1).log().uncommitted_bytes() == 0);
  CHECK(group.propose(1, "one entry larger than the limit may pass alone").ok());
}

TEST_CASE("a batch that is dropped leaves nothing in the log", "[raft]") {
  RaftGroup group = one_voter([](Config& config) { config.uncommitted_bytes_max = 10; });
  group.elect(1);
  REQUIRE(group.propose(1, "1").ok());
  const Bytes batch[] = {Bytes::copy("a"), Bytes::copy("0123456789")};
  group.event(1, [&](RawNode& node) { CHECK_FALSE(node.propose(batch).ok()); });
  CHECK(group.node(1).last_index() == 2);
}

TEST_CASE("what is handed to apply is bounded, and every entry comes once", "[raft]") {
  RaftGroup group = one_voter([](Config& config) { config.committed_bytes_max = 4; });
  group.elect(1);
  for (const char* payload : {"aa", "bb", "cc", "large entry", "dd"})
    REQUIRE(group.propose(1, payload).ok());
  group.process_ready(1);
  group.process_append(1);
  CHECK(payloads(group.process_ready(1).committed) == std::vector<std::string>{"aa", "bb"});
  CHECK(group.process_ready(1).committed.empty());
  group.process_apply(1);
  CHECK(payloads(group.process_ready(1).committed) == std::vector<std::string>{"cc"});
  group.stabilize();
  CHECK(group.engine(1).applied.index == 6);
  CHECK(group.raft(1).log().applying_bytes() == 0);
}

TEST_CASE("appends in progress are bounded; what waits is neither acknowledged nor lost",
          "[raft]") {
  RaftGroup group = one_voter([](Config& config) { config.append_in_progress_bytes_max = 4; });
  group.elect(1);
  for (const char* payload : {"aa", "bb", "cc"}) REQUIRE(group.propose(1, payload).ok());
  Ready first = group.process_ready(1);
  CHECK(payloads(first.append.entries) == std::vector<std::string>{"aa", "bb"});
  CHECK(first.append.replies.texts().at(0) == "1->1 MsgAppResp Term:1 Log:0/3");
  CHECK(group.process_ready(1).append.empty());
  group.process_append(1);
  CHECK(payloads(group.process_ready(1).append.entries) == std::vector<std::string>{"cc"});
  group.stabilize();
  CHECK(group.node(1).hard_state().commit == 4);
}

TEST_CASE("applied entries leave memory beyond its bound, later ones stay", "[raft]") {
  RaftGroup group = one_voter([](Config& config) { config.log_memory_bytes_max = 500; });
  group.elect(1);
  for (int i = 0; i < 20; ++i) {
    REQUIRE(group.propose(1, "0123456789").ok());
    group.stabilize();
  }
  CHECK(group.raft(1).log().memory_bytes() <= 500);
  CHECK(group.raft(1).log().first_index() > 10);
  CHECK(group.engine(1).entries.size() == 21);
}

TEST_CASE("a restarted voter has what was acknowledged and applies the rest again", "[raft]") {
  RaftGroup group = one_voter();
  group.elect(1);
  REQUIRE(group.propose(1, "kept").ok());
  group.stabilize();
  REQUIRE(group.propose(1, "lost").ok());
  group.process_ready(1);
  group.crash(1);
  group.restart(1);
  group.elect(1);
  CHECK(group.engine(1).entries.at(2).payload.slice() == "kept");
  CHECK(group.node(1).last_index() == 3);
  CHECK(group.engine(1).entries.at(3).payload.empty());
}

TEST_CASE("after the last answer nothing is ready any more", "[raft]") {
  RaftGroup group = one_voter();
  group.elect(1);
  for (int i = 0; i < 50; ++i) {
    group.tick(1);
    CHECK_FALSE(group.node(1).has_ready());
  }
}

TEST_CASE("a voter alone keeps its leadership while its disk is slow", "[raft]") {
  RaftGroup group = one_voter();
  group.elect(1);
  REQUIRE(group.propose(1, "x").ok());
  group.process_ready(1);
  group.tick(1, 100);
  CHECK(group.node(1).soft_state().role == Role::kLeader);
  group.stabilize();
  CHECK(group.engine(1).applied.index == 2);
}

}  // namespace
}  // namespace quorate::raft
