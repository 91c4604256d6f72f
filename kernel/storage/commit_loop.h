// SPDX-License-Identifier: Apache-2.0
// The only writer of the live engine. It takes frozen buffers, writes each as one batch and says
// so; when the engine refuses, the member must stop, since apply has gone on beyond what is
// durable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/log.h"
#include "env/env.h"
#include "env/loop.h"
#include "storage/engine.h"
#include "storage/write_buffer.h"

namespace quorate::storage {

struct CommitDone {
  uint64_t epoch = 0;  // of the engine; a receiver drops one that is not its own
  uint64_t batch = 0;
  raft::Index applied = 0;  // in the engine
  raft::Index durable = 0;  // survives a crash: the WAL may be released up to here
};

// Called on the commit loop; must only post.
class CommitSink {
 public:
  virtual ~CommitSink() = default;
  virtual void commit_done(const CommitDone& done) = 0;
  // How long one write() took (the metric of backend commits).
  virtual void commit_took(uint64_t /*ns*/) {}
  // From here on `engine` is the one that is written; commit_done() of its epoch follows.
  virtual void engine_switched(const std::shared_ptr<Engine>& /*engine*/) {}
  // The engine failed: nothing is written any more. Called once.
  virtual void engine_failed(const Status& status) = 0;
};

// To another generation.
struct EngineSwitch {
  std::shared_ptr<Engine> engine;  // of a later epoch; its content is durable
  raft::Index applied = 0;         // in it
  // Makes CURRENT name it, durably. Blocks on disk.
  std::function<Status()> make_current;
};

struct CommitEvent {
  std::unique_ptr<FrozenBuffer> buffer;
  std::unique_ptr<EngineSwitch> next;  // or neither: a checkpoint is complete
  raft::Index checkpoint = 0;
};

class CommitLoop final : public Loop<CommitEvent> {
 public:
  // durable: the index that a crash now would come back with. All pointers outlive the loop.
  CommitLoop(Executor* executor, Clock* clock, CommitSink* sink, std::shared_ptr<Engine> engine,
             raft::Index durable, Logger logger = {});

  // Writes `buffer`, in the order of the calls. [any thread]
  void commit(std::unique_ptr<FrozenBuffer> buffer) { post({std::move(buffer), nullptr, 0}); }
  // A checkpoint that holds everything up to `index` is complete and synced: that index is durable
  // (engines that are not durable by themselves). [any thread]
  void checkpointed(raft::Index index) { post({nullptr, nullptr, index}); }
  // Behind everything that was given to it before. Buffers of the old epoch that come later are
  // dropped. [any thread]
  void switch_to(EngineSwitch next) {
    post({nullptr, std::make_unique<EngineSwitch>(std::move(next)), 0});
  }

 private:
  void on_turn(std::vector<CommitEvent>& events) override;
  void write(const FrozenBuffer& buffer);
  void advance_durable(raft::Index index);
  void take(EngineSwitch& next);
  void fail(Status status, const char* what);

  Clock* const clock_;
  CommitSink* const sink_;
  std::shared_ptr<Engine> engine_;
  const Logger logger_;
  CommitDone last_;
  bool failed_ = false;
};

}  // namespace quorate::storage
