// SPDX-License-Identifier: Apache-2.0
#include "server/bootstrap.h"

#include <algorithm>
#include <utility>

#include "apply/request.h"
#include "cluster/member.h"
#include "raft/conf_change.h"

namespace quorate::server {
namespace {

constexpr char kMemberFormat[] = "quorate member 1\n";

Status check_foreign(FileSystem& files, const Config& config) {
  if (files.exists(config.data_dir + "/member/wal") ||
      files.exists(config.data_dir + "/member/snap"))
    return Status(Code::kInvalidArgument,
                  "data directory " + config.data_dir +
                      " is etcd's own; give another --data-dir, or restore a snapshot into one");
  return Status();
}

wal::Options wal_options(const Config& config) {
  wal::Options options;
  options.dir = wal_dir(config);
  options.sync = !config.unsafe_no_fsync;
  options.segment_bytes = config.wal_segment_bytes;
  options.keep_bytes_max = config.wal_keep_bytes_max;
  return options;
}

// log: null when there is none, and the store may be made.
Result<storage::OpenedEngine> open_store(Env& env, const Config& config,
                                         const plugin::BackendFactory& backend,
                                         const plugin::HostServices& host, const Logger& logger,
                                         const wal::Recovered* log) {
  storage::OpenOptions options = store_options(config, backend, host, logger);
  options.may_create = log == nullptr;
  if (log != nullptr && log->snapshot) options.log_snapshot = log->snapshot->id();
  return storage::open_engine(env.files(), options);
}

// A cluster begins as etcd's does: with committed entries, one for each member, that add it. Every
// member writes the same ones.
std::vector<raft::Entry> first_entries(const std::vector<cluster::Member>& members) {
  std::vector<raft::Entry> entries;
  for (cluster::Member member : members) {
    raft::ConfChange change;
    change.steps.push_back({raft::ConfChangeType::kAddNode, member.id});
    member.name.clear();  // a member says its name itself, once it runs
    const Bytes context = apply::encode_entry({.kind = apply::EntryKind::kConfChange, .user = {}},
                                              cluster::encode_member(member));
    entries.push_back({1, entries.size() + 1, raft::EntryType::kConfChange,
                       raft::encode_conf_change(change, context.slice())});
  }
  return entries;
}

// The batch that makes the first start final. A joiner has no entries yet; that it is in term 1, as
// any cluster is at least, tells its log from one that was made and never begun.
Status write_first_batch(wal::Wal& wal, std::vector<raft::Entry> entries) {
  raft::Append append;
  append.term = 1;
  append.hard_state = raft::HardState{1, 0, entries.size()};
  append.entries = std::move(entries);
  append.must_sync = true;
  wal.append(append);
  return wal.sync();
}

// A log that was made and never given its first batch.
bool is_blank(const wal::Recovered& found) {
  return found.log.entries.empty() && found.hard_state.empty() && !found.snapshot;
}

Status check_engine_is_blank(const Config& config, const storage::OpenedEngine& engine) {
  if (engine.is_new) return Status();
  return Status(Code::kCorrupt, "data directory " + config.data_dir + " holds a store at index " +
                                    std::to_string(engine.applied.entry.index) +
                                    ", but there is no log in " + wal_dir(config) +
                                    "; give the --wal-dir it was used with, or restore a snapshot");
}

Status start_anew(Env& env, const Config& config, const plugin::BackendFactory& backend,
                  const plugin::HostServices& host, const FetchCluster& fetch, const Logger& logger,
                  Bootstrapped& result) {
  const bool joins = config.initial_cluster_existing;
  Result<FirstCluster> first = joins ? join_cluster(config, fetch) : found_cluster(config, fetch);
  if (!first) return std::move(first).error();
  Result<storage::OpenedEngine> engine = open_store(env, config, backend, host, logger, nullptr);
  if (!engine) return std::move(engine).error();
  QUORATE_TRY(check_engine_is_blank(config, *engine));
  result.engine = std::move(*engine);
  result.is_new = true;
  result.member = {first->cluster_id, first->member_id, config.initial_cluster_token, {}};
  if (joins) {
    for (const cluster::Member& member : first->members)
      result.member.peers.push_back({member.id, "", member.peer_urls, {}, false});
  }
  QUORATE_TRY(write_file_atomically(env.files(), config.data_dir + "/MEMBER",
                                    encode_member_file(result.member)));
  QUORATE_TRY(env.files().remove_all(wal_dir(config)));
  Result<std::unique_ptr<wal::Wal>> wal = wal::Wal::create(
      env, wal_options(config), {first->cluster_id, first->member_id}, std::nullopt, logger);
  if (!wal) return std::move(wal).error();
  QUORATE_TRY(
      write_first_batch(**wal, joins ? std::vector<raft::Entry>() : first_entries(first->members)));
  logger.info("first start: member {} {} cluster {} of {} members",
              cluster::id_text(first->member_id), joins ? "joins" : "founds",
              cluster::id_text(first->cluster_id), first->members.size());
  result.peers = std::move(first->members);
  return (*wal)->close();
}

Status read_member_file(Env& env, const Config& config, const wal::Identity& identity,
                        MemberFile& member) {
  const std::string path = config.data_dir + "/MEMBER";
  Result<std::string> text = read_file(env.files(), path);
  if (!text) return std::move(text).error();
  Result<MemberFile> decoded = decode_member_file(*text, path);
  if (!decoded) return std::move(decoded).error();
  member = std::move(*decoded);
  if (identity.cluster_id != member.cluster_id || identity.member_id != member.member_id)
    return Status(Code::kInvalidArgument,
                  "the log in " + wal_dir(config) + " belongs to member " +
                      cluster::id_text(identity.member_id) + " of cluster " +
                      cluster::id_text(identity.cluster_id) + ", data directory " +
                      config.data_dir + " to member " + cluster::id_text(member.member_id) +
                      " of cluster " + cluster::id_text(member.cluster_id) +
                      "; give directories that were used together");
  const bool names_token = config.initial_cluster_token != Config().initial_cluster_token;
  if (names_token && config.initial_cluster_token != member.token)
    return Status(Code::kInvalidArgument,
                  "data directory " + config.data_dir + " belongs to the cluster with token \"" +
                      member.token + "\", and --initial-cluster-token says \"" +
                      config.initial_cluster_token + "\"; give another --data-dir or that token");
  return Status();
}

// The store must know the member that the log is of, once its addition is applied. A joiner's may
// lie before that: its log begins with the cluster's, and a snapshot may be older than the
// addition.
Status check_store_is_ours(const Config& config, const Bootstrapped& result) {
  const cluster::Membership& members = result.state->members;
  const uint64_t self = result.member.member_id;
  if (result.engine.is_new || members.size() == 0 || members.find(self) != nullptr) return Status();
  if (members.was_removed(self))
    return Status(Code::kInvalidArgument,
                  "member " + cluster::id_text(self) +
                      " has been permanently removed from the cluster; add it anew, with an empty "
                      "--data-dir");
  const bool joined = !result.member.peers.empty();
  if (joined) return Status();
  return Status(Code::kInvalidArgument,
                "the store in " + config.data_dir +
                    " belongs to another cluster: it does not know member " +
                    cluster::id_text(self));
}

}  // namespace

storage::OpenOptions store_options(const Config& config, const plugin::BackendFactory& backend,
                                   const plugin::HostServices& host, const Logger& logger) {
  plugin::BackendOptions open;
  open.buckets = storage::kBucketNames;
  open.quota_bytes = quota_bytes(config);
  for (const auto& [key, value] : config.backend.options) open.options.push_back({key, value});
  open.host = host;
  storage::OpenOptions options;
  options.data_dir = config.data_dir;
  options.engine = backend.name();
  options.logger = logger;
  options.open = [open, backend](const std::string& dir) {
    plugin::BackendOptions with_dir = open;
    with_dir.dir = dir;
    return plugin::Backend::open(backend, std::move(with_dir));
  };
  return options;
}

std::string encode_member_file(const MemberFile& member) {
  std::string text = std::string(kMemberFormat) + "cluster " + cluster::id_text(member.cluster_id) +
                     "\nmember " + cluster::id_text(member.member_id) + "\ntoken " + member.token +
                     "\n";
  for (const cluster::Member& peer : member.peers)
    for (const std::string& url : peer.peer_urls)
      text += "peer " + cluster::id_text(peer.id) + " " + url + "\n";
  return text;
}

Result<MemberFile> decode_member_file(Slice text, const std::string& path) {
  const Status damaged(Code::kCorrupt,
                       path + " is damaged: it does not say whose directory this is");
  const auto take = [&](Slice word, Slice& value) {
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    const size_t end = text.find('\n');
    if (end == Slice::npos) return false;
    value = text.substr(0, end);
    text.remove_prefix(end + 1);
    return true;
  };
  Slice nothing, cluster_text, member_text, token;
  const Slice format = Slice(kMemberFormat).substr(0, sizeof kMemberFormat - 2);
  if (!take(format, nothing) || !nothing.empty() || !take("cluster ", cluster_text) ||
      !take("member ", member_text) || !take("token ", token))
    return damaged;
  const auto cluster_id = cluster::parse_id(cluster_text);
  const auto member_id = cluster::parse_id(member_text);
  if (!cluster_id || !member_id) return damaged;
  MemberFile member{*cluster_id, *member_id, std::string(token), {}};
  while (!text.empty()) {
    Slice peer;
    if (!take("peer ", peer)) return damaged;
    const size_t space = peer.find(' ');
    const auto id = cluster::parse_id(peer.substr(0, space));
    if (space == Slice::npos || !id) return damaged;
    if (member.peers.empty() || member.peers.back().id != *id)
      member.peers.push_back({*id, "", {}, {}, false});
    member.peers.back().peer_urls.emplace_back(peer.substr(space + 1));
  }
  return member;
}

Result<Bootstrapped> bootstrap(Env& env, const Config& config,
                               const plugin::BackendFactory& backend,
                               const plugin::HostServices& host, const FetchCluster& fetch,
                               const Logger& logger) {
  Bootstrapped result;
  FileSystem& files = env.files();
  QUORATE_TRY(create_dir_durably(files, config.data_dir));
  Result<std::unique_ptr<FileLock>> lock = files.lock(config.data_dir + "/LOCK");
  if (!lock)
    return std::move(lock).error().with_context("data directory " + config.data_dir +
                                                " is in use by another process");
  result.lock = std::move(*lock);
  QUORATE_TRY(check_foreign(files, config));

  const Result<bool> log_exists = wal::exists(files, wal_dir(config));
  if (!log_exists) return log_exists.error();
  if (!*log_exists) QUORATE_TRY(start_anew(env, config, backend, host, fetch, logger, result));

  wal::Recovered found;
  Result<std::unique_ptr<wal::Wal>> wal = wal::Wal::open(env, wal_options(config), logger, found);
  if (!wal) return std::move(wal).error();
  if (!result.is_new && is_blank(found)) {
    wal->reset();
    QUORATE_TRY(start_anew(env, config, backend, host, fetch, logger, result));
    found = {};
    wal = wal::Wal::open(env, wal_options(config), logger, found);
    if (!wal) return std::move(wal).error();
  }
  result.wal = std::move(*wal);
  if (!result.is_new) {
    QUORATE_TRY(read_member_file(env, config, found.identity, result.member));
    Result<storage::OpenedEngine> engine = open_store(env, config, backend, host, logger, &found);
    if (!engine) return std::move(engine).error();
    result.engine = std::move(*engine);
  }
  QUORATE_TRY(wal::reconcile(found, result.engine.applied.entry));
  Result<std::unique_ptr<LoadedState>> state = load_state(result.engine, logger);
  if (!state) return std::move(state).error();
  result.state = std::move(*state);
  QUORATE_TRY(check_store_is_ours(config, result));
  if (result.peers.empty() && result.state->members.find(result.member.member_id) == nullptr)
    result.peers = result.member.peers;

  result.raft.hard_state = found.hard_state;
  result.raft.conf_state = result.state->conf_state;
  result.raft.applied = result.engine.applied.entry.index;
  result.raft.log = std::move(found.log);
  return result;
}

}  // namespace quorate::server
