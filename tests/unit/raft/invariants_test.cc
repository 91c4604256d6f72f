// SPDX-License-Identifier: Apache-2.0
// That the checks see what they are there for: each is shown states that no correct group reaches.
#include "raft/invariants.h"

#include <catch2/catch.hpp>

#include "raft/raft.h"

namespace quorate::raft {
namespace {

using Catch::Contains;

struct Start {
  NodeId id = 1;
  HardState hard_state{3, 0, 0};
  std::vector<Term> terms = {};
  const char* payload = "x";
  std::vector<NodeId> voters{1, 2, 3};
  Index applied = 0;
};

Raft node(const Start& start) {
  Config config;
  config.id = start.id;
  InitialState state;
  state.hard_state = start.hard_state;
  state.conf_state.voters = start.voters;
  state.applied = start.applied;
  for (Term term : start.terms)
    state.log.entries.push_back(
        {term, state.log.entries.size() + 1, EntryType::kNormal, Bytes::copy(start.payload)});
  return Raft(config, std::move(state));
}

struct Disk : DurableSource {
  using DurableSource::durable_to;
};

// Elects itself by its own vote.
Raft leader_alone(NodeId id) {
  Raft raft = node({.id = id, .voters = {id}});
  raft.campaign();
  while (raft.role() != Role::kLeader) {
    Ready ready = raft.ready();
    const Durable durable = Disk::durable_to(ready.append.sequence);
    for (Message& reply : std::move(ready.append.replies).release(durable))
      CHECK(raft.step(std::move(reply)).ok());
  }
  return raft;
}

// One node's checks, over what look like two moments of it.
std::string then(const Start& first, const Start& second) {
  NodeInvariants invariants;
  REQUIRE(invariants.check(node(first)).empty());
  return invariants.check(node(second));
}
// A group's checks, over two of its nodes.
std::string beside(const Start& first, const Start& second) {
  GroupInvariants invariants;
  REQUIRE(invariants.check(node(first)).empty());
  return invariants.check(node(second));
}

TEST_CASE("terms, commit and applied indexes must not fall", "[raft][invariants]") {
  CHECK_THAT(then({.hard_state = {3, 0, 0}}, {.hard_state = {2, 0, 0}}), Contains("went back"));
  CHECK_THAT(
      then({.hard_state = {3, 0, 2}, .terms = {1, 1}}, {.hard_state = {3, 0, 1}, .terms = {1, 1}}),
      Contains("went back"));
  CHECK_THAT(then({.hard_state = {3, 0, 2}, .terms = {1, 1}, .applied = 2},
                  {.hard_state = {3, 0, 2}, .terms = {1, 1}, .applied = 1}),
             Contains("went back"));
  CHECK(then({.hard_state = {3, 0, 1}, .terms = {1, 1}}, {.hard_state = {4, 0, 2}, .terms = {1, 1}})
            .empty());
}

TEST_CASE("a second vote in a term is seen", "[raft][invariants]") {
  CHECK_THAT(then({.hard_state = {3, 2, 0}}, {.hard_state = {3, 1, 0}}), Contains("voted twice"));
  CHECK(then({.hard_state = {3, 2, 0}}, {.hard_state = {4, 1, 0}}).empty());
}

TEST_CASE("a configuration that changes without an entry is seen", "[raft][invariants]") {
  CHECK_THAT(then({.voters = {1, 2, 3}}, {.voters = {1, 2}}), Contains("became another"));
  CHECK_THAT(beside({.id = 1, .voters = {1, 2, 3}}, {.id = 2, .voters = {1, 2}}),
             Contains("has the configuration voters=(1 2)"));
  CHECK(beside({.id = 1}, {.id = 2}).empty());
}

TEST_CASE("entries of equal index and term must be equal, back to the one before",
          "[raft][invariants]") {
  CHECK_THAT(beside({.id = 1, .terms = {1, 2}, .payload = "x"},
                    {.id = 2, .terms = {1, 2}, .payload = "y"}),
             Contains("where another held"));
  CHECK_THAT(beside({.id = 1, .terms = {1, 3}}, {.id = 2, .terms = {2, 3}}),
             Contains("where another held"));
  CHECK(beside({.id = 1, .terms = {1, 2}}, {.id = 2, .terms = {1, 3}}).empty());
}

TEST_CASE("two committed entries of one index are seen", "[raft][invariants]") {
  CHECK_THAT(beside({.id = 1, .hard_state = {3, 0, 2}, .terms = {1, 2}},
                    {.id = 2, .hard_state = {3, 0, 2}, .terms = {1, 3}}),
             Contains("commits 3/2"));
  CHECK(beside({.id = 1, .hard_state = {3, 0, 1}, .terms = {1, 2}},
               {.id = 2, .hard_state = {3, 0, 2}, .terms = {1, 3}})
            .empty());
}

TEST_CASE("two leaders of one term are seen", "[raft][invariants]") {
  GroupInvariants invariants;
  CHECK(invariants.check(leader_alone(1)).empty());
  CHECK_THAT(invariants.check(leader_alone(2)), Contains("both lead in term 4"));
}

TEST_CASE("a leader without what is committed is seen", "[raft][invariants]") {
  GroupInvariants invariants;
  const Start behind{.id = 2, .hard_state = {2, 0, 1}, .terms = {1}};
  CHECK(invariants.check(node(behind)).empty());
  CHECK_THAT(invariants.check(leader_alone(1)), Contains("without the committed entry"));
}

}  // namespace
}  // namespace quorate::raft
