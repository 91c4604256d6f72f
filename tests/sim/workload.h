// SPDX-License-Identifier: Apache-2.0
// What clients do to the simulated cluster, and what they were told: puts, gets, deletes, swaps,
// ranges at old revisions, transactions, leases, watches, compactions. Every call is recorded; at
// the end judge() holds all of it against the one history that the oracle saw.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/cluster.h"
#include "sim/member.h"
#include "sim/oracle.h"
#include "sim/report.h"
#include "sim/timers.h"
#include "support/linearizability/history.h"

namespace quorate::sim {

struct WorkloadConfig {
  size_t clients = 4;
  size_t watchers = 3;
  uint64_t think_ns_max = 40'000'000;
  uint64_t keys = 8;
  size_t value_bytes_max = 200;
  uint64_t call_timeout_ms = 3000;
  uint64_t cancel_one_in = 0;  // of the calls; 0: none
  int64_t drift_ppm_max = 0;   // of the members' clocks, for the lease rules
};

class Watcher;
class Client;

class Workload {
 public:
  Workload(test::TestEnv& env, Timers& timers, Cluster& cluster, Oracle& oracle, Verdicts& verdicts,
           const WorkloadConfig& config, uint64_t seed);
  ~Workload();

  void start();
  // No new calls but those of the last round; watchers go on.
  void pause() { paused_ = true; }
  // Of the clients; empty: none.
  std::string who_waits() const;
  // Each client makes calls until one succeeds; then it is idle.
  void last_round();
  // What some watcher has not been told up to `revision`; empty: nothing.
  std::string what_is_missing(int64_t revision) const;
  // Keys of leases that nobody renews any more.
  void stop_renewing() { renewing_ = false; }
  // A key that still has a lease; empty: none has.
  std::string overdue_lease() const;

  // Holds what was answered against what was applied.
  void judge();

  uint64_t calls_done() const { return calls_done_; }
  uint64_t calls_unknown() const { return calls_unknown_; }
  uint64_t watch_events() const;

 private:
  friend class Client;
  friend class Watcher;
  // A write whose effect is known by its answer.
  struct Effect {
    uint64_t call;
    int64_t revision;
    // What it must have changed, in order; nothing else.
    struct Change {
      std::string key, value;
      bool tombstone;
      int64_t lease;
    };
    std::vector<Change> changes;
    int64_t deleted = -1;  // a range delete: so many tombstones in [key, end), instead of changes
    std::string key = {}, end = {};
  };
  struct Range {
    uint64_t call;
    std::string key, end;
    int64_t revision;  // it was answered at
    bool at_old;       // asked for that revision
    int64_t limit;
    int64_t count;
    bool more;
    std::vector<KeyValue> pairs;
  };
  struct Lease {
    int64_t id = 0;
    int64_t ttl = 0;
    uint64_t grant_invoked_ns = 0;
    bool granted = false;
    uint64_t revoke_invoked_ns = 0;                       // 0: never
    std::vector<std::pair<uint64_t, uint64_t>> renewals;  // invoked, answered; with TTL > 0
  };
  struct Answer {  // to a call that is ordered in real time
    uint64_t invoked_ns, answered_ns;
    int64_t revision;
    bool wrote;
  };
  void judge_order();
  void judge_history();
  void judge_effects();
  void judge_ranges();
  void judge_values();
  void judge_leases();
  std::string key(uint64_t n) const { return "k" + std::to_string(n); }

  test::TestEnv& env_;
  Timers& timers_;
  Cluster& cluster_;
  Oracle& oracle_;
  Verdicts& verdicts_;
  const WorkloadConfig config_;
  Random random_;
  linearizability::History history_;
  std::vector<Effect> effects_;
  std::vector<Range> ranges_;
  std::vector<Answer> answers_;
  std::map<int64_t, Lease> leases_;
  std::set<std::string> values_;  // that somebody put, each once
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Watcher>> watchers_;
  uint64_t next_value_ = 1;
  uint64_t next_operation_ = 1;
  int64_t next_lease_ = 1;
  int64_t known_revision_ = 1;  // the newest that any answer named
  uint64_t calls_done_ = 0, calls_unknown_ = 0;
  bool paused_ = false, renewing_ = true;
};

// One watch, opened again wherever it ends, that checks what it gets against the oracle.
class Watcher final : private WatchSink {
 public:
  Watcher(Workload& workload, size_t number, uint64_t seed);

  void start();
  // The first revision up to `revision` that it has not been told and must be.
  std::optional<int64_t> due(int64_t revision) const;
  size_t member() const { return member_; }
  uint64_t events() const { return events_; }

 private:
  bool items(const quorate_watch_item* items, size_t count) override;
  void ended() override;
  void take(const quorate_watch_item& item);
  void take_event(Slice bytes, int64_t revision);
  void open();
  void expect_none_before(int64_t revision, const char* what);
  void broken(const std::string& sentence);

  Workload& workload_;
  const size_t number_;
  Random random_;
  std::string key_, end_;
  size_t member_ = 0;
  uint64_t stream_ = 0;
  uint64_t watch_ = 0;
  bool created_ = false;
  bool from_now_ = false;
  int64_t next_ = 1;  // the first revision that it has not been told all of
  size_t place_ = 0;  // in the oracle's events, of the next one
  uint64_t events_ = 0;
};

}  // namespace quorate::sim
