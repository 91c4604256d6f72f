// SPDX-License-Identifier: Apache-2.0
#include "sim/workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/api.capnp.h"
#include "schemas/segment.h"
#include "sim/wire.h"
#include "support/linearizability/check.h"
#include "support/requests.h"

namespace quorate::sim {
namespace {

using linearizability::Kind;
using linearizability::Outcome;

constexpr uint64_t kCancelNsMax = 60'000'000;  // after it was sent; many are answered by then

// What a refusal with this code promises: the call had no effect and never will have.
bool surely_not_done(const Call& call) {
  if (call.died) return false;
  switch (call.code) {
    case Code::kBusy:
    case Code::kCancelled:
    case Code::kUnavailable:
    case Code::kNoLeader:
    case Code::kProposalDropped:
    case Code::kTooManyRequests:
    case Code::kNoSpace:
    case Code::kQuotaExceeded:
    case Code::kLeaseNotFound:
    case Code::kNotSupportedForLearner:
    case Code::kStopped: return true;
    default: return false;
  }
}

Outcome outcome_of(const Call& call) {
  if (!call.died && call.code == Code::kOk) return Outcome::kDone;
  return surely_not_done(call) ? Outcome::kNotDone : Outcome::kUnknown;
}

int64_t revision_of(const Call& call) {
  schema::SegmentReader reader(call.response.slice());
  return reader.root<schema::Response>().getHeader().getRevision();
}

}  // namespace

// One caller that waits for each answer before it asks again.
class Client {
 public:
  Client(Workload& workload, size_t number, uint64_t seed)
      : workload_(workload), random_(seed), number_(number) {
    name_ = workload.history_.name("c" + std::to_string(number));
  }

  void think() {
    workload_.timers_.after(random_.below(workload_.config_.think_ns_max) + 1, [this] { next(); });
  }
  bool idle() const { return idle_; }
  std::string waits_for() const {
    return fmt::format("client {} waits for {} of member {} since {} ms", number_, waits_for_,
                       member_, since_ns_ / 1'000'000);
  }
  void last_round() {
    final_ = true;
    if (!idle_) return;
    idle_ = false;
    think();
  }

 private:
  using Operation = linearizability::Operation;

  void next() {
    if (workload_.paused_ && !final_) {
      idle_ = true;
      return;
    }
    if (random_.one_in(20) || !workload_.cluster_.member(member_).runs())
      member_ = random_.below(workload_.cluster_.size());
    if (final_) return final_left_ > 1 ? put() : get(false);
    switch (random_.below(22)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: return put();
      case 5:
      case 6:
      case 7: return get(false);
      case 8:
      case 9: return get(true);
      case 10:
      case 11: return remove();
      case 12:
      case 13:
      case 14: return swap();
      case 15:
      case 16: return range();
      case 17: return transaction();
      case 18: return remove_range();
      case 19: return compact();
      default: return lease();
    }
  }

  std::string any_key() { return workload_.key(random_.below(workload_.config_.keys)); }
  // One of those that only calls on one key touch, for the linearizability checker.
  std::string own_key() { return "h" + std::to_string(random_.below(workload_.config_.keys)); }
  std::string new_value() {
    std::string value = "v" + std::to_string(workload_.next_value_++) + ".";
    value.append(random_.below(workload_.config_.value_bytes_max + 1), 'x');
    workload_.values_.insert(value);
    return value;
  }
  uint64_t now() const { return workload_.env_.clock().now_ns(); }

  // Sends, and goes on thinking after the answer, which `take` sees.
  enum class Order { kRead, kWrite, kNone };
  void send(const Bytes& request, Order order, std::function<void(const Call&)> take) {
    schema::SegmentReader reader(request.slice());
    waits_for_ = static_cast<int>(reader.root<schema::Request>().which());
    since_ns_ = now();
    SimMember& member = workload_.cluster_.member(member_);
    const auto sent = member.call(
        request, workload_.config_.call_timeout_ms,
        [this, order, invoked_ns = now(), take = std::move(take)](const Call& call) {
          if (call.completions != 1)
            workload_.verdicts_.add(Checker::kCalls, now(),
                                    fmt::format("a call was answered {} times", call.completions));
          const bool ok = call.code == Code::kOk;
          ++workload_.calls_done_;
          if (outcome_of(call) == Outcome::kUnknown) ++workload_.calls_unknown_;
          if (ok) {
            const int64_t revision = revision_of(call);
            workload_.known_revision_ = std::max(workload_.known_revision_, revision);
            if (order != Order::kNone)
              workload_.answers_.push_back(
                  {invoked_ns, now(), revision, order == Order::kWrite && wrote(call)});
          }
          take(call);
          if (!ok) member_ = random_.below(workload_.cluster_.size());
          if (final_ && ok && --final_left_ == 0) {
            idle_ = true;
            return;
          }
          if (final_ && final_left_ == 1) member_ = number_ % workload_.cluster_.size();
          think();
        });
    const uint64_t cancels = workload_.config_.cancel_one_in;
    if (cancels != 0 && !final_ && random_.one_in(cancels))
      workload_.timers_.after(random_.below(kCancelNsMax),
                              [&member, sent] { member.cancel(*sent); });
  }

  // Whether the store's revision is this call's own.
  static bool wrote(const Call& call) {
    schema::SegmentReader reader(call.response.slice());
    const auto response = reader.root<schema::Response>();
    if (response.isPut()) return true;
    if (response.isDeleteRange()) return response.getDeleteRange().getDeleted() > 0;
    return response.isTxn() && response.getTxn().getSucceeded();
  }

  Operation& begin(Kind kind, const std::string& key) {
    Operation& operation = workload_.history_.operations.emplace_back();
    operation.id = workload_.next_operation_++;
    operation.client = name_;
    operation.kind = kind;
    operation.outcome = Outcome::kUnknown;
    operation.key = workload_.history_.name(key);
    operation.invoked = static_cast<int64_t>(now());
    return operation;
  }
  Operation& end(size_t place, const Call& call) {
    Operation& operation = workload_.history_.operations[place];
    operation.outcome = outcome_of(call);
    operation.returned = static_cast<int64_t>(now());
    operation.member = workload_.history_.name(
        fmt::format("m{}.{}", call.member, workload_.cluster_.member(call.member).process()));
    if (operation.done()) operation.revision = revision_of(call);
    return operation;
  }
  size_t last_place() const { return workload_.history_.operations.size() - 1; }

  void put() {
    const std::string key = own_key(), value = new_value();
    begin(Kind::kPut, key).value = workload_.history_.name(value);
    send(test::put_request(key, value), Order::kWrite,
         [this, key, value, place = last_place()](const Call& call) {
           const Operation& operation = end(place, call);
           if (operation.done())
             workload_.effects_.push_back(
                 {operation.id, operation.revision, {{key, value, false, 0}}});
           if (operation.outcome == Outcome::kNotDone) workload_.values_.erase(value);
         });
  }

  void get(bool serializable) {
    const std::string key = own_key();
    begin(Kind::kGet, key).serializable = serializable;
    send(test::range_request(key, "", 0, serializable), serializable ? Order::kNone : Order::kRead,
         [this, key, place = last_place()](const Call& call) {
           Operation& operation = end(place, call);
           if (!operation.done()) return;
           const std::optional<Workload::Range> range = range_of(call, key, "", 0, 0);
           if (!range) return;
           if (!range->pairs.empty()) {
             operation.value = workload_.history_.name(range->pairs[0].value);
             operation.mod_revision = range->pairs[0].mod_revision;
           } else {
             operation.mod_revision = 0;
           }
           workload_.ranges_.push_back(*range);
         });
  }

  std::optional<Workload::Range> range_of(const Call& call, const std::string& key,
                                          const std::string& end, int64_t asked, int64_t limit) {
    schema::SegmentReader reader(call.response.slice());
    const auto response = reader.root<schema::Response>();
    const auto result = response.getRange();
    std::optional<std::vector<KeyValue>> pairs = parse_run(test::chars(result.getKvs()));
    if (!pairs) {
      workload_.verdicts_.add(Checker::kContent, now(), "a range was answered with broken pairs");
      return std::nullopt;
    }
    return Workload::Range{call.number,
                           key,
                           end,
                           asked != 0 ? asked : response.getHeader().getRevision(),
                           asked != 0,
                           limit,
                           result.getCount(),
                           result.getMore(),
                           std::move(*pairs)};
  }

  void remove() {
    const std::string key = own_key();
    begin(Kind::kDelete, key);
    send(test::delete_request(key), Order::kWrite,
         [this, key, place = last_place()](const Call& call) {
           Operation& operation = end(place, call);
           if (!operation.done()) return;
           schema::SegmentReader reader(call.response.slice());
           operation.effective = reader.root<schema::Response>().getDeleteRange().getDeleted() > 0;
           if (operation.effective)
             workload_.effects_.push_back({operation.id, operation.revision, {{key, "", true, 0}}});
         });
  }

  // A put if the key is as it was seen last.
  void swap() {
    const std::string key = own_key(), value = new_value();
    const int64_t mod = random_.one_in(4) ? 0 : seen_[key];
    Operation& asked = begin(Kind::kCas, key);
    asked.value = workload_.history_.name(value);
    asked.compare_mod = mod;
    const Bytes request = test::request([&](schema::Request::Builder root) {
      auto txn = root.initTxn();
      auto compare = txn.initCompare(1)[0];
      compare.setTarget(2);
      compare.setKey(test::data(key));
      compare.setNumber(mod);
      auto put = txn.initSuccess(1)[0].initPut();
      put.setKey(test::data(key));
      put.setValue(test::data(value));
      auto get = txn.initFailure(1)[0].initRange();
      get.setKey(test::data(key));
    });
    send(request, Order::kWrite, [this, key, value, place = last_place()](const Call& call) {
      Operation& operation = end(place, call);
      if (operation.outcome == Outcome::kNotDone) workload_.values_.erase(value);
      if (!operation.done()) return;
      schema::SegmentReader reader(call.response.slice());
      const auto result = reader.root<schema::Response>().getTxn();
      operation.effective = result.getSucceeded();
      if (operation.effective) {
        seen_[key] = operation.revision;
        workload_.effects_.push_back({operation.id, operation.revision, {{key, value, false, 0}}});
        return;
      }
      if (result.getResponses().size() == 1 && result.getResponses()[0].isRange()) {
        const auto pairs = parse_run(test::chars(result.getResponses()[0].getRange().getKvs()));
        seen_[key] = pairs && !pairs->empty() ? (*pairs)[0].mod_revision : 0;
      }
    });
  }

  void range() {
    const std::string key = any_key();
    const std::string end = random_.one_in(2) ? "l" : std::string(test::kOpenEnd);
    const bool old = random_.one_in(2);
    const int64_t asked = old ? std::max<int64_t>(1, workload_.known_revision_ -
                                                         static_cast<int64_t>(random_.below(60)))
                              : 0;
    const int64_t limit = random_.one_in(3) ? 1 + static_cast<int64_t>(random_.below(4)) : 0;
    const bool serializable = random_.one_in(3);
    const Bytes request = test::request([&](schema::Request::Builder root) {
      auto range = root.initRange();
      range.setKey(test::data(key));
      range.setRangeEnd(test::data(end));
      range.setRevision(asked);
      range.setLimit(limit);
      range.setSerializable(serializable);
    });
    send(request, serializable ? Order::kNone : Order::kRead,
         [this, key, end, asked, limit](const Call& call) {
           if (call.code != Code::kOk) return;
           if (auto range = range_of(call, key, end, asked, limit))
             workload_.ranges_.push_back(std::move(*range));
         });
  }

  // Puts of several keys at once, so that a part of it would show; the last one perhaps under a
  // lease that may be gone.
  void transaction() {
    const uint64_t first = random_.below(workload_.config_.keys);
    const uint64_t count = 2 + random_.below(3);
    std::vector<Workload::Effect::Change> changes;
    for (uint64_t i = 0; i < count; ++i)
      changes.push_back(
          {workload_.key((first + i) % workload_.config_.keys), new_value(), false, 0});
    if (lease_ && random_.one_in(2)) changes.back().lease = *lease_;
    const Bytes request = test::request([&](schema::Request::Builder root) {
      auto operations = root.initTxn().initSuccess(static_cast<uint32_t>(count));
      for (uint32_t i = 0; i < count; ++i) {
        auto put = operations[i].initPut();
        put.setKey(test::data(changes[i].key));
        put.setValue(test::data(changes[i].value));
        put.setLease(changes[i].lease);
      }
    });
    send(request, Order::kWrite, [this, changes](const Call& call) {
      if (call.code == Code::kLeaseNotFound) lease_.reset();
      if (outcome_of(call) == Outcome::kNotDone) {
        for (const auto& change : changes) workload_.values_.erase(change.value);
      }
      if (call.code == Code::kOk)
        workload_.effects_.push_back({call.number, revision_of(call), changes});
    });
  }

  void remove_range() {
    const std::string key = any_key(), end = any_key();
    if (end <= key) return put();
    const Bytes request = test::request([&](schema::Request::Builder root) {
      auto remove = root.initDeleteRange();
      remove.setKey(test::data(key));
      remove.setRangeEnd(test::data(end));
      remove.setPrevKv(true);
    });
    send(request, Order::kWrite, [this, key, end](const Call& call) {
      if (call.code != Code::kOk) return;
      schema::SegmentReader reader(call.response.slice());
      const auto result = reader.root<schema::Response>().getDeleteRange();
      const int64_t deleted = result.getDeleted();
      const auto previous = parse_run(test::chars(result.getPrevKvs()));
      if (!previous || static_cast<int64_t>(previous->size()) != deleted)
        workload_.verdicts_.add(
            Checker::kContent, now(),
            fmt::format("a range delete of {} keys did not return as many", deleted));
      if (deleted > 0)
        workload_.effects_.push_back({call.number, revision_of(call), {}, deleted, key, end});
    });
  }

  void compact() {
    if (!random_.one_in(3)) return put();
    const int64_t revision =
        workload_.known_revision_ - 5 - static_cast<int64_t>(random_.below(80));
    if (revision < 1) return put();
    send(test::compact_request(revision, random_.one_in(4)), Order::kNone, [](const Call&) {});
  }

  // ------------------------------------------------------------ leases

  void lease() {
    if (!lease_ || random_.one_in(6)) return grant();
    if (random_.one_in(12)) return revoke();
    if (!workload_.renewing_ || random_.one_in(3)) return put_leased();
    return renew();
  }

  void grant() {
    const int64_t id = workload_.next_lease_++;
    const int64_t ttl = 1 + static_cast<int64_t>(random_.below(4));
    Workload::Lease& lease = workload_.leases_[id];
    lease.id = id;
    lease.ttl = ttl;
    lease.grant_invoked_ns = now();
    send(test::grant_request(ttl, id), Order::kNone, [this, id](const Call& call) {
      if (call.code != Code::kOk) return;
      schema::SegmentReader reader(call.response.slice());
      const auto result = reader.root<schema::Response>().getLease();
      workload_.leases_[id].granted = true;
      workload_.leases_[id].ttl = result.getTtl();
      lease_ = id;
    });
  }
  void put_leased() {
    const int64_t id = *lease_;
    const std::string key = fmt::format("l{}.{}", id, random_.below(3)), value = new_value();
    send(test::put_request(key, value, id), Order::kWrite,
         [this, key, value, id](const Call& call) {
           if (outcome_of(call) == Outcome::kNotDone) workload_.values_.erase(value);
           if (call.code == Code::kLeaseNotFound) lease_.reset();
           if (call.code == Code::kOk)
             workload_.effects_.push_back(
                 {call.number, revision_of(call), {{key, value, false, id}}});
         });
  }
  void renew() {
    const int64_t id = *lease_;
    const uint64_t invoked_ns = now();
    send(test::keep_alive_request(id), Order::kNone, [this, id, invoked_ns](const Call& call) {
      if (call.code != Code::kOk) return;
      schema::SegmentReader reader(call.response.slice());
      const int64_t ttl = reader.root<schema::Response>().getLease().getTtl();
      if (ttl > 0)
        workload_.leases_[id].renewals.emplace_back(invoked_ns, now());
      else
        lease_.reset();
    });
  }
  void revoke() {
    const int64_t id = *lease_;
    lease_.reset();
    workload_.leases_[id].revoke_invoked_ns = now();
    send(test::request([&](schema::Request::Builder root) { root.initLease().setRevoke(id); }),
         Order::kNone, [](const Call&) {});
  }

  Workload& workload_;
  Random random_;
  size_t number_;
  linearizability::Name name_;
  size_t member_ = 0;
  std::map<std::string, int64_t> seen_;
  std::optional<int64_t> lease_;
  bool idle_ = false, final_ = false;
  int final_left_ = 2;  // calls of the last round: a write, then a read
  int waits_for_ = 0;   // which request
  uint64_t since_ns_ = 0;
};

Workload::Workload(test::TestEnv& env, Timers& timers, Cluster& cluster, Oracle& oracle,
                   Verdicts& verdicts, const WorkloadConfig& config, uint64_t seed)
    : env_(env),
      timers_(timers),
      cluster_(cluster),
      oracle_(oracle),
      verdicts_(verdicts),
      config_(config),
      random_(seed) {
  for (size_t i = 0; i < config.clients; ++i)
    clients_.push_back(std::make_unique<Client>(*this, i, random_.next()));
  for (size_t i = 0; i < config.watchers; ++i)
    watchers_.push_back(std::make_unique<Watcher>(*this, i, random_.next()));
}
Workload::~Workload() = default;

void Workload::start() {
  for (const auto& client : clients_) client->think();
  for (const auto& watcher : watchers_) watcher->start();
}

void Workload::last_round() {
  for (const auto& client : clients_) client->last_round();
}

std::string Workload::who_waits() const {
  for (const auto& client : clients_)
    if (!client->idle()) return client->waits_for();
  return {};
}

std::string Workload::what_is_missing(int64_t revision) const {
  for (size_t i = 0; i < watchers_.size(); ++i) {
    const std::optional<int64_t> due = watchers_[i]->due(revision);
    if (due)
      return fmt::format("watcher {} at member {} has not been told revision {}", i,
                         watchers_[i]->member(), *due);
  }
  return {};
}

uint64_t Workload::watch_events() const {
  uint64_t events = 0;
  for (const auto& watcher : watchers_) events += watcher->events();
  return events;
}

std::string Workload::overdue_lease() const {
  const std::map<std::string, int64_t>& leased = oracle_.leased();
  if (leased.empty()) return {};
  return fmt::format("the key \"{}\" of lease {} is still there", leased.begin()->first,
                     leased.begin()->second);
}

// ---------------------------------------------------------------- the judgement

void Workload::judge() {
  judge_values();
  judge_effects();
  judge_ranges();
  judge_leases();
  judge_order();
  judge_history();
}

void Workload::judge_history() {
  if (!verdicts_.is_on(Checker::kHistory)) return;
  const linearizability::Report report = linearizability::check_revisions(history_);
  if (report.verdict != linearizability::Verdict::kViolation) return;
  verdicts_.add(Checker::kHistory, 0, linearizability::to_text(history_, report));
}

// Of two calls one of which had returned before the other was made, the second has seen the first.
// With every answer right at its revision, this is linearizability of all calls.
void Workload::judge_order() {
  if (!verdicts_.is_on(Checker::kHistory)) return;
  std::vector<const Answer*> by_return;
  for (const Answer& answer : answers_) by_return.push_back(&answer);
  std::vector<const Answer*> by_start = by_return;
  std::stable_sort(by_return.begin(), by_return.end(), [](const Answer* a, const Answer* b) {
    return a->answered_ns < b->answered_ns;
  });
  std::stable_sort(by_start.begin(), by_start.end(),
                   [](const Answer* a, const Answer* b) { return a->invoked_ns < b->invoked_ns; });
  size_t returned = 0;
  int64_t known = 0;
  for (const Answer* answer : by_start) {
    for (; returned < by_return.size() && by_return[returned]->answered_ns < answer->invoked_ns;
         ++returned)
      known = std::max(known, by_return[returned]->revision);
    if (answer->revision > known || (answer->revision == known && !answer->wrote)) continue;
    verdicts_.add(
        Checker::kHistory, answer->answered_ns,
        fmt::format("a {} made at {} ns was answered at revision {}, when revision {} "
                    "had been answered before",
                    answer->wrote ? "write" : "read", answer->invoked_ns, answer->revision, known));
  }
}

// What stands in the store was asked for, and once.
void Workload::judge_values() {
  std::set<std::string> seen;
  for (const Event& event : oracle_.events()) {
    if (event.tombstone) continue;
    if (!values_.contains(event.value))
      verdicts_.add(Checker::kContent, 0,
                    fmt::format("revision {} of \"{}\" is a value that nobody put, or whose put "
                                "was answered as not done",
                                event.revision, event.key));
    if (!seen.insert(event.value).second)
      verdicts_.add(Checker::kContent, 0,
                    fmt::format("revision {} of \"{}\" is a value that was put once and is there "
                                "twice",
                                event.revision, event.key));
  }
}

void Workload::judge_effects() {
  std::map<int64_t, std::vector<const Event*>> by_revision;
  for (const Event& event : oracle_.events()) by_revision[event.revision].push_back(&event);
  for (const Effect& effect : effects_) {
    const auto found = by_revision.find(effect.revision);
    if (found == by_revision.end()) {
      verdicts_.add(Checker::kContent, 0,
                    fmt::format("call {} was acknowledged at revision {}, which is nobody's",
                                effect.call, effect.revision));
      continue;
    }
    const std::vector<const Event*>& events = found->second;
    bool right = true;
    if (effect.deleted >= 0) {
      right = static_cast<int64_t>(events.size()) == effect.deleted &&
              std::all_of(events.begin(), events.end(), [&](const Event* event) {
                return event->tombstone && in_range(event->key, effect.key, effect.end);
              });
    } else {
      right = events.size() == effect.changes.size();
      for (size_t i = 0; right && i < events.size(); ++i) {
        const Effect::Change& change = effect.changes[i];
        right = events[i]->key == change.key && events[i]->tombstone == change.tombstone &&
                (change.tombstone ||
                 (events[i]->value == change.value && events[i]->lease == change.lease));
      }
    }
    if (!right)
      verdicts_.add(Checker::kContent, 0,
                    fmt::format("call {} was acknowledged at revision {}, which holds something "
                                "else (\"{}\")",
                                effect.call, effect.revision, events[0]->key));
  }
}

void Workload::judge_ranges() {
  std::stable_sort(ranges_.begin(), ranges_.end(),
                   [](const Range& a, const Range& b) { return a.revision < b.revision; });
  std::map<std::string, KeyValue> model;
  size_t place = 0;
  const std::vector<Event>& events = oracle_.events();
  for (const Range& range : ranges_) {
    for (; place < events.size() && events[place].revision <= range.revision; ++place) {
      const Event& event = events[place];
      if (event.tombstone)
        model.erase(event.key);
      else
        model[event.key] = {event.key,      event.value,   event.create_revision,
                            event.revision, event.version, event.lease};
    }
    std::vector<KeyValue> due;
    int64_t count = 0;
    for (const auto& [key, pair] : model) {
      if (!in_range(key, range.key, range.end)) continue;
      ++count;
      if (range.limit == 0 || static_cast<int64_t>(due.size()) < range.limit) due.push_back(pair);
    }
    if (range.pairs == due && range.count == count &&
        range.more == (static_cast<int64_t>(due.size()) < count))
      continue;
    verdicts_.add(Checker::kContent, 0,
                  fmt::format("a range of [\"{}\", \"{}\") at revision {} (asked: {}) returned {} "
                              "pairs of {} where {} of {} are right",
                              range.key, range.end, range.revision, range.at_old,
                              range.pairs.size(), range.count, due.size(), count));
  }
}

void Workload::judge_leases() {
  for (const auto& [id, lease] : leases_) {
    const uint64_t expired_ns = oracle_.expired_ns(id);
    if (expired_ns == 0) continue;
    const auto ttl_ns = static_cast<uint64_t>(lease.ttl) * 1'000'000'000;
    const uint64_t shortest_ns =
        ttl_ns / 1'000'000 * static_cast<uint64_t>(1'000'000 - 2 * config_.drift_ppm_max);
    if (expired_ns < lease.grant_invoked_ns + shortest_ns)
      verdicts_.add(Checker::kLease, expired_ns,
                    fmt::format("lease {} of {} s expired {} ms after it was asked for", id,
                                lease.ttl, (expired_ns - lease.grant_invoked_ns) / 1'000'000));
    for (const auto& [invoked_ns, answered_ns] : lease.renewals) {
      if (answered_ns <= expired_ns && expired_ns < invoked_ns + shortest_ns)
        verdicts_.add(Checker::kLease, expired_ns,
                      fmt::format("lease {} of {} s expired {} ms after a renewal was asked for",
                                  id, lease.ttl, (expired_ns - invoked_ns) / 1'000'000));
      if (invoked_ns > expired_ns)
        verdicts_.add(Checker::kLease, expired_ns,
                      fmt::format("lease {} was renewed after its end", id));
    }
  }
}

}  // namespace quorate::sim
