// SPDX-License-Identifier: Apache-2.0
// One simulated machine and the server processes that run on it, one after the other: the real
// server over virtual time, its disk and its engines; the simulation is its front-end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "plugin/loader.h"
#include "server/server.h"
#include "sim/engines.h"
#include "sim/oracle.h"
#include "sim/report.h"
#include "sim/timers.h"
#include "support/sim_network.h"
#include "support/test_machine.h"
#include "support/test_plugin.h"

namespace quorate::sim {

// A call to a member. code: kUnknownOutcome also when the process died with it.
struct Call {
  uint64_t number = 0;
  uint64_t id = 0;  // the server's name for it; 0: it was not taken
  size_t member = 0;
  int completions = 0;
  Code code = Code::kOk;
  bool died = false;  // the process died before it answered
  Bytes response;     // an api.capnp Response
  uint64_t answered_ns = 0;
  std::function<void(const Call&)> done;
};

// Hears what one watch stream gets. It lives until ended().
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // False: BUSY, to be resumed later.
  virtual bool items(const quorate_watch_item* items, size_t count) = 0;
  // The process died, or the stream was closed: nothing more will come.
  virtual void ended() = 0;
};

class SimMember final : private server::ServerEvents, private server::ApplyObserver {
 public:
  struct Parts {
    test::TestEnv* world;
    test::SimNetwork* network;
    Timers* timers;
    Oracle* oracle;
    Verdicts* verdicts;
    const quorate_backend_factory* engine;
    bool durable_engine, engine_in_memory;
    std::string real_dir;  // of this machine's engines
    Logger logger;
  };
  SimMember(const Parts& parts, size_t number, uint64_t seed);
  ~SimMember() override;

  static std::string name_of(size_t number) { return "m" + std::to_string(number); }
  static std::string url_of(size_t number) { return "http://" + name_of(number) + ":1"; }

  // Starts a process. An error is a refusal that a fault may explain.
  Status start();
  // Its process ends: power loss (what was not synced may be gone, by the seed) or kill -9.
  void crash(uint64_t seed);
  void kill();
  // In good order. False: it did not end so.
  Status stop();

  bool runs() const { return server_ != nullptr; }
  bool is_ready() const { return runs() && ready_; }
  bool stopping() const { return stopping_; }
  // Why its process cannot go on; OK: it can.
  const Status& failure() const { return failure_; }
  // A fault was injected that may make this process fail, or the next one refuse to start.
  void expect_failure() { failure_expected_ = true; }
  // Until its disk has room again.
  void set_disk_full(bool full) { disk_full_ = full; }
  bool failure_expected() const { return failure_expected_ || disk_full_; }

  // Nothing is sent while no process runs: the call fails at once, later.
  std::shared_ptr<Call> call(const Bytes& request, uint64_t timeout_ms,
                             std::function<void(const Call&)> done);
  // Its caller does not want it any more; it is answered all the same, once.
  void cancel(const Call& call);
  // 0: no process runs, or it refused.
  uint64_t open_watch(WatchSink* sink);
  void add_watch(uint64_t stream, uint64_t watch, const Bytes& request);
  void progress(uint64_t stream) { services_->watch_progress(services_->ctx, stream); }
  void resume(uint64_t stream) { services_->watch_resume(services_->ctx, stream); }
  void close_watch(uint64_t stream);

  // The front-end's.
  void take_services(const quorate_services* services) { services_ = services; }

  const server::MemberState& state() const { return server_->state(); }
  server::Server& server() { return *server_; }
  size_t number() const { return number_; }
  // Its member id, once a process of it has known it; 0 before.
  uint64_t id() const { return id_; }
  // It is a joiner that has not been part of the cluster yet.
  bool is_joining() const { return config.initial_cluster_existing && !was_ready_; }
  bool starting() const { return starting_; }
  uint64_t process() const { return process_; }  // counts the starts
  size_t outstanding() const { return calls_.size(); }

  test::TestMachine machine;
  SimEngines engines;
  server::Config config;

 private:
  struct OpenWatch {
    SimMember* member;
    WatchSink* sink;
    uint64_t stream;
    bool ended = false;
  };
  void ready() override { ready_ = was_ready_ = true; }
  void failed(const Status& status) override;
  void removed() override {}
  server::ApplyObserver* apply_observer() override { return this; }
  void applied(const raft::Entry& entry, const Status& status, const mvcc::Store& store) override;
  void installed(const mvcc::Store& store) override;
  void process_ended();
  void finish(const std::shared_ptr<Call>& call);

  static void on_done(void* sink, const quorate_completion* items, size_t count);
  static quorate_status on_watch(void* user, const quorate_watch_item* items, size_t count);

  const Parts parts_;
  const size_t number_;
  const quorate_services* services_ = nullptr;
  std::unique_ptr<plugin::PluginLoader> loader_;
  std::unique_ptr<server::Server> server_;
  uint64_t process_ = 0;
  uint64_t id_ = 0;
  bool was_ready_ = false, starting_ = false;
  bool ready_ = false, stopping_ = false, dying_ = false;
  bool failure_expected_ = false, disk_full_ = false;
  Status failure_;
  std::map<uint64_t, std::shared_ptr<Call>> calls_;
  uint64_t next_call_ = 1;
  std::map<uint64_t, std::unique_ptr<OpenWatch>> watches_;
};

}  // namespace quorate::sim
