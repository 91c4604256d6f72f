// SPDX-License-Identifier: Apache-2.0
#include "server/outgoing_snapshot.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cluster/member.h"
#include "server/snapshot_head.h"

namespace quorate::server {
namespace {

bool is_member(const raft::ConfState& state, raft::NodeId node) {
  for (const auto* nodes : {&state.voters, &state.learners, &state.voters_outgoing}) {
    if (std::find(nodes->begin(), nodes->end(), node) != nodes->end()) return true;
  }
  return false;
}

}  // namespace

class OutgoingJob final : public Job {
 public:
  explicit OutgoingJob(std::shared_ptr<OutgoingSnapshot> snapshot)
      : snapshot_(std::move(snapshot)) {}
  Next step() override {
    const uint32_t seen = snapshot_->signals_.load(std::memory_order_acquire);
    if (snapshot_->work()) return Next::kMore;
    // News that came while it worked were counted on top of `seen`, and must not be slept through.
    return snapshot_->signals_.fetch_sub(seen, std::memory_order_acq_rel) == seen ? Next::kDone
                                                                                  : Next::kMore;
  }

 private:
  const std::shared_ptr<OutgoingSnapshot> snapshot_;
};

OutgoingSnapshot::OutgoingSnapshot(const Parts& parts, const raft::Message& request)
    : parts_(parts),
      to_(request.to),
      term_(request.term),
      progress_ns_(parts.clock->now_ns()),
      started_ns_(parts.clock->now_ns()) {}

void OutgoingSnapshot::kick() {
  if (signals_.fetch_add(1, std::memory_order_acq_rel) == 0)
    parts_.pool->submit(std::make_unique<OutgoingJob>(shared_from_this()));
}

void OutgoingSnapshot::on_stream(uint32_t event, Code code) {
  if (event == QUORATE_STREAM_DONE) return parts_.owner->outgoing_ended(this, code);
  progressed();
  kick();
}

void OutgoingSnapshot::look(uint64_t now_ns) {
  if (waits_for_member_.load(std::memory_order_relaxed)) return kick();
  if (now_ns > progress_ns_.load(std::memory_order_relaxed) + kSnapshotStallNs)
    give_up(Code::kTimeout);
}

void OutgoingSnapshot::give_up(Code code) {
  int32_t wanted = 0;
  if (given_up_.compare_exchange_strong(wanted, static_cast<int32_t>(code))) kick();
}

bool OutgoingSnapshot::work() {
  if (finished_) return false;
  if (const int32_t code = given_up_.load(std::memory_order_acquire); code != 0)
    return finish(static_cast<Code>(code));
  Result<bool> goes_on = stream_ == nullptr ? open() : send_block();
  if (goes_on) return *goes_on;
  parts_.logger.warn("the snapshot for {} was not sent: {}", cluster::id_text(to_),
                     goes_on.error().to_string());
  return finish(goes_on.error().code());
}

// False: the engine has not got as far as the peer's addition. Raft there would refuse a snapshot
// in which it is no member.
Result<bool> OutgoingSnapshot::open() {
  const std::shared_ptr<const storage::ReadView> now = parts_.source.stores->get()->views.get();
  Result<storage::EngineView> view = now->engine->view(now->engine_batch);
  if (!view) return std::move(view).error();
  Result<storage::SnapshotWriter> writer = storage::SnapshotWriter::open(*std::move(view));
  if (!writer) return std::move(writer).error();
  const storage::Applied& applied = writer->applied();
  if (applied.entry.index == 0 || !is_member(applied.conf_state, to_)) {
    waits_for_member_.store(true, std::memory_order_relaxed);
    if (parts_.clock->now_ns() < started_ns_ + kSnapshotMemberWaitNs) return false;
    return Status(Code::kTimeout, "the store does not know that member yet");
  }
  waits_for_member_.store(false, std::memory_order_relaxed);
  // Its receiver would hold entries of a term that it has not heard of.
  if (applied.entry.term > term_)
    return Status(Code::kUnavailable, "this member was deposed since it was asked for one");
  SnapshotHead head{parts_.state->cluster_id, parts_.state->member_id, to_, term_, 0, applied};
  if (const Result<quorate_backend_stats> stats = now->engine->backend().stats())
    head.store_bytes = stats->size_in_use;
  index_.store(applied.entry.index, std::memory_order_release);
  const Bytes meta = Bytes::take(encode_snapshot_head(head));
  Result<quorate_stream*> stream = parts_.transport->stream_open(to_, meta.lend(), this);
  if (!stream) return std::move(stream).error();
  stream_ = *stream;
  writer_.emplace(*std::move(writer));
  progressed();
  parts_.logger.info("sending a snapshot at index {} to {}", applied.entry.index,
                     cluster::id_text(to_));
  return true;
}

Result<bool> OutgoingSnapshot::send_block() {
  if (block_.empty()) {
    std::string block;
    Result<bool> more = writer_->next(block);
    if (!more) return more;
    more_ = *more;
    block_ = Bytes::take(std::move(block));
  }
  const Code code = parts_.transport->stream_write(stream_, block_.lend());
  if (code == Code::kBusy) return false;
  if (code != Code::kOk) return Status(code, "the stream broke");
  bytes_ += block_.size();
  block_ = Bytes();
  progressed();
  if (more_) return true;
  parts_.logger.info("the snapshot for {} is sent: {} bytes", cluster::id_text(to_), bytes_);
  return finish(Code::kOk);
}

bool OutgoingSnapshot::finish(Code code) {
  finished_ = true;
  writer_.reset();
  block_ = Bytes();
  if (stream_ != nullptr) {
    parts_.transport->stream_finish(stream_, code);
  } else {
    parts_.owner->outgoing_ended(this, code);
  }
  return false;
}

void OutgoingSnapshot::end_now() {
  if (!finished_) finish(Code::kStopped);
}

}  // namespace quorate::server
