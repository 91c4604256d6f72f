// SPDX-License-Identifier: Apache-2.0
#include "wal/wal_loop.h"

#include <utility>

#include "base/check.h"

namespace quorate::wal {
namespace {

constexpr uint64_t kSpareRestNs = uint64_t{5} * 1'000'000'000;
// So long without an append is idleness. Short of it a mark would be overwritten before it reached
// the disk, and lone appends, one after the other, would pay for one each.
constexpr uint64_t kIdleNs = 50'000'000;

class SpareJob final : public Job {
 public:
  SpareJob(WalLoop* loop, FileSystem& files, std::string path, const Options& options)
      : loop_(loop), maker_(files, std::move(path), options.segment_bytes, options.sync) {}
  Next step() override {
    Result<std::optional<Spare>> spare = maker_.step();
    if (spare && !*spare) return Next::kMore;
    loop_->post(SpareMade{std::move(spare)});
    return Next::kDone;
  }

 private:
  WalLoop* const loop_;
  SpareMaker maker_;
};

class RetireJob final : public Job {
 public:
  RetireJob(WalLoop* loop, FileSystem& files, const Options& options, uint64_t number,
            std::string spare_path)
      : loop_(loop),
        files_(files),
        options_(options),
        number_(number),
        spare_path_(std::move(spare_path)) {}
  Next step() override {
    loop_->post(SegmentRetired{!spare_path_.empty(), retire(files_, options_.dir, number_,
                                                            spare_path_, options_.segment_bytes)});
    return Next::kDone;
  }

 private:
  WalLoop* const loop_;
  FileSystem& files_;
  const Options& options_;
  const uint64_t number_;
  const std::string spare_path_;
};

// Not in line with an append: the directory's sync costs more than a batch's.
class NameJob final : public Job {
 public:
  NameJob(WalLoop* loop, FileSystem& files, const Options& options, NextSegment next)
      : loop_(loop), files_(files), options_(options), next_(std::move(next)) {}
  Next step() override {
    loop_->post(
        SegmentNamed{next_.number, name_segment(files_, options_.dir, next_, options_.sync)});
    return Next::kDone;
  }

 private:
  WalLoop* const loop_;
  FileSystem& files_;
  const Options& options_;
  const NextSegment next_;
};

}  // namespace

WalLoop::WalLoop(Env& env, Executor* executor, Pool* pool, std::unique_ptr<Wal> wal, WalSink* sink,
                 WalObserver* observer, const Logger& logger)
    : Loop(executor),
      env_(env),
      pool_(pool),
      wal_(std::move(wal)),
      sink_(sink),
      observer_(observer),
      logger_(logger),
      mark_ns_(env.clock().now_ns() + kIdleNs) {
  wake();
}

WalLoop::~WalLoop() = default;

void WalLoop::on_turn(std::vector<WalEvent>& events) {
  if (failed_) return;
  for (WalEvent& event : events) std::visit([this](auto& e) { take(e); }, event);
  if (failed_) return;
  sync_and_tell();
  if (failed_) return;
  for (const HeadRequest& request : head_requests_) request.answer(wal_->head());
  head_requests_.clear();
  retire_next();
  name_next();
  make_spares();
  mark_if_idle(!events.empty());
}

void WalLoop::mark_if_idle(bool worked) {
  const uint64_t now = env_.clock().now_ns();
  if (worked) mark_ns_ = now + kIdleNs;
  if (mark_timer_ns_ <= now) mark_timer_ns_ = 0;
  if (mark_ns_ == 0) return;
  if (mark_ns_ <= now) {
    mark_ns_ = 0;
    if (const Status status = wal_->mark_end(); !status.ok()) fail(status);
  } else if (mark_timer_ns_ == 0) {
    mark_timer_ns_ = mark_ns_;
    wake_at(mark_timer_ns_);
  }
}

void WalLoop::take(raft::Append& append) {
  QUORATE_CHECK(!append.empty(), "an append without a sequence");
  raft::AppendDone done{append.sequence, append.term, {}, {}};
  if (!append.entries.empty()) done.last = append.entries.back().id();
  if (append.snapshot) done.snapshot = append.snapshot->id();
  done_.push_back(done);
  replies_.push_back(std::exchange(append.replies, {}));
  wal_->append(std::move(append));
}

void WalLoop::take(const ReleaseRequest& request) {
  for (uint64_t number : wal_->release(request.durable, request.needed))
    to_retire_.push_back(number);
}

void WalLoop::take(SpareMade& made) {
  --spares_in_making_;
  add_spare(made.spare);
}

void WalLoop::take(SegmentRetired& retired) {
  retiring_ = false;
  if (retired.for_reuse) --spares_in_making_;
  // A directory whose sync failed may have lost what a second one would report as durable.
  if (!retired.spare) return fail(std::move(retired.spare).error());
  to_retire_.pop_front();
  add_spare(retired.spare);
}

// A directory's sync that failed is final, even if the log has named the segment itself meanwhile.
void WalLoop::take(const SegmentNamed& named) {
  if (!named.status.ok()) return fail(named.status);
  wal_->next_named(named.number);
}

void WalLoop::add_spare(Result<std::optional<Spare>>& spare) {
  if (!spare) {
    logger_.warn(
        "no spare segment can be prepared: {}; the log goes on while those that are left "
        "last, and {} bytes more are needed then",
        spare.error().to_string(), wal_->options().segment_bytes);
    spares_rest_until_ns_ = env_.clock().now_ns() + kSpareRestNs;
    wake_at(spares_rest_until_ns_);
  } else if (*spare) {
    wal_->add_spare(std::move(**spare));
  }
}

void WalLoop::sync_and_tell() {
  if (wal_->has_queued()) {
    const uint64_t bytes_before = wal_->written_bytes();
    const uint64_t begin_ns = env_.clock().now_ns();
    if (const Status status = wal_->sync(); !status.ok()) return fail(status);
    if (observer_ != nullptr)
      observer_->wal_sync_observed(env_.clock().now_ns() - begin_ns,
                                   wal_->written_bytes() - bytes_before);
  }
  if (done_.empty()) return;
  const raft::Durable durable = wal_->durable();
  std::vector<raft::Message> replies;
  for (raft::HeldReplies& held : replies_)
    for (raft::Message& reply : std::move(held).release(durable))
      replies.push_back(std::move(reply));
  replies_.clear();
  sink_->wal_synced(durable, std::exchange(done_, {}), std::move(replies));
}

void WalLoop::make_spares() {
  if (env_.clock().now_ns() < spares_rest_until_ns_) return;
  while (wal_->spares() + spares_in_making_ < kSparesMade) {
    ++spares_in_making_;
    pool_->submit(
        std::make_unique<SpareJob>(this, env_.files(), wal_->next_spare_path(), wal_->options()));
  }
}

void WalLoop::name_next() {
  if (std::optional<NextSegment> next = wal_->name_next())
    pool_->submit(std::make_unique<NameJob>(this, env_.files(), wal_->options(), std::move(*next)));
}

void WalLoop::retire_next() {
  if (retiring_ || to_retire_.empty()) return;
  retiring_ = true;
  const bool reuse = wal_->spares() + spares_in_making_ < kSparesMax;
  if (reuse) ++spares_in_making_;
  pool_->submit(std::make_unique<RetireJob>(this, env_.files(), wal_->options(), to_retire_.front(),
                                            reuse ? wal_->next_spare_path() : std::string()));
}

void WalLoop::fail(const Status& status) {
  if (failed_) return;
  failed_ = true;
  failure_ = status;
  done_.clear();
  replies_.clear();
  sink_->wal_failed(status);
}

Status WalLoop::close() {
  return failed_ ? failure_ : wal_->close();
}

}  // namespace quorate::wal
