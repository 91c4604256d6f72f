// SPDX-License-Identifier: Apache-2.0
#include "server/incoming_snapshot.h"

#include <string>
#include <utility>

#include "cluster/member.h"

namespace quorate::server {
namespace {

constexpr uint64_t kSpareBytes = 16 << 20;

}  // namespace

class IncomingJob final : public Job {
 public:
  explicit IncomingJob(std::shared_ptr<IncomingSnapshot> incoming)
      : incoming_(std::move(incoming)) {}
  Next step() override {
    const uint32_t seen = incoming_->signals_.load(std::memory_order_acquire);
    if (incoming_->work()) return Next::kMore;
    // News that came while it worked were counted on top of `seen`, and must not be slept through.
    return incoming_->signals_.fetch_sub(seen, std::memory_order_acq_rel) == seen ? Next::kDone
                                                                                  : Next::kMore;
  }

 private:
  const std::shared_ptr<IncomingSnapshot> incoming_;
};

void IncomingSnapshot::kick() {
  if (signals_.fetch_add(1, std::memory_order_acq_rel) == 0)
    parts_.pool->submit(std::make_unique<IncomingJob>(shared_from_this()));
}

bool IncomingSnapshot::work() {
  const SnapshotInbox::Taken taken = parts_.inbox->take();
  if (!taken.open) return false;
  if (!running_) start();
  if (taken.was_full) transport_->on_snapshot(stream_, QUORATE_STREAM_READY, Code::kOk);
  if (taken.given_up) return give_up(taken.ended);
  if (failure_.ok() && import_ == nullptr) fail(begin());
  if (failure_.ok()) fail(take_in(taken.blocks));
  if (!taken.ended) return !taken.blocks.empty();
  if (failure_.ok() && taken.sender == Code::kOk) return finish();
  parts_.logger.warn("the snapshot of {} came to nothing ({})", cluster::id_text(head_.from),
                     failure_.ok() ? code_name(taken.sender) : code_name(failure_.code()));
  judge(failure_.ok() ? taken.sender : failure_.code());
  return false;
}

void IncomingSnapshot::start() {
  running_ = true;
  stream_ = parts_.inbox->stream();
  head_ = parts_.inbox->head();
  failure_ = Status();
  parts_.logger.info("receiving a snapshot at index {}, of {} bytes or so, from {}",
                     head_.applied.entry.index, head_.store_bytes, cluster::id_text(head_.from));
}

Status IncomingSnapshot::begin() {
  QUORATE_TRY(check_space());
  Result<std::unique_ptr<storage::GenerationImport>> import =
      storage::GenerationImport::begin(*parts_.files, parts_.store);
  if (!import) return std::move(import).error();
  import_ = *std::move(import);
  return Status();
}

Status IncomingSnapshot::check_space() const {
  const Result<uint64_t> free = parts_.files->free_bytes(parts_.store.data_dir);
  if (!free) return free.error();
  const uint64_t wanted = head_.store_bytes + head_.store_bytes / 4 + kSpareBytes;
  if (*free >= wanted) return Status();
  return Status(Code::kNoSpace,
                "a snapshot needs room for a second store: " + std::to_string(wanted) +
                    " bytes, and the disk of " + parts_.store.data_dir + " has " +
                    std::to_string(*free) + "; make room, this member catches up then");
}

Status IncomingSnapshot::take_in(const std::vector<Bytes>& blocks) {
  if (blocks.empty()) return Status();
  piece_.clear();
  for (const Bytes& block : blocks) piece_.append(block.slice());
  return import_->feed(piece_);
}

void IncomingSnapshot::fail(Status status) {
  if (status.ok()) return;
  parts_.logger.error("a snapshot cannot be taken in: {}", status.to_string());
  failure_ = std::move(status);
  import_.reset();
  parts_.inbox->fail(failure_.code());
}

// True: there is more to do.
bool IncomingSnapshot::finish() {
  Result<bool> complete = import_->finish_some();
  if (complete && !*complete) return true;
  if (complete && import_->applied() != head_.applied) {
    complete = Status(Code::kCorrupt, "a snapshot stream held something else than its head said");
  }
  if (!complete) {
    fail(std::move(complete).error());
    judge(failure_.code());
    return false;
  }
  import_.reset();
  if (!parts_.inbox->hold()) return give_up(true);
  running_ = false;
  raft::Message message;
  message.type = raft::MessageType::kMsgSnap;
  message.from = head_.from;
  message.to = head_.to;
  message.term = head_.term;
  message.snapshot = raft::SnapshotMeta{head_.applied.entry.index, head_.applied.entry.term,
                                        head_.applied.conf_state};
  parts_.output->snapshot_received(std::move(message));
  transport_->on_snapshot(stream_, QUORATE_STREAM_DONE, Code::kOk);
  return false;
}

// judged_here: its end came, and waits for a verdict.
bool IncomingSnapshot::give_up(bool judged_here) {
  parts_.logger.info("a newer snapshot takes the place of the one that {} was sending",
                     cluster::id_text(head_.from));
  if (judged_here) {
    judge(Code::kCancelled);
  } else {
    import_.reset();
    running_ = false;
    release();
  }
  return false;
}

void IncomingSnapshot::judge(Code code) {
  import_.reset();
  running_ = false;
  const uint64_t stream = stream_;
  release();
  transport_->on_snapshot(stream, QUORATE_STREAM_DONE, code);
}

void IncomingSnapshot::release() {
  if (const uint64_t waiting = parts_.inbox->release(); waiting != 0)
    transport_->on_snapshot(waiting, QUORATE_STREAM_READY, Code::kOk);
}

void IncomingSnapshot::end_now() {
  const SnapshotInbox::Taken taken = parts_.inbox->take();
  import_.reset();
  if (taken.open && taken.ended && transport_ != nullptr)
    transport_->on_snapshot(parts_.inbox->stream(), QUORATE_STREAM_DONE, Code::kStopped);
}

}  // namespace quorate::server
