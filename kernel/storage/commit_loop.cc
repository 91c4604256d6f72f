// SPDX-License-Identifier: Apache-2.0
#include "storage/commit_loop.h"

#include <algorithm>

namespace quorate::storage {

CommitLoop::CommitLoop(Executor* executor, Clock* clock, CommitSink* sink,
                       std::shared_ptr<Engine> engine, raft::Index durable, Logger logger)
    : Loop(executor),
      clock_(clock),
      sink_(sink),
      engine_(std::move(engine)),
      logger_(logger.named("commit")) {
  last_.epoch = engine_->epoch();
  last_.applied = last_.durable = durable;
}

void CommitLoop::on_turn(std::vector<CommitEvent>& events) {
  for (CommitEvent& event : events) {
    if (failed_) return;
    if (event.buffer != nullptr) {
      write(*event.buffer);
    } else if (event.next != nullptr) {
      take(*event.next);
    } else {
      advance_durable(event.checkpoint);
    }
  }
}

void CommitLoop::write(const FrozenBuffer& buffer) {
  if (buffer.epoch() != engine_->epoch()) return;  // of an engine that a switch has replaced
  const uint64_t started = clock_->now_ns();
  if (Status status = engine_->write(buffer.ops(), buffer.batch()); !status.ok()) {
    return fail(
        std::move(status),
        "the storage engine refused a batch, so this member stops; nothing acknowledged is lost");
  }
  sink_->commit_took(clock_->now_ns() - started);
  last_.batch = buffer.batch();
  last_.applied = buffer.applied().entry.index;
  if (engine_->durable()) last_.durable = last_.applied;
  sink_->commit_done(last_);
}

void CommitLoop::fail(Status status, const char* what) {
  failed_ = true;
  status = std::move(status).with_context(what);
  logger_.error("{}", status.to_string());
  sink_->engine_failed(status);
}

void CommitLoop::take(EngineSwitch& next) {
  if (Status status = next.make_current(); !status.ok()) {
    return fail(std::move(status),
                "the engine that a snapshot filled cannot be made the live one, so this member "
                "stops; a restart goes on from there");
  }
  engine_ = std::move(next.engine);
  last_ = {engine_->epoch(), engine_->written_batch(), next.applied, next.applied};
  sink_->engine_switched(engine_);
  sink_->commit_done(last_);
}

void CommitLoop::advance_durable(raft::Index index) {
  if (index <= last_.durable) return;
  last_.durable = index;
  sink_->commit_done(last_);
}

}  // namespace quorate::storage
