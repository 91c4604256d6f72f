// SPDX-License-Identifier: Apache-2.0
// What all connections of one front-end share: the services of the kernel, the batch of calls that
// this turn gathers, the mailbox for what kernel threads answer, and the deadlines.
//
// Owned by the front-end; everything but the static on_* functions belongs to its I/O thread.
#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "frontend_etcd/request_codec.h"
#include "frontend_etcd/response_codec.h"
#include "quorate/frontend.h"
#include "quorate/host.h"
#include "sdk/shared_buf.h"

namespace quorate::frontend_etcd {

using sdk::SharedBuf;

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using std::chrono::milliseconds;

// The front-end's bounds and habits; options and the host's settings change some.
struct Settings {
  uint32_t streams_max = UINT32_MAX;                 // max-concurrent-streams
  milliseconds keepalive_min_time{5000};             // grpc-keepalive-min-time
  milliseconds keepalive_interval{2 * 3600 * 1000};  // grpc-keepalive-interval, 0: never
  milliseconds keepalive_timeout{20000};             // grpc-keepalive-timeout
  milliseconds election_timeout{1000};               // election-timeout
  size_t request_bytes_max = 1572864;                // max-request-bytes
  Limits limits;
  std::string cors = "*";

  size_t message_bytes_max() const { return request_bytes_max + 512 * 1024; }
};

inline constexpr size_t kHeaderListMax = 16 * 1024;       // of one request
inline constexpr size_t kConnectionInputMax = 64 << 20;   // requests not yet whole, together
inline constexpr size_t kConnectionOutputMax = 64 << 20;  // answers not yet sent, then no new calls
inline constexpr size_t kTurnOutputMax = 256 << 10;       // written at a time
inline constexpr size_t kWatchUnsentMax = 1 << 20;        // of a watch stream, then BUSY
inline constexpr size_t kPullCredit = 256 << 10;
inline constexpr size_t kOpenAsksMax = 1024;    // unanswered creates or keep-alives of one stream
inline constexpr int kLeaderlessElections = 3;  // without a leader, then streams that want one end

// Something that waits for one completion. It lives until complete() is called.
class Completer {
 public:
  // In the order: submitted (with the id that cancels it), complete. Not submitted() when it was
  // refused at once.
  virtual void submitted(uint64_t call_id) = 0;
  // response: an api.capnp Response, empty when there is none; lives until the call returns unless
  // `buf` is shared.
  virtual void complete(quorate_status code, const SharedBuf& response) = 0;

 protected:
  ~Completer() = default;
};

// What the kernel told one watch stream at once.
struct WatchBatch {
  std::vector<quorate_watch_item> items;  // events point into `events`
  std::vector<SharedBuf> events;
};

// Something the kernel calls by name: one pull.
class PieceSink {
 public:
  virtual void on_piece(uint32_t kind, quorate_status code, const SharedBuf& bytes) = 0;

 protected:
  ~PieceSink() = default;
};

class WatchSink {
 public:
  virtual void on_watch(const WatchBatch& batch) = 0;

 protected:
  ~WatchSink() = default;
};

// A thing with a deadline; at most one.
class Timed : public boost::intrusive::set_base_hook<
                  boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  virtual ~Timed() = default;
  virtual void expire() = 0;

 private:
  friend class Core;
  friend bool operator<(const Timed& a, const Timed& b) { return a.deadline_ < b.deadline_; }
  Time deadline_;
};

// A stream that must not outlive the loss of the leader by long.
class LeaderBound : public boost::intrusive::list_base_hook<
                        boost::intrusive::link_mode<boost::intrusive::auto_unlink>,
                        boost::intrusive::tag<struct LeaderBoundTag>> {
 public:
  // This member has known no leader for kLeaderlessElections election timeouts. No longer bound.
  virtual void leader_lost() = 0;

 protected:
  ~LeaderBound() = default;
};

// A connection with something to write.
class Flushable {
 public:
  virtual ~Flushable() = default;
  virtual void flush() = 0;

 private:
  friend class Core;
  bool dirty_ = false;
};

class Core {
 public:
  Core(const quorate_services& services, const quorate_host* host, Settings settings);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // post: runs a function on the I/O thread later, callable from any thread. arm: sees to it that
  // expire_due() is called at a time.
  void bind(std::function<void(std::function<void()>)> post, std::function<void(Time)> arm);

  const quorate_services& services() const { return services_; }
  const Settings& settings() const { return settings_; }

  // ---- calls
  // Puts a request into this turn's batch. What `call` and `request` point to must live until the
  // turn ends or withdraw().
  void submit(Completer* who, const quorate_call& call, std::string_view request);
  // Takes one back that this turn's batch still holds; nothing of it will be called.
  void withdraw(Completer* who);
  void cancel(uint64_t call_id) { services_.cancel(services_.ctx, call_id); }

  std::unique_ptr<schema::SegmentBuilder> borrow_builder();
  void give_back(std::unique_ptr<schema::SegmentBuilder> builder, size_t used);

  // ---- turns
  void mark_dirty(Flushable* connection);
  void forget(Flushable* connection);
  // Submits the batch and flushes what has something to write, once all that is ready has run.
  void schedule_turn_end();
  void end_turn();
  // Takes the mailbox and ends the turn.
  void drain();

  // ---- time
  Time now() const { return now_; }
  void update_now() { now_ = Clock::now(); }
  void set_deadline(Timed* what, Time at);
  void expire_due(Time now = Clock::now());

  // ---- the leader and this member's place in the cluster
  // Follows the host's changes from now on, if it tells any. [host-thread], after bind() and before
  // the first connection.
  void follow_member();
  // etcd's first checks of every call, by what this member is and knows: kOk, or the refusal.
  // learner_serves: a learner answers such a call too.
  RpcError refusal(uint32_t call_flags, bool learner_serves);
  // Until it unlinks itself or was told of the loss.
  void bind_to_leader(LeaderBound& stream) { leader_bound_.push_back(stream); }

  // ---- the host
  // The ids, term and revision of this member, as they were when the turn first asked; zeros
  // without a host that says.
  const quorate_member_info& member();
  Header header(int64_t revision);
  const quorate_host_metrics* metrics() const { return metrics_; }
  void count_health(bool healthy);
  void log(int32_t level, const std::string& text) const;

  // ---- called by the kernel on its threads
  static void on_done(void* sink, const quorate_completion* completions, size_t count);
  void post_watch(WatchSink* sink, const quorate_watch_item* items, size_t count);
  void post_piece(PieceSink* sink, const quorate_piece* piece);

 private:
  struct Mail {
    Completer* completer = nullptr;
    WatchSink* watch = nullptr;
    PieceSink* piece = nullptr;
    quorate_status code = 0;
    uint32_t kind = 0;
    SharedBuf bytes;
    std::unique_ptr<WatchBatch> batch;
  };
  struct Pending {
    Completer* who;
    quorate_call call;
    std::string_view request;
  };

  // Runs out when no leader was known for too long.
  class Leaderless final : public Timed {
   public:
    explicit Leaderless(Core& core) : core_(core) {}
    void expire() override { core_.end_leader_bound(); }

   private:
    Core& core_;
  };

  void deliver(Mail& mail);
  void note_leader();
  void end_leader_bound();
  void post(std::vector<Mail>& mails);
  void submit_pending();

  const quorate_services services_;
  const quorate_host* host_;
  const quorate_host_member* member_ = nullptr;
  const quorate_host_metrics* metrics_ = nullptr;
  quorate_metric* health_[2] = {};  // answers of /health: false, true
  quorate_member_info member_info_{};
  bool member_info_known_ = false;
  const Settings settings_;
  std::function<void(std::function<void()>)> post_;
  std::function<void(Time)> arm_;

  std::vector<Pending> pending_;
  std::vector<Pending> batch_;  // being submitted; `who` is null once withdrawn
  std::vector<quorate_submission> submissions_;
  std::vector<std::unique_ptr<schema::SegmentBuilder>> builders_;
  std::vector<Flushable*> dirty_;
  std::vector<Flushable*> flushing_;
  bool turn_end_scheduled_ = false;

  Time now_ = Clock::now();
  Time armed_ = Time::max();
  boost::intrusive::multiset<Timed, boost::intrusive::constant_time_size<false>> deadlines_;
  boost::intrusive::list<LeaderBound,
                         boost::intrusive::base_hook<boost::intrusive::list_base_hook<
                             boost::intrusive::link_mode<boost::intrusive::auto_unlink>,
                             boost::intrusive::tag<struct LeaderBoundTag>>>,
                         boost::intrusive::constant_time_size<false>>
      leader_bound_;
  Leaderless leaderless_{*this};  // in deadlines_ while no leader is known

  std::mutex mailbox_mutex_;
  std::vector<Mail> mailbox_;  // the one thing shared with kernel threads
  std::vector<Mail> taken_;
};

}  // namespace quorate::frontend_etcd
