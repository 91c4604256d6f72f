// SPDX-License-Identifier: Apache-2.0
#include "server/bootstrap.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <set>

#include "plugin/loader.h"
#include "raft/conf_change.h"
#include "support/temp_dir.h"
#include "support/test_env.h"

extern "C" const quorate_plugin* quorate_static_backend_memory(void);

namespace quorate::server {
namespace {

using cluster::Member;
using test::SimDisk;
using Texts = std::vector<std::string>;

constexpr SimDisk::Op kOps[] = {SimDisk::Op::kOpen,    SimDisk::Op::kWrite,  SimDisk::Op::kSync,
                                SimDisk::Op::kSyncDir, SimDisk::Op::kRename, SimDisk::Op::kRemove};

// A data directory on a disk of its own, and the others as far as they answer.
class Newcomer {
 public:
  explicit Newcomer(const std::string& name, const Texts& urls) {
    std::filesystem::create_directories(directory_.path() + "/backend/00000001");
    config.name = name;
    config.data_dir = directory_.path();
    config.advertise_peer_urls = urls;
    config.initial_cluster = {
        {"a", {"http://h:1"}}, {"b", {"http://h:2"}}, {"c", {"http://h:3", "http://g:3"}}};
  }

  Result<Bootstrapped> start() {
    auto backend = loader_.backend("memory");
    REQUIRE(backend);
    const FetchCluster fetch = [this](const Texts& urls, uint64_t) -> Result<RemoteCluster> {
      asked.push_back(urls);
      return remote;
    };
    return bootstrap(env, config, *backend, {}, fetch, Logger());
  }
  Bootstrapped started() {
    auto result = start();
    INFO(result.status().to_string());
    REQUIRE(result);
    return *std::move(result);
  }
  std::string refusal() {
    const auto result = start();
    return result ? "started" : std::string(result.error().message());
  }
  // The start fails at the `nth` call of `op`, and then the power goes. False: there are not so
  // many calls.
  bool start_cut_short(SimDisk::Op op, int nth, uint64_t seed) {
    env.disk().fail(op, nth, Code::kIoError);
    const bool failed = !start().has_value();
    env.disk().clear_faults();
    env.crash(seed);
    return failed;
  }

  test::TestEnv env;
  Config config;
  Result<RemoteCluster> remote = Status(Code::kUnavailable, "nobody answers");
  std::vector<Texts> asked;

 private:
  const test::TempDir directory_;
  plugin::PluginLoader loader_{
      "/nowhere", {{"backend_memory", quorate_static_backend_memory()}}, Logger()};
};

struct Founder : Newcomer {
  Founder() : Newcomer("c", {"http://g:3", "http://h:3"}) {}
};

// Added to a cluster of a and b, where nobody calls anybody c.
struct Joiner : Newcomer {
  Joiner() : Newcomer("c", {"http://h:3", "http://g:3"}) {
    config.initial_cluster_existing = true;
    remote = RemoteCluster{77,
                           {{5, "first", {"http://h:1"}, {"http://h:11"}, false},
                            {7, "", {"http://g:3", "http://h:3"}, {}, true},
                            {9, "second", {"http://h:2"}, {}, false}}};
  }
  std::vector<Member>& members() { return remote->members; }
};

std::vector<uint64_t> added_by(const raft::LogSlice& log) {
  std::vector<uint64_t> ids;
  for (const raft::Entry& entry : log.entries) {
    const auto change = raft::decode_conf_change(entry.payload);
    REQUIRE(change);
    REQUIRE(change->change.steps.size() == 1);
    CHECK(change->change.steps[0].type == raft::ConfChangeType::kAddNode);
    ids.push_back(change->change.steps[0].node);
  }
  return ids;
}

TEST_CASE("all founders begin with the same committed entries, one for each member, by id",
          "[bootstrap]") {
  Newcomer a("a", {"http://h:1"}), b("b", {"http://h:2"});
  Founder c;
  const Bootstrapped first = a.started(), second = b.started(), third = c.started();
  CHECK(first.raft.log.entries.size() == 3);
  CHECK(first.raft.log.entries == second.raft.log.entries);
  CHECK(first.raft.log.entries == third.raft.log.entries);
  for (const Bootstrapped* one : {&first, &second, &third}) {
    CHECK(one->is_new);
    CHECK(one->raft.hard_state == raft::HardState{1, 0, 3});
    CHECK(one->raft.conf_state == raft::ConfState());
    CHECK(one->member.cluster_id == first.member.cluster_id);
    CHECK(one->peers.size() == 3);
  }
  const std::vector<uint64_t> ids = added_by(first.raft.log);
  CHECK(std::is_sorted(ids.begin(), ids.end()));
  const std::set<uint64_t> selves{first.member.member_id, second.member.member_id,
                                  third.member.member_id};
  CHECK(selves == std::set<uint64_t>(ids.begin(), ids.end()));
}

TEST_CASE("a founder asks the others first, and nobody need answer", "[bootstrap]") {
  Founder c;
  c.started();
  CHECK(c.asked == std::vector<Texts>{{"http://h:1", "http://h:2"}});
}

TEST_CASE("a founder whom the others know as started has lost its data, and is refused",
          "[bootstrap]") {
  Founder c;
  const uint64_t id = cluster::make_member_id({"http://h:3", "http://g:3"}, "etcd-cluster", {});
  c.remote = RemoteCluster{1, {{id, "c", {"http://h:3"}, {}, false}}};
  CHECK(c.refusal() ==
        "member " + cluster::id_text(id) +
            " has already been bootstrapped, and this data directory is empty; give the one it was "
            "used with, or remove the member from its cluster and add it anew");
  c.remote->members[0].name.clear();
  CHECK(c.refusal() == "started");
}

TEST_CASE("a founder must be in the initial cluster exactly as it advertises itself",
          "[bootstrap]") {
  Founder c;
  c.config.name = "d";
  CHECK(c.refusal() ==
        "couldn't find local name \"d\" in the initial cluster configuration; add d=http://g:3 to "
        "--initial-cluster, or change --name");
  c.config.name = "c";
  c.config.advertise_peer_urls = {"http://h:3"};
  CHECK(c.refusal() ==
        "--initial-cluster has c=http://g:3 but missing from "
        "--initial-advertise-peer-urls=http://h:3; make them equal");
  c.config.advertise_peer_urls = {"http://h:3", "http://g:3", "http://g:4"};
  CHECK(c.refusal() ==
        "--initial-advertise-peer-urls has http://g:4 but missing from "
        "--initial-cluster=c=http://g:3,c=http://h:3; make them equal");
  c.config.advertise_peer_urls = {"http://h:3/", "http://g:3"};
  CHECK(c.refusal() == "started");
}

TEST_CASE("two founders with one address are refused", "[bootstrap]") {
  Founder c;
  c.config.initial_cluster[0].peer_urls = {"http://h:2"};
  CHECK(c.refusal() ==
        "the initial cluster has the peer URL http://h:2 twice; each member needs its own");
}

TEST_CASE("a joiner learns cluster and id from the others by its addresses, and begins empty",
          "[bootstrap]") {
  Joiner c;
  const Bootstrapped joined = c.started();
  CHECK(c.asked == std::vector<Texts>{{"http://h:1", "http://h:2"}});
  CHECK(joined.is_new);
  CHECK(joined.member.cluster_id == 77);
  CHECK(joined.member.member_id == 7);
  CHECK(joined.raft.log.entries.empty());
  CHECK(joined.raft.hard_state == raft::HardState{1, 0, 0});
  CHECK(joined.raft.conf_state == raft::ConfState());
  REQUIRE(joined.peers.size() == 3);
  CHECK(joined.peers[0].id == 5);
  CHECK(joined.peers[1].learner);
}

TEST_CASE("a joiner whose cluster does not fit is refused with what to do", "[bootstrap]") {
  Joiner c;
  SECTION("it was not added") {
    c.members().pop_back();
    CHECK(c.refusal() ==
          "error validating peerURLs: member count is unequal: --initial-cluster names 3, the "
          "cluster has 2; add this member to the cluster first, then give the --initial-cluster "
          "that `member add` printed");
  }
  SECTION("one lives elsewhere") {
    c.members()[2].peer_urls = {"http://h:9"};
    CHECK(c.refusal() ==
          "error validating peerURLs: PeerURLs: no match found for existing member (9, "
          "[http://h:9]); write it into --initial-cluster with these URLs");
  }
  SECTION("nobody answers") {
    c.remote = Status(Code::kUnavailable, "connection refused");
    CHECK(c.refusal() ==
          "cannot fetch cluster info from peer urls: could not retrieve cluster information from "
          "the given URLs (http://h:1,http://h:2): connection refused");
  }
  SECTION("there is nobody to ask") {
    c.config.initial_cluster = {{"c", {"http://h:3"}}};
    CHECK(c.refusal() ==
          "cannot fetch cluster info from peer urls: --initial-cluster names no other member; give "
          "the one that `member add` printed, or --initial-cluster-state=new");
  }
  SECTION("it has run before, with other data") {
    c.members()[1].name = "c";
    CHECK(c.refusal().starts_with("member 7 has already been bootstrapped"));
  }
  SECTION("it is not in its own initial cluster") {
    c.config.name = "d";
    CHECK(c.refusal().starts_with("couldn't find local name \"d\""));
  }
}

TEST_CASE("a later start asks nobody and heeds no initial cluster", "[bootstrap]") {
  const auto again = [](Newcomer& member, size_t known) {
    const MemberFile first = member.started().member;
    member.asked.clear();
    member.config.initial_cluster = {{"z", {"http://z:1"}}};
    member.config.initial_cluster_existing = !member.config.initial_cluster_existing;
    const Bootstrapped second = member.started();
    CHECK_FALSE(second.is_new);
    CHECK(second.member == first);
    CHECK(second.raft.hard_state.term == 1);
    CHECK(second.peers.size() == known);
    CHECK(member.asked.empty());
  };
  Founder founder;
  again(founder, 0);
  Joiner joiner;
  again(joiner, 3);
}

TEST_CASE("MEMBER says whose directory it is, and nothing else is taken for it", "[bootstrap]") {
  const MemberFile file{
      7,
      255,
      "t",
      {{5, "", {"http://a:1", "http://b:1"}, {}, false}, {6, "", {"http://c:1"}, {}, false}}};
  const std::string text = encode_member_file(file);
  CHECK(text ==
        "quorate member 1\ncluster 7\nmember ff\ntoken t\npeer 5 http://a:1\npeer 5 http://b:1\n"
        "peer 6 http://c:1\n");
  const auto decoded = decode_member_file(text, "MEMBER");
  REQUIRE(decoded);
  CHECK(*decoded == file);
  for (size_t size = 0; size < text.size(); ++size) {
    const bool whole_lines = size >= 40 && text[size - 1] == '\n';
    CHECK(decode_member_file(text.substr(0, size), "MEMBER").has_value() == whole_lines);
  }
  CHECK_FALSE(decode_member_file(text + "peer x http://d:1\n", "MEMBER"));
  CHECK_FALSE(decode_member_file(text + "peer 9\n", "MEMBER"));
  CHECK_FALSE(decode_member_file(text + "more\n", "MEMBER"));
}

TEST_CASE("a first start that fails anywhere, and loses what it may, is simply begun again",
          "[bootstrap]") {
  uint64_t seed = 1;
  const auto survives = [&seed](auto make) {
    for (const SimDisk::Op op : kOps) {
      for (int nth = 1;; ++nth) {
        CAPTURE(static_cast<int>(op), nth);
        auto member = make();
        if (!member->start_cut_short(op, nth, ++seed)) break;
        const Bootstrapped found = member->started();
        CHECK(found.raft.hard_state.term == 1);
        CHECK(found.raft.hard_state.commit == found.raft.log.entries.size());
        CHECK(found.raft.log.entries.size() == (found.member.cluster_id == 77 ? 0 : 3));
      }
    }
  };
  survives([] { return std::make_unique<Founder>(); });
  survives([] { return std::make_unique<Joiner>(); });
}

}  // namespace
}  // namespace quorate::server
