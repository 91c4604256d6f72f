// SPDX-License-Identifier: Apache-2.0
#include "server/first_cluster.h"

#include <algorithm>
#include <utility>

namespace quorate::server {
namespace {

using cluster::Member;

Status refused(std::string sentence) {
  return Status(Code::kInvalidArgument, std::move(sentence));
}

std::string joined(const std::vector<std::string>& texts, const std::string& prefix = "") {
  std::string text;
  for (const std::string& each : texts) {
    if (!text.empty()) text += ',';
    text += prefix + each;
  }
  return text;
}

// http://a:1/ and http://a:1 are one address.
std::vector<std::string> normalized(std::vector<std::string> urls) {
  for (std::string& url : urls)
    if (url.starts_with("http") && url.ends_with('/')) url.pop_back();
  std::sort(urls.begin(), urls.end());
  return urls;
}

std::vector<std::string> missing_in(const std::vector<std::string>& those,
                                    const std::vector<std::string>& wanted) {
  std::vector<std::string> missing;
  std::set_difference(wanted.begin(), wanted.end(), those.begin(), those.end(),
                      std::back_inserter(missing));
  return missing;
}

Result<std::vector<Member>> initial_members(const Config& config) {
  std::vector<cluster::NamedPeer> peers;
  for (const InitialMember& member : config.initial_cluster)
    peers.push_back({member.name, normalized(member.peer_urls)});
  return cluster::bootstrap_members(peers, config.initial_cluster_token);
}

const Member* find_self(const Config& config, const std::vector<Member>& members) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& m) { return m.name == config.name; });
  return found == members.end() ? nullptr : &*found;
}

Status not_in_cluster(const Config& config) {
  const std::string url =
      config.advertise_peer_urls.empty() ? "URL" : config.advertise_peer_urls.front();
  return refused("couldn't find local name \"" + config.name +
                 "\" in the initial cluster configuration; add " + config.name + "=" + url +
                 " to --initial-cluster, or change --name");
}

Status check_advertised(const Config& config, const Member& self) {
  const std::vector<std::string> advertised = normalized(config.advertise_peer_urls);
  const std::vector<std::string> unsaid = missing_in(advertised, self.peer_urls);
  if (!unsaid.empty())
    return refused("--initial-cluster has " + joined(unsaid, config.name + "=") +
                   " but missing from --initial-advertise-peer-urls=" + joined(advertised) +
                   "; make them equal");
  const std::vector<std::string> unknown = missing_in(self.peer_urls, advertised);
  if (!unknown.empty())
    return refused("--initial-advertise-peer-urls has " + joined(unknown) +
                   " but missing from --initial-cluster=" +
                   joined(self.peer_urls, config.name + "=") + "; make them equal");
  return Status();
}

std::vector<std::string> urls_of_others(const Config& config, const std::vector<Member>& members) {
  std::vector<std::string> urls;
  for (const Member& member : members) {
    if (member.name == config.name) continue;
    urls.insert(urls.end(), member.peer_urls.begin(), member.peer_urls.end());
  }
  std::sort(urls.begin(), urls.end());
  return urls;
}

Status already_started(uint64_t id) {
  return refused("member " + cluster::id_text(id) +
                 " has already been bootstrapped, and this data directory is empty; give the one "
                 "it was used with, or remove the member from its cluster and add it anew");
}

Result<RemoteCluster> fetch_from(const FetchCluster& fetch, const std::vector<std::string>& urls) {
  const std::string what = "cannot fetch cluster info from peer urls: ";
  if (!fetch || urls.empty())
    return refused(what +
                   "--initial-cluster names no other member; give the one that `member add` "
                   "printed, or --initial-cluster-state=new");
  Result<RemoteCluster> remote = fetch(urls, kFetchToJoinMs);
  if (remote) return remote;
  return Status(remote.error().code(),
                what + "could not retrieve cluster information from the given URLs (" +
                    joined(urls) + "): " + std::string(remote.error().message()));
}

// The names that --initial-cluster gives and the ids that the cluster gives belong together by the
// peer URLs.
Status take_ids(std::vector<Member>& local, const std::vector<Member>& remote) {
  const std::string what = "error validating peerURLs: ";
  if (local.size() != remote.size())
    return refused(what + "member count is unequal: --initial-cluster names " +
                   std::to_string(local.size()) + ", the cluster has " +
                   std::to_string(remote.size()) +
                   "; add this member to the cluster first, then give the --initial-cluster that "
                   "`member add` printed");
  for (const Member& member : remote) {
    const std::vector<std::string> urls = normalized(member.peer_urls);
    const auto match = std::find_if(local.begin(), local.end(),
                                    [&](const Member& m) { return m.peer_urls == urls; });
    if (match == local.end())
      return refused(what + "PeerURLs: no match found for existing member (" +
                     cluster::id_text(member.id) + ", [" + joined(urls) +
                     "]); write it into --initial-cluster with these URLs");
    const std::string name = match->name;
    *match = member;
    match->name = name;
  }
  return Status();
}

bool is_started(const std::vector<Member>& members, uint64_t id) {
  return std::any_of(members.begin(), members.end(),
                     [id](const Member& m) { return m.id == id && m.started(); });
}

}  // namespace

Result<FirstCluster> found_cluster(const Config& config, const FetchCluster& fetch) {
  Result<std::vector<Member>> members = initial_members(config);
  if (!members) return std::move(members).error();
  const Member* self = find_self(config, *members);
  if (self == nullptr) return not_in_cluster(config);
  QUORATE_TRY(check_advertised(config, *self));

  FirstCluster result;
  result.member_id = self->id;
  std::vector<uint64_t> ids;
  for (const Member& member : *members) ids.push_back(member.id);
  result.cluster_id = cluster::make_cluster_id(ids);
  const std::vector<std::string> others = urls_of_others(config, *members);
  if (fetch && !others.empty()) {
    // Usually nobody answers: the others are starting as well.
    const Result<RemoteCluster> remote = fetch(others, kFetchToFoundMs);
    if (remote && is_started(remote->members, self->id)) return already_started(self->id);
  }
  result.members = std::move(*members);
  return result;
}

Result<FirstCluster> join_cluster(const Config& config, const FetchCluster& fetch) {
  Result<std::vector<Member>> members = initial_members(config);
  if (!members) return std::move(members).error();
  if (find_self(config, *members) == nullptr) return not_in_cluster(config);
  Result<RemoteCluster> remote = fetch_from(fetch, urls_of_others(config, *members));
  if (!remote) return std::move(remote).error();
  QUORATE_TRY(take_ids(*members, remote->members));
  const uint64_t self = find_self(config, *members)->id;
  if (is_started(remote->members, self)) return already_started(self);
  std::sort(members->begin(), members->end(),
            [](const Member& a, const Member& b) { return a.id < b.id; });
  return FirstCluster{remote->cluster_id, self, std::move(*members)};
}

}  // namespace quorate::server
