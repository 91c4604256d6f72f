// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "raft/text.h"
#include "sim/elections.h"
#include "sim/member.h"
#include "sim/operator.h"
#include "sim/oracle.h"
#include "sim/steady.h"
#include "sim/storm.h"
#include "sim/timers.h"
#include "sim/workload.h"
#include "support/requests.h"

namespace quorate::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kStartNs = 60'000 * kMs;     // until every member is ready
constexpr uint64_t kLivenessNs = 60'000 * kMs;  // from the healing until all goes on
constexpr uint64_t kLeasesNs = 40'000 * kMs;    // until the last lease is gone
constexpr uint64_t kRestNs = 20'000 * kMs;      // until nothing waits anywhere
constexpr uint64_t kFailoverNs = 20'000 * kMs;  // until another leads
constexpr uint64_t kLooksPerQueues = 16;        // where they are not tight
constexpr int kKills = 10;                      // of leaders, in a run that measures them
constexpr int64_t kDriftPpmMax = 50'000;
// Lease reads assume that no clock gains more than an eighth on another.
static_assert(8 * (1'000'000 + kDriftPpmMax) < 9 * (1'000'000 - kDriftPpmMax));
constexpr uint64_t kLeaseReadsSalt = 0x6c656173;

// Of what may wait; the defaults are the server's, and no run reaches them.
struct Limits {
  uint64_t append = 1 << 20, append_in_progress = 16 << 20;
  uint64_t inflight_messages = 256, inflight = 16 << 20;
  uint64_t uncommitted = 64 << 20, committed = 16 << 20;
  uint64_t proposals = 64 << 20, from_peers = 64 << 20;
  uint64_t request = 1572864;
  uint64_t backlog = 5000;

  // So small that one or two requests reach them.
  static Limits tight(Random& random) {
    const auto bytes = [&] { return uint64_t{1} << (4 + random.below(10)); };
    return {.append = bytes(),
            .append_in_progress = bytes(),
            .inflight_messages = 1 + random.below(4),
            .inflight = bytes(),
            .uncommitted = bytes(),
            .committed = bytes(),
            .proposals = bytes(),
            .from_peers = bytes(),
            .request = 16 << 10,
            .backlog = 1 + random.below(20)};
  }
  void give_to(server::Config& config) const {
    config.append_bytes_max = append;
    config.append_in_progress_bytes_max = append_in_progress;
    config.inflight_messages_max = inflight_messages;
    config.inflight_bytes_max = inflight;
    config.uncommitted_bytes_max = uncommitted;
    config.committed_bytes_max = committed;
    config.proposal_bytes_max = proposals;
    config.peer_bytes_max = from_peers;
    config.request_bytes_max = request;
    config.apply_backlog_max = backlog;
  }
};

// What a run is made of, all by its seed.
struct Plan {
  size_t members = 3;
  uint64_t heartbeat_ms = 100, election_ms = 1000;
  uint64_t disk_delay_ns = 2 * kMs;
  uint64_t wal_segment_bytes = 256 << 10;
  uint64_t log_memory_bytes_max = 64 << 20;
  uint64_t wal_keep_bytes_max = uint64_t{1} << 30;
  uint64_t freeze_interval_ms = 100;
  bool durable_engine = true;
  bool drift = false;
  bool lease_reads = false;  // with any drift: kDriftPpmMax is within what they assume
  bool minority_stays_down = false;
  bool pre_vote = true;
  Limits limits;
  Profile profile = Profile::kAny;
  WorkloadConfig workload;
  ScheduleConfig schedule;

  explicit Plan(const Calm& calm) {
    workload.clients = calm.clients;
    workload.watchers = 1;
    workload.think_ns_max = calm.think_ns_max;
    schedule.length_ns = calm.simulated_ns;
  }
  Plan(Profile of, Random& random, uint64_t seed) : Plan(random, seed) {
    if (of == Profile::kAny) return;
    if (of == Profile::kTight) {
      make_tight(random);
      return;
    }
    members = random.one_in(3) ? 5 : 3;
    schedule.members = members;
    if (of == Profile::kKills) *this = calm_kills(members);
    if (of == Profile::kSteady) minority_stays_down = false;
    if (of == Profile::kStorm) make_stormy(random);
    profile = of;
  }
  std::vector<Fault> draw(Random& random) const {
    switch (profile) {
      case Profile::kSteady:
        return draw_steady_schedule(
            {members, schedule.length_ns, heartbeat_ms * kMs, election_ms * kMs}, random);
      case Profile::kStorm:
        return draw_storm_schedule({members, schedule.length_ns, election_ms * kMs}, random);
      case Profile::kKills: return {};
      case Profile::kAny:
      case Profile::kTight: break;
    }
    return draw_schedule(schedule, random);
  }
  // Whether faults count members from the leader.
  bool from_leader() const { return profile == Profile::kSteady || profile == Profile::kStorm; }

 private:
  static Plan calm_kills(size_t members) {
    Plan plan(Calm{.simulated_ns = 0, .clients = 2, .think_ns_max = 40 * kMs});
    plan.members = members;
    return plan;
  }
  // Much is asked of little room, and callers do not wait for long.
  void make_tight(Random& random) {
    profile = Profile::kTight;
    limits = Limits::tight(random);
    workload.clients = 4 + random.below(8);
    workload.think_ns_max = (1 + random.below(30)) * kMs;
    if (random.one_in(2)) workload.cancel_one_in = 1 + random.below(8);
    workload.call_timeout_ms = random.one_in(2) ? 100 + random.below(900) : 3000;
  }
  // Short timeouts for many elections, and limits so small that an append is cut in pieces.
  void make_stormy(Random& random) {
    heartbeat_ms = 20;
    election_ms = 200;
    pre_vote = random.one_in(2);
    if (random.one_in(2)) limits.append = random.one_in(2) ? 1 : 1 << random.below(12);
    if (random.one_in(2)) limits.append_in_progress = 1 << random.below(14);
  }
  Plan(Random& random, uint64_t seed) {
    const uint64_t size = random.below(10);
    members = size < 6 ? 3 : size < 8 ? 5 : size == 8 ? 1 : 2;
    switch (random.below(4)) {
      case 0:
        heartbeat_ms = 20;
        election_ms = 200;
        break;
      case 1:
        heartbeat_ms = 50;
        election_ms = 500;
        break;
      default: break;
    }
    disk_delay_ns = (1 + random.below(8)) * kMs;
    // Rare paths by small limits: rotation, entries from the log, snapshots.
    if (random.one_in(2)) wal_segment_bytes = 64 << 10;
    if (random.one_in(2)) log_memory_bytes_max = 1 << (8 + random.below(8));
    if (random.one_in(2)) wal_keep_bytes_max = 64 << 10;
    if (random.one_in(3)) freeze_interval_ms = 1 + random.below(30);
    if (random.one_in(3)) freeze_interval_ms = 1000;
    durable_engine = !random.one_in(8);
    drift = random.one_in(4);
    minority_stays_down = members > 2 && random.one_in(3);
    workload.clients = 2 + random.below(5);
    workload.watchers = 1 + random.below(4);
    workload.think_ns_max = (5 + random.below(60)) * kMs;
    workload.keys = 2 + random.below(7);
    workload.value_bytes_max = random.one_in(4) ? 4000 : 100;
    workload.drift_ppm_max = drift ? kDriftPpmMax : 0;
    schedule.members = members;
    schedule.length_ns = (6000 + random.below(9000)) * kMs;
    schedule.gap_ns = (100 + random.below(random.one_in(2) ? 400 : 2000)) * kMs;
    // A few kinds a run find more together than all of them thinly spread.
    schedule.kinds = random.next() & random.next();
    if (random.one_in(4)) schedule.kinds = ~uint64_t{0};
    // By itself, so that all else stays as the seed drew it before.
    lease_reads = Random(seed ^ kLeaseReadsSalt).one_in(3);
  }
};

class Tracer final : public LogSink {
 public:
  Tracer(const Clock& clock, bool on) : clock_(clock), on_(on) {}
  bool enabled(LogLevel level) const override { return on_ && level != LogLevel::kDebug; }
  void write(LogLevel, std::string_view component, std::string_view text) override {
    if (on_)
      fmt::print(stderr, "{:>9.3f} ms  {}: {}\n", static_cast<double>(clock_.now_ns()) / 1e6,
                 component, text);
  }

 private:
  const Clock& clock_;
  const bool on_;
};

class Simulation final : private Cluster {
 public:
  explicit Simulation(const Options& options)
      : options_(options),
        verdicts_(options.verdicts),
        random_(options.seed),
        plan_(options.calm ? Plan(*options.calm) : Plan(options.profile, random_, options.seed)),
        schedule_(plan_.draw(random_)),
        env_(random_.next()),
        tracer_(env_.clock(), options.trace),
        network_(env_, random_.next()),
        timers_(env_),
        oracle_(env_, verdicts_),
        workload_(env_, timers_, *this, oracle_, verdicts_, plan_.workload, random_.next()),
        operator_(*this, timers_, random_.next()) {
    env_.shuffle_ties(random_.next());
    env_.advance_ns(1'000'000);
    for (size_t i = 0; i < plan_.members; ++i) operator_.founded(add_machine());
    for (const auto& member : members_)
      for (size_t i = 0; i < plan_.members; ++i)
        member->config.initial_cluster.push_back({SimMember::name_of(i), {SimMember::url_of(i)}});
  }
  ~Simulation() override {
    // Clients and watchers are told of the end while they still are.
    for (const auto& member : members_)
      if (member->runs()) member->kill();
  }

  RunResult run() {
    const uint64_t start_ns = now();
    for (size_t i = 0; i < members_.size(); ++i) start(i);
    if (run_until(kStartNs, [&] { return all_ready(); })) {
      if (plan_.profile == Profile::kSteady &&
          !run_until(kStartNs, [&] { return follow_one_leader(); }))
        late("to agree on its leader", "");
      schedule_faults();
      workload_.start();
      if (plan_.profile == Profile::kKills) kill_leaders();
      run_for(plan_.schedule.length_ns);
      if (verdicts_.clean()) prove_liveness();
      if (verdicts_.clean()) workload_.judge();
    } else if (verdicts_.clean()) {
      verdicts_.add(Checker::kLiveness, now(), "the founded cluster did not get ready");
    }
    RunResult result;
    result.seed = options_.seed;
    result.violations = verdicts_.violations();
    result.schedule = schedule_;
    result.trace_hash = env_.trace();
    result.events = env_.events();
    result.simulated_ns = now() - start_ns;
    result.calls = workload_.calls_done();
    result.unknown_calls = workload_.calls_unknown();
    result.watch_events = workload_.watch_events();
    result.entries = oracle_.entries();
    result.starts = starts_;
    result.snapshots = network_.snapshots();
    result.faults = faults_;
    result.failovers_ns = failovers_.took_ns();
    return result;
  }

 private:
  uint64_t now() { return env_.clock().now_ns(); }
  size_t size() const override { return members_.size(); }
  SimMember& member(size_t i) override { return *members_[i]; }

  size_t add_machine() override {
    const size_t i = members_.size();
    members_.push_back(std::make_unique<SimMember>(
        SimMember::Parts{.world = &env_,
                         .network = &network_,
                         .timers = &timers_,
                         .oracle = &oracle_,
                         .verdicts = &verdicts_,
                         .engine = options_.engine.table,
                         .durable_engine = plan_.durable_engine || !options_.engine.in_memory,
                         .engine_in_memory = options_.engine.in_memory,
                         .real_dir = fmt::format("{}/{}.{}", options_.real_dir, options_.seed, i),
                         .logger = Logger(&tracer_, "")},
        i, random_.next()));
    SimMember& member = *members_.back();
    server::Config& config = member.config;
    config.heartbeat_ms = plan_.heartbeat_ms;
    config.election_ms = plan_.election_ms;
    config.wal_segment_bytes = plan_.wal_segment_bytes;
    config.log_memory_bytes_max = plan_.log_memory_bytes_max;
    config.wal_keep_bytes_max = plan_.wal_keep_bytes_max;
    config.freeze_interval_ms = plan_.freeze_interval_ms;
    config.pre_vote = plan_.pre_vote;
    config.lease_reads = plan_.lease_reads;
    plan_.limits.give_to(config);
    member.machine.set_disk_delay_ns(plan_.disk_delay_ns);
    member.machine.set_turn_ns(30'000);
    if (plan_.drift)
      member.machine.set_drift_ppm(static_cast<int64_t>(random_.below(2 * kDriftPpmMax + 1)) -
                                   kDriftPpmMax);
    wanted_.push_back(false);
    at_call_ns_.push_back(0);
    return i;
  }
  void retire(size_t i) override {
    wanted_[i] = false;
    down(i, Down::kKill);
  }

  bool all_ready() const {
    return std::all_of(members_.begin(), members_.end(),
                       [](const auto& member) { return member->is_ready(); });
  }

  // ------------------------------------------------------------ the run

  // Runs until `condition` or for `ns`; false: the condition never came, or a checker spoke.
  template <typename Condition>
  bool run_until(uint64_t ns, Condition condition) {
    const uint64_t end_ns = now() + ns;
    uint64_t look_ns = now();
    while (verdicts_.clean()) {
      if (now() >= look_ns) {
        if (condition()) return true;
        look_ns = now() + 5 * kMs;
      }
      if (!env_.run_next(end_ns)) return condition();
      look();
    }
    return false;
  }
  void run_for(uint64_t ns) {
    run_until(ns, [] { return false; });
  }

  // After each event, at what it touched.
  void look() {
    for (size_t i = 0; i < members_.size(); ++i) {
      SimMember& member = *members_[i];
      if (!member.runs()) continue;
      if (member.machine.is_gone()) {
        down(i, random_.one_in(2) ? Down::kPowerLoss : Down::kKill);
        start_after(i, at_call_ns_[i]);
      } else if (!member.failure().ok()) {
        if (!member.failure_expected())
          verdicts_.add(
              Checker::kMember, now(),
              fmt::format("member {} ended by itself: {}", i, member.failure().to_string()));
        down(i, Down::kKill);
        start_after(i, 500 * kMs);
      }
    }
    test::TestHost* const host = env_.last_host();
    if (host == nullptr || env_.last_lane() != test::Lane::kLoop) return;
    for (size_t i = 0; i < members_.size(); ++i)
      if (&members_[i]->machine == host && members_[i]->runs()) look_at(i);
  }

  void look_at(size_t i) {
    const raft::Raft& raft = members_[i]->server().raft();
    oracle_.look_at(i, raft);
    if (plan_.profile == Profile::kTight || ++looks_ % kLooksPerQueues == 0) look_at_queues(i);
    failovers_.look_at(raft, now());
    if (!no_election_.began()) return;
    if (std::string wrong = no_election_.check(raft); !wrong.empty())
      verdicts_.add(Checker::kElections, now(), fmt::format("member {} {}", i, wrong));
  }

  void look_at_queues(size_t i) {
    if (members_[i]->stopping()) return;  // its calls are given up before what they wait for
    const server::QueueDepths queues = members_[i]->server().queues();
    if (const server::QueueDepth* queue = queues.too_long())
      verdicts_.add(Checker::kQueues, now(),
                    fmt::format("member {}: {} {}, and at most {} may", i, queue->size, queue->name,
                                queue->max));
  }

  // ------------------------------------------------------------ elections

  // The member that leads, once all follow it; the number of members: not yet.
  size_t leader() {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!members_[i]->runs() || !leads(members_[i]->server().raft())) continue;
      const raft::NodeId id = members_[i]->server().raft().id();
      const bool all = std::all_of(members_.begin(), members_.end(), [&](const auto& member) {
        return member->is_ready() && member->server().raft().leader() == id;
      });
      if (all) return i;
    }
    return members_.size();
  }
  // Who leads in the highest term, whether anybody follows it or not; leader_ when nobody does.
  size_t newest_leader() const {
    size_t newest = leader_;
    raft::Term term = 0;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!members_[i]->runs()) continue;
      const raft::Raft& raft = members_[i]->server().raft();
      if (raft.role() != raft::Role::kLeader || raft.term() <= term) continue;
      newest = i;
      term = raft.term();
    }
    return newest;
  }
  bool follow_one_leader() {
    leader_ = leader();
    if (leader_ == members_.size()) return false;
    no_election_.begin(members_[leader_]->server().raft());
    return true;
  }
  void kill_leaders() {
    for (int kill = 0; kill < kKills && verdicts_.clean(); ++kill) {
      run_for((500 + random_.below(1000)) * kMs);
      const bool agreed = run_until(kStartNs, [&] { return leader() != members_.size(); });
      if (!agreed) return late("to agree on its leader", "");
      const size_t victim = leader();
      failovers_.leader_died(members_[victim]->server().raft().id(), now());
      down(victim, Down::kKill);
      if (options_.trace)
        fmt::print(stderr, "{:>9.3f} ms  the leader, member {}, is killed\n",
                   static_cast<double>(now()) / 1e6, victim);
      if (!run_until(kFailoverNs, [&] { return !failovers_.waits(); }))
        return late("to elect a leader", "");
      start(victim);
    }
  }

  // ------------------------------------------------------------ members

  enum class Down { kPowerLoss, kKill };
  void down(size_t i, Down how) {
    SimMember& member = *members_[i];
    if (!member.runs() || member.stopping()) return;
    if (how == Down::kPowerLoss)
      member.crash(random_.next());
    else
      member.kill();
  }
  void start(size_t i) override {
    wanted_[i] = true;
    start_process(i);
  }
  void start_after(size_t i, uint64_t ns) {
    timers_.after(ns + 1, [this, i] { start_process(i); });
  }
  void start_process(size_t i) {
    SimMember& member = *members_[i];
    if (member.runs() || member.stopping() || member.starting() || !wanted_[i]) return;
    ++starts_;
    const bool excused = member.failure_expected();
    const Status status = member.start();
    if (status.ok()) return;
    if (member.machine.is_gone()) {
      members_[i]->crash(random_.next());  // the power went while it started
      return start_after(i, 500 * kMs);
    }
    if (options_.trace)
      fmt::print(stderr, "{:>9.3f} ms  member {} refused to start: {}\n",
                 static_cast<double>(now()) / 1e6, i, status.to_string());
    if (!excused && !may_refuse(i, status))
      verdicts_.add(Checker::kMember, now(),
                    fmt::format("member {} refused to start: {}", i, status.to_string()));
    member.kill();
    start_after(i, 500 * kMs);
  }

  // A joiner may reach nobody, or nobody may know it yet; one that was removed must not come back.
  bool may_refuse(size_t i, const Status& status) {
    if (members_[i]->is_joining()) return status.code() != Code::kCorrupt;
    return operator_.changed_any() && status.code() == Code::kInvalidArgument;
  }

  // ------------------------------------------------------------ faults

  void schedule_faults() {
    for (size_t number = 0; number < schedule_.size(); ++number) {
      if (options_.faults && !options_.faults->contains(number)) continue;
      timers_.after(schedule_[number].at_ns + 1, [this, number] {
        if (!healed_) inject(number);
      });
    }
  }
  static std::string url(size_t i) { return SimMember::url_of(i); }
  void cut(size_t from, size_t to, uint64_t ns) {
    if (from == to) return;
    network_.cut(url(from), url(to));
    timers_.after(ns, [this, from, to] { network_.mend(url(from), url(to)); });
  }
  void give_room(size_t i) {
    members_[i]->machine.disk().set_capacity(~uint64_t{0});
    // What had failed already may still end the process.
    if (members_[i]->runs()) members_[i]->expect_failure();
    members_[i]->set_disk_full(false);
  }

  void inject(size_t number) {
    const Fault& fault = schedule_[number];
    if (plan_.profile == Profile::kStorm) leader_ = newest_leader();
    const size_t from = plan_.from_leader() ? leader_ : 0;
    const size_t a = (from + fault.a) % members_.size();
    const size_t b = (from + fault.b) % members_.size();
    SimMember& member = *members_[a];
    if (options_.trace)
      fmt::print(stderr, "{:>9.3f} ms  fault {}: {}\n", static_cast<double>(now()) / 1e6, number,
                 to_text(fault));
    env_.note(number);
    ++faults_[static_cast<size_t>(fault.kind)];
    switch (fault.kind) {
      case FaultKind::kPowerLoss:
      case FaultKind::kKill:
        if (!member.runs()) break;
        down(a, fault.kind == FaultKind::kKill ? Down::kKill : Down::kPowerLoss);
        start_after(a, fault.ns);
        break;
      case FaultKind::kCrashAtCall:
        // One that is gone is taken away once whoever runs the world on by himself has ended.
        if (!member.runs() || member.machine.is_gone()) break;
        at_call_ns_[a] = fault.ns;
        member.machine.disk().stop_after(fault.number + 1);
        break;
      case FaultKind::kStop:
        if (!member.is_ready() || member.stopping()) break;
        static_cast<void>(member.stop());
        start_after(a, fault.ns);
        break;
      case FaultKind::kPause: member.machine.paused_until_ns = now() + fault.ns; break;
      case FaultKind::kCut: cut(a, b, fault.ns); break;
      case FaultKind::kIsolate:
        for (size_t i = 0; i < members_.size(); ++i) {
          cut(a, i, fault.ns);
          cut(i, a, fault.ns);
        }
        break;
      case FaultKind::kDeaf:
        for (size_t i = 0; i < members_.size(); ++i) cut(i, a, fault.ns);
        break;
      case FaultKind::kMute:
        for (size_t i = 0; i < members_.size(); ++i) cut(a, i, fault.ns);
        break;
      case FaultKind::kSplit:
        for (size_t i = 0; i < members_.size(); ++i)
          for (size_t j = 0; j < members_.size(); ++j)
            if (((fault.number >> i) & 1) != ((fault.number >> j) & 1)) cut(i, j, fault.ns);
        break;
      case FaultKind::kClog:
        if (a != b) network_.clog(url(a), url(b), now() + fault.ns);
        break;
      case FaultKind::kReset:
        if (a != b) network_.reset(url(a), url(b));
        break;
      case FaultKind::kLossy:
        network_.lose_one_in(fault.number);
        network_.hold_one_in(fault.number);
        timers_.after(fault.ns, [this] {
          network_.lose_one_in(0);
          network_.hold_one_in(0);
        });
        break;
      case FaultKind::kRepeating:
        network_.repeat_one_in(fault.number);
        timers_.after(fault.ns, [this] { network_.repeat_one_in(0); });
        break;
      case FaultKind::kSlowNetwork:
        network_.set_delay_ns(200'000, fault.number * kMs);
        timers_.after(fault.ns, [this] { network_.set_delay_ns(200'000, 800'000); });
        break;
      case FaultKind::kSlowDisk:
        member.machine.set_disk_delay_ns(fault.number * kMs);
        timers_.after(fault.ns,
                      [this, &member] { member.machine.set_disk_delay_ns(plan_.disk_delay_ns); });
        break;
      case FaultKind::kHeldDisk: member.machine.hold_disk_until(now() + fault.ns); break;
      case FaultKind::kSyncFails:
      case FaultKind::kWriteFails:
        if (!member.runs()) break;
        member.machine.disk().fail(fault.kind == FaultKind::kSyncFails ? test::SimDisk::Op::kSync
                                                                       : test::SimDisk::Op::kWrite,
                                   1, Code::kIoError);
        member.expect_failure();
        break;
      case FaultKind::kDiskFull:
        if (!member.runs()) break;
        member.machine.disk().fill();
        member.set_disk_full(true);
        timers_.after(fault.ns, [this, a] { give_room(a); });
        break;
      case FaultKind::kEngineFails:
        if (!member.runs()) break;
        member.engines.fail_next_write(QUORATE_IO_ERROR);
        member.expect_failure();
        break;
      case FaultKind::kSlowMember:
        member.machine.set_turn_ns(fault.number * 1000);
        timers_.after(fault.ns, [&member] { member.machine.set_turn_ns(30'000); });
        break;
      case FaultKind::kWallJump:
        member.machine.jump_wall_ms(static_cast<int64_t>(fault.number) - (int64_t{1} << 31));
        break;
      case FaultKind::kMoveLeader:
        if (!member.runs()) break;
        static_cast<void>(members_[b]->call(test::request([&](schema::Request::Builder root) {
                                              root.initMaintenance().setMoveLeader(
                                                  member.state().member_id);
                                            }),
                                            1000, nullptr));
        break;
      case FaultKind::kAddMember: operator_.add(); break;
      case FaultKind::kRemove: operator_.remove(a); break;
      case FaultKind::kReplace: operator_.replace(a); break;
      case FaultKind::kCount: break;
    }
  }

  // ------------------------------------------------------------ liveness

  // Everything is whole again, but for a minority that stays away.
  void heal() {
    healed_ = true;
    network_.heal();
    network_.lose_one_in(0);
    network_.hold_one_in(0);
    network_.repeat_one_in(0);
    network_.set_delay_ns(200'000, 800'000);
    // Whoever was added and never came up counts for the quorum, too.
    const size_t away =
        plan_.minority_stays_down && !operator_.changed_any() ? (members_.size() - 1) / 2 : 0;
    for (size_t i = 0; i < members_.size(); ++i) {
      SimMember& member = *members_[i];
      member.machine.set_disk_delay_ns(plan_.disk_delay_ns);
      member.machine.hold_disk_until(0);
      member.machine.set_turn_ns(30'000);
      give_room(i);
      if (i < away) {
        wanted_[i] = false;
        down(i, Down::kPowerLoss);
      } else {
        start_process(i);
      }
    }
  }

  // What has not come to an end though nobody asks for anything any more.
  std::string what_still_waits() {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!wanted_[i] || !members_[i]->runs()) continue;
      const server::QueueDepths queues = members_[i]->server().queues();
      if (const server::QueueDepth* queue = queues.busy())
        return fmt::format("member {}: {} {}", i, queue->size, queue->name);
    }
    return {};
  }

  std::string who_is_not_ready() {
    for (size_t i = 0; i < members_.size(); ++i)
      if (wanted_[i] && !members_[i]->is_ready()) return fmt::format("member {} is not ready", i);
    return {};
  }
  // Nobody has anything left to do.
  std::string what_is_left() {
    if (std::string waits = workload_.who_waits(); !waits.empty()) return waits;
    uint64_t applied = 0;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!wanted_[i]) continue;
      SimMember& member = *members_[i];
      if (!member.is_ready()) return fmt::format("member {} is not ready", i);
      if (member.outstanding() != 0)
        return fmt::format("member {} owes {} answers", i, member.outstanding());
      const uint64_t index = member.state().applied.load();
      if (index < member.state().commit.load() || (applied != 0 && applied != index))
        return fmt::format("member {} has applied {} of {}", i, index,
                           std::max(applied, member.state().commit.load()));
      applied = index;
    }
    if (applied < oracle_.entries()) return "what was applied once is not applied everywhere";
    return workload_.what_is_missing(oracle_.revision());
  }

  void prove_liveness() {
    workload_.pause();
    heal();
    if (operator_.changed_any()) {
      bool settled = false;
      operator_.settle([&] { settled = true; });
      if (!run_until(kLivenessNs, [&] { return settled; })) return late("to name its members", "");
    }
    if (!run_until(kLivenessNs, [&] { return who_is_not_ready().empty(); }))
      return late("to be ready", who_is_not_ready());
    workload_.last_round();
    if (!run_until(kLivenessNs, [&] { return what_is_left().empty(); }))
      return late("to go on", what_is_left());
    workload_.stop_renewing();
    if (!run_until(kLeasesNs, [&] { return workload_.overdue_lease().empty(); }))
      return late("to let leases end", workload_.overdue_lease());
    if (!run_until(kLivenessNs, [&] { return what_is_left().empty(); }))
      return late("to say so", what_is_left());
    if (!run_until(kRestNs, [&] { return what_still_waits().empty(); }) && verdicts_.clean())
      verdicts_.add(Checker::kQueues, now(), "at rest, " + what_still_waits());
  }
  static void print_state(SimMember& member) {
    fmt::print(stderr, "member {}: runs {} ready {} gone {} stopping {} starting {} failure {}\n",
               member.number(), member.runs(), member.is_ready(), member.machine.is_gone(),
               member.stopping(), member.starting(), member.failure().to_string());
    if (!member.runs()) return;
    const raft::Raft& raft = member.server().raft();
    fmt::print(stderr, "  {} {} term {} leader {} commit {} applied {} log {} to {}\n", raft.id(),
               raft::to_text(raft.role()), raft.term(), raft.leader(), raft.log().commit(),
               raft.log().applied(), raft.log().first_index(), raft.log().last_index());
    for (const raft::Progress& peer : raft.progress())
      fmt::print(stderr, "    {} {} match {} next {} {}\n", peer.id, to_text(peer.state()),
                 peer.match(), peer.next(), peer.paused() ? "paused" : "");
  }
  void late(const char* what, const std::string& why) {
    if (options_.trace)
      for (const auto& member : members_) print_state(*member);
    if (verdicts_.clean())
      verdicts_.add(Checker::kLiveness, now(),
                    fmt::format("the healed cluster takes too long {}: {}", what, why));
  }

  const Options& options_;
  Verdicts verdicts_;
  Random random_;
  const Plan plan_;
  const std::vector<Fault> schedule_;
  test::TestEnv env_;
  Tracer tracer_;
  test::SimNetwork network_;
  Timers timers_;
  Oracle oracle_;
  std::vector<std::unique_ptr<SimMember>> members_;
  Workload workload_;
  Operator operator_;
  std::vector<bool> wanted_;          // by member: it should run
  std::vector<uint64_t> at_call_ns_;  // by member: how long it is away after a crash at a call
  NoElection no_election_;
  Failovers failovers_;
  size_t leader_ = 0;  // whom faults count from
  bool healed_ = false;
  uint64_t starts_ = 0;
  uint64_t looks_ = 0;
  std::array<uint64_t, static_cast<size_t>(FaultKind::kCount)> faults_{};
};

}  // namespace

RunResult run(const Options& options) {
  return Simulation(options).run();
}

std::vector<Fault> schedule_of(uint64_t seed, Profile profile) {
  Random random(seed);
  return Plan(profile, random, seed).draw(random);
}

}  // namespace quorate::sim
