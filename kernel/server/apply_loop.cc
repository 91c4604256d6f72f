// SPDX-License-Identifier: Apache-2.0
#include "server/apply_loop.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "server/internal_entry.h"

namespace quorate::server {
namespace {

constexpr size_t kBatchEntries = 256;
constexpr uint64_t kBatchNs = 1'000'000;
constexpr uint64_t kTurnNs = 5'000'000;
constexpr uint64_t kLeaseTickNs = 500'000'000;
constexpr uint64_t kLagNs = 1'000'000'000;
constexpr uint64_t kQuotaReadingNs = 500'000'000;
constexpr int kQuotaReadings = 3;
constexpr uint64_t kCatchUpLifeNs = 60'000'000'000;
constexpr size_t kSweepKeys = 500;
constexpr uint64_t kPublishRetryNs = 1'000'000'000;
constexpr uint64_t kRemovalNs = 1'000'000'000;

uint32_t alarm_mask(const cluster::Alarms& alarms) {
  uint32_t mask = 0;
  if (alarms.any(cluster::AlarmType::kNoSpace)) mask |= QUORATE_ALARM_NOSPACE;
  if (alarms.any(cluster::AlarmType::kCorrupt)) mask |= QUORATE_ALARM_CORRUPT;
  return mask;
}

// A catch-up of one watcher, run on the reader pool.
class CatchUpJob final : public Job {
 public:
  CatchUpJob(watch::CatchUpTask task, mvcc::ReadSource source, Clock* clock, ApplyLoop* loop)
      : task_(std::move(task)), source_(source), clock_(clock), loop_(loop) {}
  Next step() override {
    watch::ReadHistory history(source_, clock_->now_ns() + kCatchUpLifeNs);
    watch::CatchUpResult result = watch::catch_up(history, task_);
    loop_->post(CaughtUp{std::move(result)});
    return Next::kDone;
  }

 private:
  const watch::CatchUpTask task_;
  const mvcc::ReadSource source_;
  Clock* const clock_;
  ApplyLoop* const loop_;
};

// Frees what a snapshot has replaced: millions of keys take longer than a turn may.
class FreeJob final : public Job {
 public:
  explicit FreeJob(std::unique_ptr<LoadedState> state) : state_(std::move(state)) {}
  Next step() override {
    state_.reset();
    return Next::kDone;
  }

 private:
  std::unique_ptr<LoadedState> state_;
};

}  // namespace

ApplyLoop::ApplyLoop(Executor* executor, const Parts& parts, std::unique_ptr<LoadedState> loaded)
    : Loop(executor),
      parts_(parts),
      logger_(parts.logger),
      loaded_(std::move(loaded)),
      chain_(std::make_unique<apply::ApplierChain>(chain_parts())),
      history_(loaded_->store.get()),
      hub_(&history_, loaded_->store->revision()),
      check_(parts.state->member_id, parts.config->state_hash_interval_ms * 1'000'000) {
  loaded_->store->set_freeze_after_ns(parts_.config->freeze_interval_ms * 1'000'000);
  MemberState& state = *parts_.state;
  state.applied = loaded_->store->applied().entry.index;
  state.revision = loaded_->store->revision();
  state.alarms = alarm_mask(loaded_->alarms);
  state.version_decided = loaded_->version.get().has_value();
  hashes_.restart(state.applied, loaded_->store->applied().state_hash);
  note_learner();
  note_fence();
}

ApplyLoop::~ApplyLoop() = default;

apply::ChainParts ApplyLoop::chain_parts() {
  return {.store = loaded_->store.get(),
          .lessor = &loaded_->lessor,
          .auth = loaded_->auth.get(),
          .members = &loaded_->members,
          .alarms = &loaded_->alarms,
          .version = &loaded_->version,
          .conf_state = &loaded_->conf_state,
          .effects = &effects_};
}

void ApplyLoop::on_turn(std::vector<ApplyEvent>& events) {
  const uint64_t start = parts_.clock->now_ns();
  // Keep-alives that came in before a tick of the same turn still count.
  std::stable_partition(events.begin(), events.end(), [](const ApplyEvent& event) {
    return !std::holds_alternative<Tick>(event);
  });
  for (ApplyEvent& event : events) std::visit([this](auto& news) { take(news); }, event);
  if (failed_) return deliver(completions_);

  const bool more = !installing_ && apply_backlog(start);
  if (failed_) return deliver(completions_);  // its batch is open for ever
  if (!more) caught_up_ns_ = parts_.clock->now_ns();
  loaded_->lessor.settle(start);
  answer_released_keep_alives();
  serve_ready_reads();
  if (!installing_) {
    freeze_if_due();
    sweep_compacted();
  }
  answer_physical_compactions();
  hub_.flush();
  hand_out_catch_ups();
  deliver(completions_);
  finish_wind_down();
  if (more) wake();
}

// ---------------------------------------------------------------- entries

void ApplyLoop::take(Committed& event) {
  for (raft::Entry& entry : event.entries) backlog_.push_back(std::move(entry));
}

// True: entries are left, and the turn has been long enough.
bool ApplyLoop::apply_backlog(uint64_t turn_start_ns) {
  while (!backlog_.empty() && !failed_) {
    // At its limit the buffer takes nothing more until the last freeze is written: the commit's
    // event wakes the loop then.
    if (loaded_->store->buffer_full() && loaded_->store->freeze_in_flight()) return false;
    freeze_if_due();
    if (Status status = apply_batch(); !status.ok()) {
      fail(status);
      return false;
    }
    if (parts_.clock->now_ns() - turn_start_ns > kTurnNs) return !backlog_.empty();
  }
  return false;
}

Status ApplyLoop::apply_batch() {
  const uint64_t start = parts_.clock->now_ns();
  mvcc::Store& store = *loaded_->store;
  effects_.clear();
  store.begin_batch();
  uint64_t bytes = 0;
  raft::EntryId last;
  for (size_t n = 0; n < kBatchEntries && !backlog_.empty(); ++n) {
    const raft::Entry entry = std::move(backlog_.front());
    backlog_.pop_front();
    QUORATE_TRY(apply_entry(entry));
    hashes_.add(entry.index, store.applied().state_hash);
    bytes += entry.payload.size();
    last = entry.id();
    if (n % 16 == 15 && parts_.clock->now_ns() - start > kBatchNs) break;
  }
  store.end_batch(last);
  parts_.state->applied.store(last.index, std::memory_order_release);
  parts_.state->revision.store(store.revision(), std::memory_order_release);
  parts_.state->buffered_bytes.store(store.buffered_bytes(), std::memory_order_relaxed);
  if (!store.changes().empty()) QUORATE_TRY(hub_.apply(store.changes(), store.revision()));
  note_effects();
  answer_waiting_hashes();
  deliver(completions_);
  parts_.output->raft(Applied{last.index, bytes});
  return Status();
}

Status ApplyLoop::apply_entry(const raft::Entry& entry) {
  Result<apply::CommittedEntry> decoded = apply::decode_committed(entry);
  if (!decoded) return std::move(decoded).error();
  if (decoded->empty && !decoded->conf_change) {
    if (parts_.observer != nullptr) parts_.observer->applied(entry, Status(), *loaded_->store);
    return Status();
  }
  // Whoever waits is taken out now: from here the answer is certain, and no timeout may race it.
  std::optional<PendingCall> waiting;
  if (decoded->request_id() != 0) waiting = parts_.pending->take(decoded->request_id());
  const apply::ReplyHeader header = parts_.state->header();
  Result<apply::EntryOutcome> outcome = chain_->execute(*decoded, waiting ? &header : nullptr);
  if (!outcome) return std::move(outcome).error();
  if (parts_.observer != nullptr) parts_.observer->applied(entry, outcome->status, *loaded_->store);
  if (outcome->conf_state) {
    parts_.output->raft(ConfApplied{entry.index, std::move(*outcome->conf_state)});
  }
  if (!waiting) return Status();
  Completion completion{waiting->caller, outcome->status.code(),
                        std::move(outcome->reply.response)};
  if (waiting->physical && (outcome->status.ok() || outcome->status.code() == Code::kCompacted)) {
    physical_.push_back({std::move(completion), loaded_->store->compact_revision()});
  } else {
    completions_.push_back(std::move(completion));
  }
  return Status();
}

void ApplyLoop::note_effects() {
  if (effects_.alarms_changed) {
    const uint32_t mask = alarm_mask(loaded_->alarms);
    parts_.state->alarms.store(mask, std::memory_order_release);
    logger_.warn("alarms now: NOSPACE {}, CORRUPT {}",
                 (mask & QUORATE_ALARM_NOSPACE) ? "on" : "off",
                 (mask & QUORATE_ALARM_CORRUPT) ? "on" : "off");
    note_fence();
  }
  if (effects_.cluster_version_changed) parts_.state->version_decided = true;
  if (effects_.members_changed) note_members();
  if (effects_.members_changed && !parts_.state->ready.load(std::memory_order_relaxed)) {
    const cluster::Member* self = loaded_->members.find(parts_.state->member_id);
    if (self != nullptr && self->client_urls == sorted_client_urls(*parts_.config) &&
        self->name == parts_.config->name) {
      parts_.state->ready.store(true, std::memory_order_release);
      parts_.output->published();
    }
  }
}

void ApplyLoop::note_members() {
  note_learner();
  const cluster::Membership& members = loaded_->members;
  if (members.size() != 0 || !members.removed().empty())
    parts_.output->members_changed(members.members(), members.removed());
  if (removed_ns_ != 0 || !members.was_removed(parts_.state->member_id)) return;
  removed_ns_ = parts_.clock->now_ns();
  logger_.warn("this member was removed from its cluster");
}

void ApplyLoop::note_learner() {
  const cluster::Member* self = loaded_->members.find(parts_.state->member_id);
  parts_.state->learner.store(self != nullptr && self->learner, std::memory_order_relaxed);
}

void ApplyLoop::fail(const Status& status) {
  if (std::exchange(failed_, true)) return;
  logger_.error("the member stops: {}", status.to_string());
  parts_.output->apply_failed(status);
}

// ---------------------------------------------------------------- the engine

void ApplyLoop::freeze_if_due() {
  mvcc::Store& store = *loaded_->store;
  if (store.freeze_in_flight()) return;
  const uint64_t now = parts_.clock->now_ns();
  const uint64_t due_in = store.buffer_full() ? 0 : store.freeze_due_in_ns(now);
  if (due_in == 0) {
    freeze_wake_ns_ = 0;
    parts_.output->freeze(store.freeze());
  } else if (due_in != UINT64_MAX && (freeze_wake_ns_ == 0 || now + due_in < freeze_wake_ns_)) {
    freeze_wake_ns_ = now + due_in;
    wake_at(freeze_wake_ns_);
  }
}

void ApplyLoop::take(EngineCommitted& event) {
  if (installing_ && installing_->state && event.done.epoch == installing_->epoch) swap_in();
  loaded_->store->commit_done(event.done);
  parts_.state->buffered_bytes.store(loaded_->store->buffered_bytes(), std::memory_order_relaxed);
}

void ApplyLoop::sweep_compacted() {
  if (loaded_->store->sweep(parts_.clock->now_ns(), kSweepKeys)) wake();
}

void ApplyLoop::answer_physical_compactions() {
  const mvcc::Store& store = *loaded_->store;
  if (physical_.empty() || !store.compaction_written()) return;
  std::erase_if(physical_, [&](PhysicalCompaction& waiting) {
    if (waiting.revision > store.compact_revision()) return false;
    completions_.push_back(std::move(waiting.completion));
    return true;
  });
}

// ---------------------------------------------------------------- a snapshot

void ApplyLoop::take(InstallSnapshot& event) {
  QUORATE_CHECK(!installing_, "one snapshot is installed at a time");
  QUORATE_CHECK(event.snapshot.index > loaded_->store->applied().entry.index,
                "a snapshot would take the store back");
  if (failed_) return;
  logger_.info("installing the snapshot at index {}", event.snapshot.index);
  // All of these are in the snapshot; what comes behind it waits.
  backlog_.clear();
  installing_.emplace(Installing{event.snapshot, nullptr, 0});
  parts_.output->load_snapshot(event.snapshot, loaded_->store->epoch() + 1);
}

void ApplyLoop::take(SnapshotLoaded& event) {
  if (failed_) return;
  if (!event.status.ok()) {
    return fail(std::move(event.status).with_context("a snapshot cannot be installed"));
  }
  installing_->state = std::move(event.state);
  installing_->epoch = event.engine->epoch();
  parts_.output->switch_engine(std::move(event.engine), installing_->snapshot.index);
}

// From here on everything is the snapshot's, for readers and watchers too.
void ApplyLoop::swap_in() {
  Installing installed = std::move(*installing_);
  installing_.reset();
  loaded_->lessor.leadership_end();
  answer_released_keep_alives();

  std::unique_ptr<LoadedState> old = std::exchange(loaded_, std::move(installed.state));
  mvcc::Store& store = *loaded_->store;
  store.set_freeze_after_ns(parts_.config->freeze_interval_ms * 1'000'000);
  chain_ = std::make_unique<apply::ApplierChain>(chain_parts());
  history_.restored(&store);
  store.take_over(*old->store);
  MemberState& state = *parts_.state;
  state.applied.store(installed.snapshot.index, std::memory_order_release);
  state.revision.store(store.revision(), std::memory_order_release);
  state.buffered_bytes.store(store.buffered_bytes(), std::memory_order_relaxed);
  if (parts_.observer != nullptr) parts_.observer->installed(store);
  hub_.restored(store.revision());
  if (leads_) {
    loaded_->lessor.leadership_start(led_from_, parts_.clock->now_ns(),
                                     parts_.config->election_ms * 1'000'000);
  }
  freeze_wake_ns_ = 0;
  hashes_.restart(installed.snapshot.index, store.applied().state_hash);
  check_.restart();
  note_fence();
  answer_waiting_hashes();
  effects_.clear();
  effects_.alarms_changed = alarm_mask(loaded_->alarms) != state.alarms.load();
  effects_.members_changed = true;
  effects_.cluster_version_changed = loaded_->version.get().has_value();
  note_effects();
  answer_compacted_by_snapshot();
  parts_.output->raft(ConfApplied{installed.snapshot.index, loaded_->conf_state});
  parts_.output->raft(Applied{installed.snapshot.index, 0});
  parts_.output->snapshot_installed(installed.snapshot);
  logger_.info("the snapshot at index {} is installed, revision {}", installed.snapshot.index,
               store.revision());
  parts_.pool->submit(std::make_unique<FreeJob>(std::move(old)));
}

// A store that came whole may never sweep what a caller waits for.
void ApplyLoop::answer_compacted_by_snapshot() {
  std::erase_if(physical_, [&](PhysicalCompaction& waiting) {
    if (waiting.revision > loaded_->store->applied().compact_finished) return false;
    completions_.push_back(std::move(waiting.completion));
    return true;
  });
}

// ---------------------------------------------------------------- reads and questions

void ApplyLoop::take(ReadsReady& event) {
  waiting_reads_.emplace(event.index, std::move(event.waiters));
}

void ApplyLoop::serve_ready_reads() {
  const raft::Index applied = loaded_->store->applied().entry.index;
  while (!waiting_reads_.empty() && waiting_reads_.begin()->first <= applied) {
    std::vector<ReadWaiter> waiters = std::move(waiting_reads_.begin()->second);
    waiting_reads_.erase(waiting_reads_.begin());
    for (ReadWaiter& waiter : waiters) {
      if (waiter.job) parts_.pool->submit(std::move(waiter.job));
      for (const Question& question : waiter.questions) answer_question(question);
      if (waiter.pull != 0) start_pull(waiter.pull);
    }
  }
}

void ApplyLoop::take(Ask& event) {
  for (const Question& question : event.questions) answer_question(question);
}

void ApplyLoop::take(AnsweredByLeader& event) {
  complete(event.call, event.code, std::move(event.response));
}

void ApplyLoop::take(CancelCall& event) {
  const std::optional<PendingCall> call = parts_.pending->take(event.call);
  if (!call) return;
  completions_.push_back(
      {call->caller, call->given_up(Code::kCancelled), error_response(*parts_.state)});
}

void ApplyLoop::complete(uint64_t call, Code code, Bytes response) {
  if (const auto waiting = parts_.pending->take(call))
    completions_.push_back({waiting->caller, code, std::move(response)});
}

void ApplyLoop::complete(uint64_t call, const Status& status) {
  complete(call, status.code(), error_response(*parts_.state, status.message()));
}

// ---------------------------------------------------------------- leases

void ApplyLoop::take(LeadershipStarted& event) {
  leads_ = true;
  led_from_ = event.first;
  loaded_->lessor.leadership_start(event.first, parts_.clock->now_ns(),
                                   parts_.config->election_ms * 1'000'000);
  publish_member();
}

void ApplyLoop::take(LeadershipEnded&) {
  leads_ = false;
  loaded_->lessor.leadership_end();
  answer_moved_leaders(parts_.clock->now_ns());
}

void ApplyLoop::keep_alive(const Question& question, int64_t lease) {
  const int64_t revision = loaded_->store->revision();
  const lease::KeepAlive answer =
      loaded_->lessor.keep_alive(lease, question.arrived_ns, question.call);
  if (answer.outcome == lease::KeepAlive::Outcome::kExpiring) {
    waiting_keep_alives_.emplace(question.call, lease);
    return;
  }
  if (answer.outcome == lease::KeepAlive::Outcome::kNotPrimary)
    return complete(question.call, Status(Code::kNotPrimaryLessor, "this member does not lead"));
  auto result = builder_.start(parts_.state->header(), revision).initLease();
  result.setId(lease);
  result.setTtl(answer.ttl);
  complete(question.call, Code::kOk, builder_.finish());
}

void ApplyLoop::answer_released_keep_alives() {
  for (const lease::ReleasedWaiter& released : loaded_->lessor.take_released()) {
    const auto waiting = waiting_keep_alives_.extract(released.waiter);
    if (waiting.empty()) continue;
    if (released.outcome == lease::KeepAlive::Outcome::kNotPrimary) {
      complete(released.waiter, Status(Code::kNotPrimaryLessor, "leadership ended"));
      continue;
    }
    auto result = builder_.start(parts_.state->header(), loaded_->store->revision()).initLease();
    result.setId(waiting.mapped());
    complete(released.waiter, Code::kOk, builder_.finish());
  }
}

void ApplyLoop::time_to_live(const Question& question, int64_t lease, bool keys) {
  const auto found = loaded_->lessor.time_to_live(lease, keys, parts_.clock->now_ns());
  if (!found) return complete(question.call, found.error());
  auto result = builder_.start(parts_.state->header(), loaded_->store->revision()).initLease();
  result.setId(lease);
  result.setTtl(*found ? (*found)->ttl : -1);
  if (*found) {
    result.setGrantedTtl((*found)->granted_ttl);
    auto list = result.initKeys(static_cast<unsigned>((*found)->keys.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      const std::string& key = (*found)->keys[i];
      list.set(i, kj::arrayPtr(reinterpret_cast<const kj::byte*>(key.data()), key.size()));
    }
  }
  complete(question.call, Code::kOk, builder_.finish());
}

void ApplyLoop::expire_leases(uint64_t now_ns) {
  if (!leads_ || now_ns - lease_tick_ns_ < kLeaseTickNs) return;
  lease_tick_ns_ = now_ns;
  // Nothing would come of it, and a member whose data is wrong knows no lease's keys.
  if (loaded_->alarms.any(cluster::AlarmType::kCorrupt) || parts_.state->fenced.load()) return;
  const bool lagging = now_ns > caught_up_ns_ + kLagNs;
  const std::vector<lease::Stamp> stamps =
      loaded_->lessor.tick(now_ns, loaded_->store->applied().entry.index, lagging);
  if (!stamps.empty()) propose(0, encode_expire_leases(stamps));
}

// ---------------------------------------------------------------- the clock

void ApplyLoop::take(Tick& event) {
  ticked_ns_ = event.now_ns;
  for (auto& [index, waiters] : waiting_reads_) drop_late(waiters, event.now_ns);
  std::erase_if(waiting_reads_, [](const auto& entry) { return entry.second.empty(); });
  std::erase_if(pulls_, [](const auto& pull) { return pull.second->ended(); });
  for (auto& [id, pull] : pulls_)
    if (pull->is_late(event.now_ns)) pull->close(Code::kTimeout);
  expire_leases(event.now_ns);
  watch_quota(event.now_ns);
  compare_state(event.now_ns);
  step_aside(event.now_ns);
  if (event.now_ns - progress_tick_ns_ >= parts_.config->progress_interval_ms * 1'000'000) {
    if (progress_tick_ns_ != 0) hub_.progress_tick();
    progress_tick_ns_ = event.now_ns;
  }
  if (event.now_ns - publish_tried_ns_ > kPublishRetryNs) publish_member();
  answer_moved_leaders(event.now_ns);
  if (removed_ns_ != 0 && event.now_ns - removed_ns_ > kRemovalNs &&
      !std::exchange(removal_told_, true))
    parts_.output->removed();
}

// The member's name and client URLs, and the cluster's version, go through the log, like all that
// other members must agree on. Each member says its own; the leader decides the version. A proposal
// that is lost on its way to the leader is made again.
void ApplyLoop::publish_member() {
  if (!leads_ && parts_.state->leader.load(std::memory_order_relaxed) == 0) return;
  publish_tried_ns_ = parts_.clock->now_ns();
  const cluster::Member* self = loaded_->members.find(parts_.state->member_id);
  if (self == nullptr) return;  // its own addition is not applied yet
  const Config& config = *parts_.config;
  if (self->name != config.name || self->client_urls != sorted_client_urls(config)) {
    propose(0, encode_member_attributes(self->id, config.name, sorted_client_urls(config)));
  } else if (!parts_.state->ready.exchange(true)) {
    parts_.output->published();
  }
  if (leads_ && !loaded_->version.get())
    propose(0, encode_cluster_version(cluster::kClusterVersion.text()));
}

// Sizes differ between members, so they decide nothing in apply: a member that is over its quota
// says so through the log, once three readings agree.
void ApplyLoop::watch_quota(uint64_t now_ns) {
  const uint64_t quota = quota_bytes(*parts_.config);
  if (quota == 0 || now_ns - quota_reading_ns_ < kQuotaReadingNs) return;
  quota_reading_ns_ = now_ns;
  const bool asked = parts_.state->quota_refused.exchange(false, std::memory_order_relaxed);
  const bool over = parts_.state->store_bytes() >= quota;
  quota_readings_ = over ? quota_readings_ + 1 : 0;
  const bool raised =
      (parts_.state->alarms.load(std::memory_order_relaxed) & QUORATE_ALARM_NOSPACE) != 0;
  if (raised || (!asked && quota_readings_ < kQuotaReadings)) return;
  logger_.warn("the store takes {} bytes, and the quota is {}: raising NOSPACE",
               parts_.state->store_bytes(), quota);
  propose(0, encode_raise_alarm(parts_.state->member_id,
                                static_cast<int32_t>(cluster::AlarmType::kNoSpace)));
  quota_readings_ = 0;
}

void ApplyLoop::propose(uint64_t request, Bytes payload) {
  Proposals proposals;
  // Whoever makes one makes it again while it is needed.
  const uint64_t deadline_ns =
      parts_.clock->now_ns() + request_timeout_ms(*parts_.config) * 1'000'000;
  proposals.items.push_back({request, std::move(payload), deadline_ns});
  parts_.output->raft(std::move(proposals));
}

// ---------------------------------------------------------------- watches and pulls

void ApplyLoop::take(WatchOpen& event) {
  hub_.open(event.stream, event.on_watch, event.user);
  if (wound_down_) return hub_.close(event.stream, Code::kStopped);
  if (parts_.state->fenced.load()) hub_.close(event.stream, Code::kCorruptCluster);
}

void ApplyLoop::take(WatchAdd& event) {
  Result<watch::WatchSpec> spec = watch::decode_watch(event.request.slice());
  if (spec) {
    hub_.add(event.stream, event.watch, std::move(*spec));
  } else {
    hub_.refuse(event.stream, event.watch, spec.error().code());
  }
}

void ApplyLoop::take(WatchCall& event) {
  switch (event.kind) {
    case WatchCall::Kind::kRemove: hub_.remove(event.stream, event.watch); break;
    case WatchCall::Kind::kProgress: hub_.request_progress(event.stream); break;
    case WatchCall::Kind::kResume: hub_.resume(event.stream); break;
    case WatchCall::Kind::kClose: hub_.close(event.stream, Code::kCancelled); break;
  }
}

void ApplyLoop::take(CaughtUp& event) {
  hub_.catch_up_done(std::move(event.result));
}

void ApplyLoop::hand_out_catch_ups() {
  for (watch::CatchUpTask& task : hub_.take_tasks()) {
    parts_.pool->submit(
        std::make_unique<CatchUpJob>(std::move(task), read_source(), parts_.clock, this));
  }
}

void ApplyLoop::take(PullOpen& event) {
  const std::shared_ptr<Pull>& pull = event.object;
  pulls_.emplace(event.pull, pull);
  if (wound_down_) return pull->close(Code::kStopped);
  if (parts_.state->fenced.load()) pull->close(Code::kCorruptCluster);
}

void ApplyLoop::take(PullCall& event) {
  const auto found = pulls_.find(event.pull);
  if (found == pulls_.end()) return;
  Pull& pull = *found->second;
  switch (event.kind) {
    case PullCall::Kind::kStart: pull.start(); break;
    case PullCall::Kind::kCredit: pull.add_credit(event.bytes); break;
    case PullCall::Kind::kRewind: pull.rewind(); break;
    case PullCall::Kind::kClose:
      pull.close(Code::kCancelled);
      pulls_.erase(found);
      break;
  }
}

void ApplyLoop::start_pull(uint64_t pull) {
  if (const auto found = pulls_.find(pull); found != pulls_.end()) found->second->start();
}

// ---------------------------------------------------------------- the end

void ApplyLoop::measure(QueueDepths& to) const {
  uint64_t reads = 0, late = 0;
  for (const auto& [index, waiters] : waiting_reads_) {
    reads += waiters.size();
    late += std::count_if(waiters.begin(), waiters.end(), [this](const ReadWaiter& waiter) {
      return waiter.deadline_ns < ticked_ns_;
    });
  }
  to.add("reads that wait to be applied to", reads, UINT64_MAX);
  to.add("reads that waited to be applied to too long", late, 0);
  to.add("entries that wait to be applied", backlog_.size(), UINT64_MAX);
  to.add("compactions that wait for the engine", physical_.size(), UINT64_MAX);
  to.add("keep-alives that wait for a revoke", waiting_keep_alives_.size(), UINT64_MAX);
  to.add("moves of the leader that are awaited", leader_moves_.size(), UINT64_MAX);
  to.add("ranges that are pulled", pulls_.size(), UINT64_MAX);
  to.add("questions for a state hash", waiting_hashes_.size(), UINT64_MAX);
  to.add("watchers that catch up", hub_.unsynced_count(), UINT64_MAX);
}

void ApplyLoop::take(WindDown& event) {
  wound_down_ = std::move(event.done);
  hub_.close_all(Code::kStopped);
  for (auto& pull : pulls_) pull.second->close(Code::kStopped);
  for (const PendingCall& call : parts_.pending->take_all()) {
    completions_.push_back(
        {call.caller, call.given_up(Code::kStopped), error_response(*parts_.state)});
  }
}

void ApplyLoop::close_streams() {
  hub_.close_all(Code::kStopped);
  hub_.flush();
  for (auto& pull : pulls_) pull.second->end_now(Code::kStopped);
}

void ApplyLoop::finish_wind_down() {
  if (!wound_down_) return;
  std::erase_if(pulls_, [](const auto& pull) { return pull.second->ended(); });
  if (!pulls_.empty() || hub_.stream_count() != 0)
    return wake_at(parts_.clock->now_ns() + 1'000'000);
  std::exchange(wound_down_, nullptr)();
}

}  // namespace quorate::server
