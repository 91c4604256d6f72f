// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/check.h"
#include "cluster/member.h"
#include "env/latch.h"
#include "server/log_load.h"
#include "server/snapshot_load.h"
#include "server/version.h"
#include "storage/checkpoint.h"

namespace quorate::server {
namespace {

constexpr uint64_t kCheckpointBytes = uint64_t{512} << 20;  // of log between two checkpoints

double seconds(uint64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

uint64_t first_id(Env& env) {
  return (env.random_seed() << kStartIdCountBits) | 1;
}

}  // namespace

Server::Server(Env& env, Config config, ServerEvents* events, const Logger& logger)
    : env_(env),
      config_(std::move(config)),
      events_(events),
      logger_(logger),
      next_lease_(env.random_seed()),
      pending_(first_id(env)) {}

Result<std::unique_ptr<Server>> Server::start(Env& env, Config config,
                                              plugin::PluginLoader& plugins, ServerEvents* events,
                                              const Logger& logger) {
  std::unique_ptr<Server> server(new Server(env, std::move(config), events, logger));
  Result<plugin::BackendFactory> backend = plugins.backend(server->config_.backend.name);
  if (!backend) return std::move(backend).error();
  plugin::HostServices host;
  host.logger = logger.named("engine");
  host.config = server.get();
  QUORATE_TRY(server->create_peers(plugins));
  FetchCluster fetch;
  if (server->peers_)
    fetch = [&](const std::vector<std::string>& urls, uint64_t timeout_ms) {
      return server->peers_->fetch_cluster(urls, timeout_ms);
    };
  Result<Bootstrapped> found =
      bootstrap(env, server->config_, *backend, host, fetch, logger.named("start"));
  if (!found) return std::move(found).error();
  server->durable_engine_ = backend->durable();
  server->store_options_ = store_options(server->config_, *backend, host, logger.named("snapshot"));
  const cluster::Membership members = found->state->members;
  const std::vector<cluster::Member> first_known = std::move(found->peers);
  server->make_loops(std::move(*found));
  server->define_metrics();
  server->attach_peers(members, first_known);
  QUORATE_TRY(server->create_frontends(plugins));
  server->running_ = true;
  server->raft_loop_->start();
  return server;
}

void Server::make_loops(Bootstrapped found) {
  lock_ = std::move(found.lock);
  engine_ = found.engine.engine;
  state_.cluster_id = found.member.cluster_id;
  state_.member_id = found.member.member_id;
  main_executor_ = env_.make_executor("raft");
  wal_executor_ = env_.make_executor("wal");
  commit_executor_ = env_.make_executor("commit");
  pool_ = env_.make_pool("reader", config_.reader_threads);

  raft::Config raft_config;
  raft_config.id = state_.member_id;
  raft_config.heartbeat_ticks = 1;
  raft_config.log_memory_bytes_max = config_.log_memory_bytes_max;
  raft_config.append_bytes_max = config_.append_bytes_max;
  raft_config.inflight_messages_max = config_.inflight_messages_max;
  raft_config.inflight_bytes_max = config_.inflight_bytes_max;
  raft_config.append_in_progress_bytes_max = config_.append_in_progress_bytes_max;
  raft_config.uncommitted_bytes_max = config_.uncommitted_bytes_max;
  raft_config.committed_bytes_max = config_.committed_bytes_max;
  raft_config.election_ticks = static_cast<int>(config_.election_ms / config_.heartbeat_ms);
  raft_config.pre_vote = config_.pre_vote;
  raft_config.lease_reads = config_.lease_reads;
  raft_config.seed = env_.random_seed();
  raft_config.logger = logger_.named("raft");
  const raft::ConfState conf_state = found.raft.conf_state;
  RaftOutput* const raft_output = this;
  ApplyOutput* const apply_output = this;
  wal::WalSink* const wal_sink = this;
  wal::WalObserver* const wal_observer = this;
  storage::CommitSink* const commit_sink = this;
  raft_loop_ =
      std::make_unique<RaftLoop>(main_executor_.get(),
                                 RaftLoop::Parts{.clock = &env_.clock(),
                                                 .output = raft_output,
                                                 .self = state_.member_id,
                                                 .tick_ms = config_.heartbeat_ms,
                                                 .first_read_id = first_id(env_),
                                                 .seed = env_.random_seed(),
                                                 .group_bytes_max = config_.append_bytes_max,
                                                 .proposal_bytes_max = config_.proposal_bytes_max,
                                                 .peer_bytes_max = config_.peer_bytes_max,
                                                 .request_bytes_max = config_.request_bytes_max,
                                                 .logger = logger_.named("raft")},
                                 raft::RawNode(raft_config, std::move(found.raft)), conf_state);
  wal_loop_ =
      std::make_unique<wal::WalLoop>(env_, wal_executor_.get(), pool_.get(), std::move(found.wal),
                                     wal_sink, wal_observer, logger_.named("wal"));
  apply_loop_ = std::make_unique<ApplyLoop>(main_executor_.get(),
                                            ApplyLoop::Parts{.clock = &env_.clock(),
                                                             .pool = pool_.get(),
                                                             .output = apply_output,
                                                             .state = &state_,
                                                             .pending = &pending_,
                                                             .config = &config_,
                                                             .connected_since = connected_since(),
                                                             .observer = events_->apply_observer(),
                                                             .logger = logger_.named("apply")},
                                            std::move(found.state));
  commit_loop_ =
      std::make_unique<storage::CommitLoop>(commit_executor_.get(), &env_.clock(), commit_sink,
                                            engine_, found.engine.durable, logger_.named("commit"));
  SnapshotOutput* const snapshot_output = this;
  snapshots_ = std::make_unique<Snapshots>(main_executor_.get(),
                                           Snapshots::Parts{.env = &env_,
                                                            .pool = pool_.get(),
                                                            .state = &state_,
                                                            .output = snapshot_output,
                                                            .source = apply_loop_->read_source(),
                                                            .store = store_options_,
                                                            .logger = logger_.named("snapshot")});
  read_engine_size();
}

Status Server::create_peers(plugin::PluginLoader& plugins) {
  if (config_.listen_peer_urls.empty()) return Status();
  Result<plugin::TransportFactory> factory = plugins.transport(config_.transport.name);
  if (!factory) return std::move(factory).error();
  plugin::HostServices host;
  host.logger = logger_.named("transport");
  host.member = &info_;
  host.metrics = &metrics_;
  host.config = this;
  Result<std::unique_ptr<Peers>> peers =
      Peers::create(*factory, config_, std::move(host), &env_.clock(), logger_.named("peers"));
  if (!peers) return std::move(peers).error();
  peers_ = std::move(*peers);
  return Status();
}

ConnectedSince Server::connected_since() const {
  if (!peers_) return {};
  const PeerBook* book = &peers_->book();
  return [book](uint64_t member) { return book->connected_since_ns(member); };
}

void Server::attach_peers(const cluster::Membership& members,
                          const std::vector<cluster::Member>& first_known) {
  if (!peers_) return;
  snapshots_->set_transport(peers_->transport());
  Services::Parts parts = services_parts();
  parts.for_peers = true;
  peer_services_ = std::make_unique<Services>(parts);
  peers_->attach({.state = &state_,
                  .raft = raft_loop_.get(),
                  .apply = apply_loop_.get(),
                  .services = peer_services_->table(),
                  .snapshots = snapshots_.get(),
                  .on_removed = [this] { removed(); }});
  // Peers may be heard from now on, so the raft loop runs, and the addresses are its own.
  raft_loop_->post(PeerAddresses{members.members(), members.removed(), true});
  raft_loop_->post(PeerAddresses{first_known, {}, false});
}

Services::Parts Server::services_parts() {
  return {.config = &config_,
          .state = &state_,
          .pending = &pending_,
          .raft = raft_loop_.get(),
          .apply = apply_loop_.get(),
          .pool = pool_.get(),
          .clock = &env_.clock(),
          .reads = {apply_loop_->read_source(), &state_, &pending_, &env_.clock()},
          .slabs = slabs_,
          .next_stream = &next_stream_,
          .next_lease = &next_lease_};
}

Status Server::create_frontends(plugin::PluginLoader& plugins) {
  for (const PluginChoice& choice : config_.frontends) {
    Result<plugin::FrontendFactory> factory = plugins.frontend(choice.name);
    if (!factory) return std::move(factory).error();
    services_.push_back(std::make_unique<Services>(services_parts()));
    plugin::FrontendOptions options;
    options.listen_urls = config_.listen_client_urls;
    for (const auto& [key, value] : choice.options) options.options.push_back({key, value});
    options.host.logger = logger_.named("frontend");
    options.host.member = &info_;
    options.host.metrics = &metrics_;
    options.host.config = this;
    Result<std::unique_ptr<plugin::Frontend>> frontend =
        plugin::Frontend::create(*factory, std::move(options), services_.back()->table());
    if (!frontend) return std::move(frontend).error();
    frontends_.push_back(std::move(*frontend));
  }
  return Status();
}

Status Server::serve() {
  for (const auto& frontend : frontends_) QUORATE_TRY(frontend->start());
  return Status();
}

Status Server::stop(uint64_t drain_ms) {
  if (!running_) return Status();
  for (const auto& frontend : frontends_) frontend->stop(drain_ms);
  hand_over_leadership();
  state_.stopping = true;
  if (peers_) peers_->stop(drain_ms);
  if (!failed_.load()) {
    Latch wound_down;
    apply_loop_->post(WindDown{[&] { wound_down.open(); }});
    env_.wait(wound_down);
  }
  frontends_.clear();
  stop_executors();
  snapshots_->stop();
  peers_.reset();
  running_ = false;
  if (failed_.load()) return Status(Code::kInternal, "the member had failed");
  Status status = wal_loop_->close();
  if (status.ok() && !durable_engine_) {
    const auto index = storage::write_checkpoint(
        env_.files(), storage::checkpoint_path(config_.data_dir, engine_->generation()), engine_);
    status = index.status();
  }
  return status;
}

// The others need not wait for an election when a member that leads is stopped. At most an election
// timeout: a stop must not hang on peers.
void Server::hand_over_leadership() {
  if (!peers_ || failed_.load() || state_.role.load() != QUORATE_ROLE_LEADER) return;
  if (!peers_->book().knows_any()) return;
  HandOver move;
  move.deadline_ns = env_.clock().now_ns() + config_.election_ms * 1'000'000;
  hand_over_.store(&move);
  raft_loop_->post(TransferLeader{0});
  env_.wait(move.done);
}

// When another leads, or the deadline has come. [raft loop]
void Server::end_hand_over() {
  HandOver* const move = hand_over_.load();
  if (move == nullptr) return;
  const uint64_t leader = state_.leader.load(std::memory_order_relaxed);
  const bool moved = leader != 0 && leader != state_.member_id;
  if (!moved && env_.clock().now_ns() < move->deadline_ns) return;
  hand_over_.store(nullptr);
  if (moved) logger_.info("member {} leads now", cluster::id_text(leader));
  move->done.open();
}

Server::~Server() {
  if (running_) {
    state_.stopping = true;
    for (const auto& frontend : frontends_) frontend->stop(0);
    if (peers_) peers_->stop(0);
    stop_executors();
    snapshots_->stop();
    // Nobody answers any more: what still waits hears that the member is gone.
    std::vector<Completion> completions;
    for (const PendingCall& call : pending_.take_all()) {
      completions.push_back({call.caller, call.given_up(Code::kStopped), error_response(state_)});
    }
    deliver(completions);
    apply_loop_->close_streams();
  }
  frontends_.clear();
  if (pool_) stop_executors();  // a start that failed late
  peers_.reset();
  services_.clear();
}

// The pool last but one: its jobs post to the loops; the executors drop what they are posted then.
void Server::stop_executors() {
  pool_->stop();
  main_executor_->stop();
  wal_executor_->stop();
  commit_executor_->stop();
}

void Server::fail(const Status& status) {
  if (failed_.exchange(true)) return;
  state_.stopping = true;
  events_->failed(status);
}

// ---------------------------------------------------------------- raft

void Server::append(raft::Append append) {
  wal_loop_->append(std::move(append));
}

void Server::snapshot_stepped(raft::EntryId, bool taken) {
  snapshots_->stepped(taken);
}

void Server::snapshot_durable(const raft::SnapshotMeta& snapshot) {
  apply_loop_->post(InstallSnapshot{snapshot.id()});
}

void Server::snapshot_received(raft::Message message) {
  PeerMessages event;
  event.messages.push_back(std::move(message));
  raft_loop_->post(std::move(event));
}

void Server::snapshot_sent(raft::NodeId peer, bool ok) {
  if (ok) snapshots_sent_->increment();
  const auto status = ok ? raft::SnapshotStatus::kFinished : raft::SnapshotStatus::kFailed;
  raft_loop_->post(SnapshotSent{peer, status});
}

// A MsgSnap asks for a stream of the store.
void Server::send(std::vector<raft::Message> messages) {
  if (!peers_) return;  // whom it added cannot be reached
  std::erase_if(messages, [this](const raft::Message& message) {
    if (message.type != raft::MessageType::kMsgSnap) return false;
    // Damage must not spread: whoever leads next sends its own store.
    if (state_.fenced.load(std::memory_order_acquire)) {
      snapshot_sent(message.to, false);
    } else {
      snapshots_->send(message);
    }
    return true;
  });
  peers_->raft_sender().send(messages);
}

void Server::ask_leader(raft::NodeId leader, std::vector<Question> questions) {
  peers_->ask_leader(leader, std::move(questions));
}

void Server::set_peers(const PeerAddresses& addresses) {
  if (!peers_) return;
  if (addresses.logged) return peers_->set_members(addresses.members, addresses.removed);
  peers_->add_members(addresses.members);
}

void Server::questions_refused(std::vector<Question> questions, Code code) {
  std::vector<Completion> completions;
  for (const Question& question : questions) {
    if (const auto waiting = pending_.take(question.call))
      completions.push_back({waiting->caller, code, error_response(state_)});
  }
  deliver(completions);
}

void Server::load(const raft::LogWindow& window) {
  wal_loop_->post(wal::HeadRequest{[this, window](const wal::LogHead& head) {
    pool_->submit(std::make_unique<LogLoadJob>(&env_.files(), wal_dir(config_), head, window,
                                               state_.member_id, raft_loop_.get(),
                                               [this](const Status& status) { fail(status); }));
  }});
}

void Server::log_needed(raft::Index index) {
  log_needed_.store(index, std::memory_order_relaxed);
}

void Server::committed(std::vector<raft::Entry> entries) {
  apply_loop_->post(Committed{std::move(entries)});
}

void Server::reads_ready(raft::Index index, std::vector<ReadWaiter> waiters) {
  apply_loop_->post(ReadsReady{index, std::move(waiters)});
}

void Server::proposals_refused(std::span<const Proposal> proposals, Code code) {
  std::vector<Completion> completions;
  for (const Proposal& proposal : proposals) {
    proposals_failed_->increment();
    if (proposal.request == 0) continue;
    if (const auto waiting = pending_.take(proposal.request))
      completions.push_back({waiting->caller, code, error_response(state_)});
  }
  deliver(completions);
}

void Server::leadership_started(raft::Term term, raft::Index first) {
  apply_loop_->post(LeadershipStarted{term, first});
}

void Server::leadership_ended() {
  apply_loop_->post(LeadershipEnded{});
}

void Server::status_changed(const raft::HardState& hard, const raft::SoftState& soft) {
  state_.term.store(hard.term, std::memory_order_relaxed);
  state_.commit.store(hard.commit, std::memory_order_relaxed);
  const uint64_t leader = soft.leader;
  const uint32_t role = soft.role == raft::Role::kLeader     ? QUORATE_ROLE_LEADER
                        : soft.role == raft::Role::kFollower ? QUORATE_ROLE_FOLLOWER
                                                             : QUORATE_ROLE_CANDIDATE;
  const bool new_leader = state_.leader.exchange(leader, std::memory_order_relaxed) != leader;
  const bool new_role = state_.role.exchange(role, std::memory_order_relaxed) != role;
  if (leader != 0 && leader != last_leader_) {
    last_leader_ = leader;
    leader_changes_->increment();
  }
  if (new_leader || new_role) info_.changed();
}

void Server::ticked(uint64_t now_ns) {
  end_hand_over();
  if (peers_) peers_->tick();
  expire_calls(now_ns);
  apply_loop_->post(Tick{now_ns});
}

void Server::expire_calls(uint64_t now_ns) {
  std::vector<Completion> completions;
  for (const PendingCall& call : pending_.take_expired(now_ns)) {
    completions.push_back({call.caller, call.late, error_response(state_)});
  }
  deliver(completions);
}

// ---------------------------------------------------------------- apply

void Server::raft(RaftEvent event) {
  if (auto* proposals = std::get_if<Proposals>(&event))
    raft_loop_->propose(std::move(*proposals));
  else
    raft_loop_->post(std::move(event));
}

QueueDepths Server::queues() const {
  QueueDepths depths;
  raft_loop_->measure(depths);
  apply_loop_->measure(depths);
  depths.add("calls that wait for their answer", pending_.size(), UINT64_MAX);
  return depths;
}

void Server::freeze(std::unique_ptr<storage::FrozenBuffer> buffer) {
  commit_loop_->commit(std::move(buffer));
}

void Server::load_snapshot(raft::EntryId snapshot, uint64_t epoch) {
  pool_->submit(std::make_unique<SnapshotLoadJob>(&env_.files(), store_options_, snapshot, epoch,
                                                  apply_loop_.get(), logger_.named("snapshot")));
}

void Server::switch_engine(std::shared_ptr<storage::Engine> engine, raft::Index applied) {
  commit_loop_->switch_to({std::move(engine), applied, [this] {
                             return storage::make_complete_current(env_.files(), config_.data_dir);
                           }});
}

void Server::snapshot_installed(raft::EntryId) {
  snapshots_received_->increment();
  snapshots_->installed();
}

void Server::apply_failed(const Status& status) {
  fail(status);
}

void Server::published() {
  info_.changed();
  events_->ready();
}

void Server::members_changed(std::vector<cluster::Member> members, std::vector<uint64_t> removed) {
  raft_loop_->post(PeerAddresses{std::move(members), std::move(removed), true});
}

void Server::removed() {
  if (!removed_.exchange(true)) events_->removed();
}

void Server::ask_state_hashes(const CorruptionCheck::Round& round) {
  for (const uint64_t member : round.ask) {
    if (peers_ && !state_.stopping.load(std::memory_order_relaxed)) {
      peers_->ask_state_hash(round.number, member, round.index);
    } else {
      apply_loop_->post(StateHashAnswer{round.number, member, std::nullopt});
    }
  }
}

// ---------------------------------------------------------------- log and engine

void Server::wal_synced(const raft::Durable& durable, std::vector<raft::AppendDone> done,
                        std::vector<raft::Message> replies) {
  const auto others = std::stable_partition(
      replies.begin(), replies.end(),
      [this](const raft::Message& reply) { return reply.to == state_.member_id; });
  // Straight to the transport: a hop less for the acknowledgement that the leader waits for.
  if (others != replies.end()) {
    const std::vector<raft::Message> away(std::make_move_iterator(others),
                                          std::make_move_iterator(replies.end()));
    replies.erase(others, replies.end());
    if (peers_) peers_->wal_sender().send(away);
  }
  raft_loop_->post(WalSynced{durable, std::move(done), std::move(replies)});
}

void Server::wal_failed(const Status& status) {
  fail(status);
}

void Server::wal_sync_observed(uint64_t duration_ns, uint64_t bytes) {
  fsync_seconds_->record(seconds(duration_ns));
  wal_bytes_->add(static_cast<double>(bytes));
  log_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void Server::commit_done(const storage::CommitDone& done) {
  read_engine_size();
  if (done.durable > 0) {
    const raft::Index needed = log_needed_.load(std::memory_order_relaxed);
    wal_loop_->release(
        done.durable, std::min({done.durable, needed == 0 ? 0 : needed - 1, snapshots_->needed()}));
  }
  apply_loop_->post(EngineCommitted{done});
  checkpoint_if_due();
}

void Server::commit_took(uint64_t ns) {
  commit_seconds_->record(seconds(ns));
}

// The old one is closed, and its directory deleted, by the last reader that lets go of it.
void Server::engine_switched(const std::shared_ptr<storage::Engine>& engine) {
  engine_->when_closed([files = &env_.files(), data_dir = config_.data_dir,
                        generation = engine_->generation(), logger = logger_] {
    if (Status status = storage::remove_generation(*files, data_dir, generation); !status.ok())
      logger.warn("an engine that is no longer used was not deleted, the next start will: {}",
                  status.to_string());
  });
  engine_ = engine;
}

void Server::engine_failed(const Status& status) {
  fail(status);
}

void Server::read_engine_size() {
  const Result<quorate_backend_stats> stats = engine_->backend().stats();
  if (!stats) return logger_.warn("the engine does not tell its size: {}", stats.error().message());
  state_.engine_bytes.store(stats->size, std::memory_order_relaxed);
  state_.engine_bytes_in_use.store(stats->size_in_use, std::memory_order_relaxed);
}

// An engine that forgets lets go of the log only by checkpoints.
void Server::checkpoint_if_due() {
  if (durable_engine_ || log_bytes_.load(std::memory_order_relaxed) < kCheckpointBytes ||
      checkpointing_.exchange(true))
    return;
  log_bytes_.store(0, std::memory_order_relaxed);
  pool_->submit(std::make_unique<storage::CheckpointJob>(
      &env_.files(), storage::checkpoint_path(config_.data_dir, engine_->generation()), engine_,
      [this](Result<raft::Index> index) {
        checkpointing_.store(false);
        if (index) return commit_loop_->checkpointed(*index);
        fail(std::move(index).error());
      }));
}

// ---------------------------------------------------------------- figures and settings

const char* Server::get(std::string_view name) {
  for (const auto& [key, value] : config_.flags)
    if (key == name) return value.c_str();
  return nullptr;
}

void Server::define_metrics() {
  const auto bounds = exponential_bounds(0.001, 2, 14);
  fsync_seconds_ = &metrics_.histogram("etcd_disk_wal_fsync_duration_seconds", "",
                                       "How long a write and sync of the log took.", bounds);
  wal_bytes_ = &metrics_.gauge("etcd_disk_wal_write_bytes_total", "", "Bytes written to the log.");
  commit_seconds_ = &metrics_.histogram("etcd_disk_backend_commit_duration_seconds", "",
                                        "How long a batch took to reach the engine.", bounds);
  leader_changes_ = &metrics_.counter("etcd_server_leader_changes_seen_total", "",
                                      "How often a leader was seen that was not the one before.");
  proposals_failed_ =
      &metrics_.counter("etcd_server_proposals_failed_total", "", "Proposals that were not taken.");
  snapshots_sent_ = &metrics_.counter("etcd_network_snapshot_send_success", "",
                                      "Snapshots that were sent to peers.");
  snapshots_received_ = &metrics_.counter("etcd_network_snapshot_receive_success", "",
                                          "Snapshots of peers that were installed.");
  const auto gauge = [this](const char* name, const char* help, std::function<double()> read) {
    metrics_.computed(MetricKind::kGauge, name, "", help, std::move(read));
  };
  gauge("etcd_server_has_leader", "1 if a leader is known.",
        [this] { return state_.leader.load() != 0 ? 1.0 : 0.0; });
  gauge("etcd_server_is_leader", "1 if this member leads.",
        [this] { return state_.role.load() == QUORATE_ROLE_LEADER ? 1.0 : 0.0; });
  gauge("etcd_server_is_learner", "1 if this member is a learner.",
        [this] { return state_.learner.load() ? 1.0 : 0.0; });
  gauge("etcd_server_proposals_committed_total", "The committed log index.",
        [this] { return static_cast<double>(state_.commit.load()); });
  gauge("etcd_server_proposals_applied_total", "The applied log index.",
        [this] { return static_cast<double>(state_.applied.load()); });
  gauge("etcd_server_proposals_pending", "Calls that wait for their answer.",
        [this] { return static_cast<double>(pending_.size()); });
  gauge("etcd_server_quota_backend_bytes", "What the store may take up; 0: anything.",
        [this] { return static_cast<double>(quota_bytes(config_)); });
  gauge("etcd_mvcc_db_total_size_in_bytes", "What the store takes up.",
        [this] { return static_cast<double>(state_.store_bytes()); });
  gauge("etcd_mvcc_db_total_size_in_use_in_bytes", "Of these, bytes that hold data.", [this] {
    return static_cast<double>(state_.engine_bytes_in_use.load() + state_.buffered_bytes.load());
  });
  gauge("etcd_debugging_mvcc_current_revision", "The store's revision.",
        [this] { return static_cast<double>(state_.revision.load()); });
  define_state_hash_metrics();
  metrics_
      .gauge("etcd_server_version", std::string("server_version=\"") + kServerVersion + "\"",
             "1; the version is in the label.")
      .record(1);
  metrics_
      .gauge("etcd_server_id", "server_id=\"" + cluster::id_text(state_.member_id) + "\"",
             "1; the id is in the label.")
      .record(1);
}

void Server::define_state_hash_metrics() {
  using Verdict = CorruptionCheck::Verdict;
  for (const Verdict verdict :
       {Verdict::kNotCompared, Verdict::kEqual, Verdict::kDisputed, Verdict::kDiffers}) {
    metrics_.computed(MetricKind::kGauge, "quorate_state_hash_verdict",
                      std::string("verdict=\"") + verdict_name(verdict) + "\"",
                      "1 for what the last comparison of this member's state hash with the other "
                      "members' came to.",
                      [this, verdict] {
                        return state_.hashes.verdict.load() == static_cast<uint32_t>(verdict) ? 1.0
                                                                                              : 0.0;
                      });
  }
  const auto members = [this](const char* stand, const std::atomic<uint32_t>& count) {
    metrics_.computed(MetricKind::kGauge, "quorate_state_hash_members",
                      std::string("compared=\"") + stand + "\"",
                      "How the other members stood in the last comparison of state hashes.",
                      [&count] { return static_cast<double>(count.load()); });
  };
  members("equal", state_.hashes.equal);
  members("different", state_.hashes.different);
  members("not_compared", state_.hashes.not_compared);
  metrics_.computed(MetricKind::kGauge, "quorate_state_hash_compared_index", "",
                    "The applied index at which members were last told equal or different.",
                    [this] { return static_cast<double>(state_.hashes.compared_index.load()); });
}

}  // namespace quorate::server
