// SPDX-License-Identifier: Apache-2.0
// One running member: it bootstraps, makes the loops and their executors, and is the wiring between
// them. No logic of its own beyond start, stop and the figures.
//
// Life: start() -> ServerEvents::ready() -> serve() -> stop(), each once, on the host thread; and
// at any time ServerEvents::failed(), after which only the destructor may be called.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "env/env.h"
#include "env/latch.h"
#include "plugin/loader.h"
#include "server/apply_loop.h"
#include "server/bootstrap.h"
#include "server/config.h"
#include "server/member_info.h"
#include "server/peers.h"
#include "server/raft_loop.h"
#include "server/services.h"
#include "server/snapshots.h"
#include "storage/commit_loop.h"
#include "wal/wal_loop.h"

namespace quorate::server {

// What the host hears. [a loop; must only note it]
class ServerEvents {
 public:
  virtual ~ServerEvents() = default;
  // The member leads or follows, and its name is in the log: it can serve.
  virtual void ready() = 0;
  // The member must not go on; the sentence is the operator's. Once.
  virtual void failed(const Status& status) = 0;
  // The member does not belong to its cluster any more; it should be stopped. At most once.
  virtual void removed() = 0;
  // For tests: who watches what this member applies. Asked once, at start.
  virtual ApplyObserver* apply_observer() { return nullptr; }
};

class Server final : private RaftOutput,
                     private ApplyOutput,
                     private wal::WalSink,
                     private wal::WalObserver,
                     private storage::CommitSink,
                     private SnapshotOutput,
                     private plugin::ConfigSource {
 public:
  // Recovers and starts the loops. env, plugins, events, the logger's sink: outlive the server.
  static Result<std::unique_ptr<Server>> start(Env& env, Config config,
                                               plugin::PluginLoader& plugins, ServerEvents* events,
                                               const Logger& logger);
  // Without stop() before it: as a crash, but for what was on its way to the disk.
  ~Server() override;

  // Binds and serves the front-ends. An error is the operator's (a busy port).
  Status serve();
  // Drains the front-ends for at most drain_ms, answers or closes all that is outstanding, hands
  // the engine what it lacks, marks the end of the log. What failed on the way is returned; nothing
  // is lost by it.
  Status stop(uint64_t drain_ms);

  const MemberState& state() const { return state_; }
  MetricRegistry& metrics() { return metrics_; }
  // For tests, which look between turns.
  const raft::Raft& raft() const { return raft_loop_->raft(); }
  // For tests: what waits in the loops and for an answer. [between turns]
  QueueDepths queues() const;
  // For tests: the running front-ends, in the order of the configuration.
  const std::vector<std::unique_ptr<plugin::Frontend>>& frontends() const { return frontends_; }

 private:
  struct FrontendSlot;
  Server(Env& env, Config config, ServerEvents* events, const Logger& logger);
  Status create_peers(plugin::PluginLoader& plugins);
  ConnectedSince connected_since() const;
  // members: the store's. first_known: what a first start knows of them.
  void attach_peers(const cluster::Membership& members,
                    const std::vector<cluster::Member>& first_known);
  Status create_frontends(plugin::PluginLoader& plugins);
  Services::Parts services_parts();
  void make_loops(Bootstrapped found);
  void define_metrics();
  void hand_over_leadership();
  void end_hand_over();
  void stop_executors();
  void fail(const Status& status);

  // RaftOutput.
  void append(raft::Append append) override;
  void send(std::vector<raft::Message> messages) override;
  void committed(std::vector<raft::Entry> entries) override;
  void reads_ready(raft::Index index, std::vector<ReadWaiter> waiters) override;
  void proposals_refused(std::span<const Proposal> proposals, Code code) override;
  void ask_leader(raft::NodeId leader, std::vector<Question> questions) override;
  void set_peers(const PeerAddresses& addresses) override;
  void questions_refused(std::vector<Question> questions, Code code) override;
  void load(const raft::LogWindow& window) override;
  void snapshot_stepped(raft::EntryId snapshot, bool taken) override;
  void snapshot_durable(const raft::SnapshotMeta& snapshot) override;
  void log_needed(raft::Index index) override;
  void leadership_started(raft::Term term, raft::Index first) override;
  void leadership_ended() override;
  void status_changed(const raft::HardState& hard, const raft::SoftState& soft) override;
  void ticked(uint64_t now_ns) override;
  // ApplyOutput.
  void raft(RaftEvent event) override;
  void freeze(std::unique_ptr<storage::FrozenBuffer> buffer) override;
  void load_snapshot(raft::EntryId snapshot, uint64_t epoch) override;
  void switch_engine(std::shared_ptr<storage::Engine> engine, raft::Index applied) override;
  void snapshot_installed(raft::EntryId snapshot) override;
  void apply_failed(const Status& status) override;
  void published() override;
  void members_changed(std::vector<cluster::Member> members,
                       std::vector<uint64_t> removed) override;
  void removed() override;
  void ask_state_hashes(const CorruptionCheck::Round& round) override;
  // WalSink, WalObserver.
  void wal_synced(const raft::Durable& durable, std::vector<raft::AppendDone> done,
                  std::vector<raft::Message> replies) override;
  void wal_failed(const Status& status) override;
  void wal_sync_observed(uint64_t duration_ns, uint64_t bytes) override;
  // CommitSink.
  void commit_done(const storage::CommitDone& done) override;
  void commit_took(uint64_t ns) override;
  void engine_switched(const std::shared_ptr<storage::Engine>& engine) override;
  void engine_failed(const Status& status) override;
  // SnapshotOutput.
  void snapshot_received(raft::Message message) override;
  void snapshot_sent(raft::NodeId peer, bool ok) override;
  // ConfigSource.
  const char* get(std::string_view name) override;

  void define_state_hash_metrics();
  void read_engine_size();
  void checkpoint_if_due();
  void expire_calls(uint64_t now_ns);

  Env& env_;
  const Config config_;
  ServerEvents* const events_;
  const Logger logger_;
  MetricRegistry metrics_;
  MemberState state_;
  MemberInfo info_{&state_};
  const std::shared_ptr<SlabCounter> slabs_ = std::make_shared<SlabCounter>();
  std::atomic<bool> failed_{false};
  std::atomic<bool> removed_{false};
  std::atomic<uint64_t> next_stream_{1};
  std::atomic<uint64_t> next_lease_;
  PendingCalls pending_;

  std::unique_ptr<FileLock> lock_;
  storage::OpenOptions store_options_;
  std::shared_ptr<storage::Engine> engine_;  // the live one; the commit loop's while it runs
  bool durable_engine_ = true;

  // In the order of their ends: front-ends and peers first, then executors, then loops.
  std::unique_ptr<RaftLoop> raft_loop_;
  std::unique_ptr<wal::WalLoop> wal_loop_;
  std::unique_ptr<ApplyLoop> apply_loop_;
  std::unique_ptr<storage::CommitLoop> commit_loop_;
  std::unique_ptr<Snapshots> snapshots_;
  std::unique_ptr<Executor> main_executor_;  // raft and apply
  std::unique_ptr<Executor> wal_executor_;
  std::unique_ptr<Executor> commit_executor_;
  std::unique_ptr<Pool> pool_;
  std::vector<std::unique_ptr<Services>> services_;
  std::vector<std::unique_ptr<plugin::Frontend>> frontends_;
  bool running_ = false;

  std::unique_ptr<Services> peer_services_;
  std::unique_ptr<Peers> peers_;  // null: no transport

  // The first index of the log that somebody else may still ask for.
  std::atomic<raft::Index> log_needed_{0};
  // A stop waits for another member to lead; the raft loop opens it.
  struct HandOver {
    Latch done;
    uint64_t deadline_ns = 0;
  };
  std::atomic<HandOver*> hand_over_{nullptr};
  // Raft loop's own.
  uint64_t last_leader_ = 0;
  // WAL and commit loops: bytes of log since the last checkpoint, for engines that need them.
  std::atomic<uint64_t> log_bytes_{0};
  std::atomic<bool> checkpointing_{false};

  Metric* fsync_seconds_ = nullptr;
  Metric* wal_bytes_ = nullptr;
  Metric* commit_seconds_ = nullptr;
  Metric* leader_changes_ = nullptr;
  Metric* proposals_failed_ = nullptr;
  Metric* snapshots_sent_ = nullptr;
  Metric* snapshots_received_ = nullptr;
};

}  // namespace quorate::server
