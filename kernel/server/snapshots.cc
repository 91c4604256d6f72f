// SPDX-License-Identifier: Apache-2.0
#include "server/snapshots.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cluster/member.h"

namespace quorate::server {
namespace {

constexpr uint64_t kLookNs = 100'000'000;

// Deletes a snapshot that was received and that raft did not want.
class DiscardJob final : public Job {
 public:
  DiscardJob(FileSystem* files, std::string data_dir, Logger logger,
             std::shared_ptr<IncomingSnapshot> incoming)
      : files_(files),
        data_dir_(std::move(data_dir)),
        logger_(logger),
        incoming_(std::move(incoming)) {}
  Next step() override {
    if (Status status = storage::discard_complete(*files_, data_dir_); !status.ok())
      logger_.warn("an unwanted snapshot was not deleted: {}", status.to_string());
    incoming_->release();
    return Next::kDone;
  }

 private:
  FileSystem* const files_;
  const std::string data_dir_;
  const Logger logger_;
  const std::shared_ptr<IncomingSnapshot> incoming_;
};

}  // namespace

Snapshots::Snapshots(Executor* executor, const Parts& parts)
    : Loop(executor),
      parts_(parts),
      incoming_(
          std::make_shared<IncomingSnapshot>(IncomingSnapshot::Parts{.files = &parts.env->files(),
                                                                     .pool = parts.pool,
                                                                     .inbox = &inbox_,
                                                                     .output = parts.output,
                                                                     .store = parts.store,
                                                                     .logger = parts.logger})) {}

Snapshots::~Snapshots() = default;

void Snapshots::set_transport(plugin::Transport* transport) {
  transport_ = transport;
  incoming_->set_transport(transport);
}

// ---------------------------------------------------------------- sent

void Snapshots::send(const raft::Message& request) {
  asked_.fetch_add(1, std::memory_order_acq_rel);
  post(SendSnapshot{request});
}

raft::Index Snapshots::needed() const {
  // What is asked for and not yet opened will stand at the engine's index of then: nothing goes.
  if (asked_.load(std::memory_order_acquire) != 0) return 0;
  return needed_.load(std::memory_order_acquire);
}

void Snapshots::on_turn(std::vector<SnapshotEvent>& events) {
  for (SnapshotEvent& event : events) std::visit([this](auto& news) { take(news); }, event);
  look_after(parts_.env->clock().now_ns());
}

void Snapshots::take(SendSnapshot& event) {
  // An older one to the same peer was asked for in another term, and raft has forgotten it.
  for (const auto& [key, snapshot] : outgoing_)
    if (snapshot->to() == event.request.to) snapshot->give_up(Code::kCancelled);
  auto snapshot =
      std::make_shared<OutgoingSnapshot>(OutgoingSnapshot::Parts{.clock = &parts_.env->clock(),
                                                                 .pool = parts_.pool,
                                                                 .transport = transport_,
                                                                 .state = parts_.state,
                                                                 .source = parts_.source,
                                                                 .owner = this,
                                                                 .logger = parts_.logger},
                                         event.request);
  outgoing_.emplace(snapshot.get(), snapshot);
  needed_.store(0, std::memory_order_release);
  asked_.fetch_sub(1, std::memory_order_acq_rel);
  snapshot->kick();
}

void Snapshots::outgoing_ended(OutgoingSnapshot* snapshot, Code verdict) {
  post(OutgoingEnded{snapshot, verdict});
}

void Snapshots::take(OutgoingEnded& event) {
  const auto ended = outgoing_.extract(event.snapshot);
  if (ended.empty()) return;
  const raft::NodeId to = ended.mapped()->to();
  const bool ok = event.verdict == Code::kOk;
  if (ok) {
    kept_.push_back(
        {ended.mapped()->index(), parts_.env->clock().now_ns() + kLogKeptAfterSnapshotNs});
  } else {
    parts_.logger.warn("the snapshot for {} failed ({})", cluster::id_text(to),
                       code_name(event.verdict));
  }
  const bool superseded = std::any_of(outgoing_.begin(), outgoing_.end(),
                                      [&](const auto& other) { return other.second->to() == to; });
  if (!superseded) parts_.output->snapshot_sent(to, ok);
}

// What is needed of the log, and whom to look after.
void Snapshots::look_after(uint64_t now_ns) {
  std::erase_if(kept_, [now_ns](const Kept& kept) { return kept.until_ns <= now_ns; });
  raft::Index needed = UINT64_MAX;
  for (const Kept& kept : kept_) needed = std::min(needed, kept.index);
  for (const auto& [key, snapshot] : outgoing_) needed = std::min(needed, snapshot->index());
  needed_.store(needed, std::memory_order_release);
  if (look_ns_ != 0 && now_ns < look_ns_) return;
  for (const auto& [key, snapshot] : outgoing_) snapshot->look(now_ns);
  look_ns_ = outgoing_.empty() && kept_.empty() ? 0 : now_ns + kLookNs;
  if (look_ns_ != 0) wake_at(look_ns_);
}

void Snapshots::on_stream(void* user, uint32_t event, quorate_status code) {
  static_cast<OutgoingSnapshot*>(user)->on_stream(event, static_cast<Code>(code));
}

// ---------------------------------------------------------------- received

Status Snapshots::check(uint64_t from, const SnapshotHead& head) const {
  const MemberState& state = *parts_.state;
  if (head.cluster_id != state.cluster_id)
    return Status(Code::kClusterIdMismatch,
                  "it is of cluster " + cluster::id_text(head.cluster_id) + ", this member of " +
                      cluster::id_text(state.cluster_id));
  if (head.from != from || head.to != state.member_id)
    return Status(Code::kInvalidArgument, "it is meant for " + cluster::id_text(head.to) +
                                              " and of " + cluster::id_text(head.from));
  if (const uint64_t term = state.term.load(std::memory_order_relaxed); head.term < term)
    return Status(Code::kUnavailable, "it is of term " + std::to_string(head.term) +
                                          ", and the term is " + std::to_string(term));
  if (head.applied.entry.term > head.term)
    return Status(Code::kInvalidArgument,
                  "it ends with an entry of term " + std::to_string(head.applied.entry.term) +
                      ", which is beyond its leader's, " + std::to_string(head.term));
  const uint64_t here = std::max(state.applied.load(std::memory_order_relaxed),
                                 state.commit.load(std::memory_order_relaxed));
  if (head.applied.entry.index <= here)
    return Status(Code::kInvalidArgument, "it stands at index " +
                                              std::to_string(head.applied.entry.index) +
                                              ", and this member is at " + std::to_string(here));
  return Status();
}

quorate_status Snapshots::begin(uint64_t stream, uint64_t from, Slice meta) {
  const Result<SnapshotHead> head = decode_snapshot_head(meta);
  Status status = head ? check(from, *head) : head.status();
  if (!status.ok()) {
    parts_.logger.warn("refused a snapshot of {}: {}", cluster::id_text(from), status.to_string());
    return static_cast<quorate_status>(status.code());
  }
  const Code code = inbox_.begin(stream, *head);
  if (code == Code::kUnavailable) {
    parts_.logger.warn("refused a snapshot of {}: another is being received or installed",
                       cluster::id_text(from));
  } else if (code != Code::kStopped) {
    incoming_->kick();
  }
  return static_cast<quorate_status>(code);
}

quorate_status Snapshots::block(uint64_t stream, Slice block) {
  const Code code = inbox_.push(stream, block);
  if (code == Code::kOk) incoming_->kick();
  return static_cast<quorate_status>(code);
}

void Snapshots::end(uint64_t stream, quorate_status sender) {
  const auto code = static_cast<Code>(sender);
  if (inbox_.end(stream, code)) return incoming_->kick();
  // Not from inside this call.
  post(StreamRefused{stream, code == Code::kOk ? Code::kCancelled : code});
}

void Snapshots::take(StreamRefused& event) {
  transport_->on_snapshot(event.stream, QUORATE_STREAM_DONE, event.code);
}

void Snapshots::stepped(bool taken) {
  if (taken) return;
  parts_.logger.warn("raft did not take the snapshot that was received; it is deleted");
  parts_.pool->submit(std::make_unique<DiscardJob>(&parts_.env->files(), parts_.store.data_dir,
                                                   parts_.logger, incoming_));
}

void Snapshots::installed() {
  incoming_->release();
}

// ---------------------------------------------------------------- the end

void Snapshots::stop() {
  inbox_.close();
  incoming_->end_now();
  for (const auto& [key, snapshot] : outgoing_) snapshot->end_now();
}

}  // namespace quorate::server
