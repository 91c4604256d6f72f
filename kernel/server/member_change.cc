// SPDX-License-Identifier: Apache-2.0
#include "server/member_change.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

namespace quorate::server {
namespace {

using cluster::Member;

size_t quorum(size_t voters) {
  return voters / 2 + 1;
}

std::vector<Member> voters_but(const ClusterHealth& health, uint64_t left_out) {
  std::vector<Member> voters = health.members->members();
  std::erase_if(voters, [left_out](const Member& m) { return m.learner || m.id == left_out; });
  return voters;
}

size_t started(const std::vector<Member>& members) {
  return static_cast<size_t>(
      std::count_if(members.begin(), members.end(), [](const Member& m) { return m.started(); }));
}

uint64_t connected_since(const ClusterHealth& health, uint64_t member) {
  return *health.connected_since ? (*health.connected_since)(member) : 0;
}

// This member and those it has been connected to for long enough.
size_t healthy(const ClusterHealth& health, const std::vector<Member>& members) {
  return static_cast<size_t>(std::count_if(members.begin(), members.end(), [&](const Member& m) {
    if (m.id == health.self) return true;
    const uint64_t since = connected_since(health, m.id);
    return since != 0 && since + kHealthyAfterNs <= health.now_ns;
  }));
}

Status not_enough_started() {
  return Status(Code::kNotEnoughStarted,
                "of the members that would vote, too few have ever started; start those that were "
                "added, or remove them");
}

Status unhealthy() {
  return Status(Code::kUnhealthyCluster,
                "this member is connected to too few others to change the cluster safely; bring "
                "them back first");
}

bool is_port(Slice text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port <= 65535;
}

// host:port, [v6]:port.
bool is_host_and_port(Slice text) {
  const size_t colon = text.rfind(':');
  if (colon == Slice::npos || colon == 0 || !is_port(text.substr(colon + 1))) return false;
  const Slice host = text.substr(0, colon);
  if (host.find_first_of("/?#@ ") != Slice::npos) return false;
  const bool in_brackets = host.front() == '[' && host.back() == ']';
  return in_brackets || host.find(':') == Slice::npos;
}

bool is_peer_url(Slice url) {
  for (const Slice scheme : {Slice("http://"), Slice("https://")})
    if (url.starts_with(scheme)) return is_host_and_port(url.substr(scheme.size()));
  for (const Slice scheme : {Slice("unix://"), Slice("unixs://")})
    if (url.starts_with(scheme)) return url.size() > scheme.size();
  return false;
}

std::vector<std::string> owned(const std::vector<Slice>& urls) {
  std::vector<std::string> result(urls.begin(), urls.end());
  std::sort(result.begin(), result.end());
  return result;
}

ConfProposal propose(uint64_t call, raft::ConfChangeType type, const Member& member,
                     uint64_t made_id = 0) {
  ConfProposal proposal;
  proposal.request = call;
  proposal.change.steps.push_back({type, member.id});
  proposal.context = apply::encode_entry({.kind = apply::EntryKind::kConfChange,
                                          .request_id = call,
                                          .prepared_id = made_id,
                                          .user = {}},
                                         cluster::encode_member(member));
  return proposal;
}

}  // namespace

Status check_strictly(const ClusterHealth& health, const apply::MemberAddOp& change) {
  const std::vector<Member> voters = voters_but(health, 0);
  const bool alone = voters.size() == 1;
  const bool first_of_one = alone && started(voters) == 1;
  if (!change.learner && !first_of_one && started(voters) < quorum(voters.size() + 1))
    return not_enough_started();
  // The new one counts as a voter that is not there yet.
  if (!alone && healthy(health, voters) < quorum(voters.size() + 1)) return unhealthy();
  return Status();
}

Status check_strictly(const ClusterHealth& health, const apply::MemberRemoveOp& change) {
  const Member* member = health.members->find(change.id);
  if (member != nullptr && member->learner) return Status();
  const std::vector<Member> rest = voters_but(health, change.id);
  if (started(rest) < quorum(rest.size())) return not_enough_started();
  const bool there = change.id == health.self || connected_since(health, change.id) != 0;
  if (!there) return Status();
  const std::vector<Member> voters = voters_but(health, 0);
  if (healthy(health, voters) < 2 + (voters.size() - 1) / 2) return unhealthy();
  return Status();
}

Status check_strictly(const ClusterHealth& health, const apply::MemberPromoteOp&) {
  const std::vector<Member> voters = voters_but(health, 0);
  // The learner is known to be there: it follows the log.
  if (started(voters) + 1 < quorum(voters.size() + 1)) return not_enough_started();
  return Status();
}

Status check_peer_urls(const std::vector<Slice>& urls) {
  if (!urls.empty() && std::all_of(urls.begin(), urls.end(), is_peer_url)) return Status();
  return Status(Code::kBadMemberUrls, "a member needs peer URLs; write http://host:port");
}

ConfProposal propose_change(uint64_t call, const apply::MemberAddOp& change, int64_t unix_seconds) {
  Member member;
  member.peer_urls = owned(change.peer_urls);
  member.learner = change.learner;
  // As etcd: the cluster's token enters the ids of its founders alone.
  member.id = cluster::make_member_id(member.peer_urls, "", unix_seconds);
  return propose(
      call, change.learner ? raft::ConfChangeType::kAddLearner : raft::ConfChangeType::kAddNode,
      member, member.id);
}

ConfProposal propose_change(uint64_t call, const apply::MemberRemoveOp& change) {
  Member member;
  member.id = change.id;
  return propose(call, raft::ConfChangeType::kRemoveNode, member);
}

ConfProposal propose_change(uint64_t call, const apply::MemberUpdateOp& change) {
  Member member;
  member.id = change.id;
  member.peer_urls = owned(change.peer_urls);
  return propose(call, raft::ConfChangeType::kUpdateNode, member);
}

ConfProposal propose_promotion(uint64_t call, const cluster::Member& learner) {
  Member member = learner;
  member.learner = false;
  ConfProposal proposal = propose(call, raft::ConfChangeType::kAddNode, member);
  proposal.promotes = true;
  return proposal;
}

}  // namespace quorate::server
