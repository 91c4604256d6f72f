// SPDX-License-Identifier: Apache-2.0
#include "frontend_etcd/core.h"

#include <algorithm>
#include <utility>

namespace quorate::frontend_etcd {
namespace {

template <typename Extension>
const Extension* extension(const quorate_host* host, const char* id) {
  if (host == nullptr || host->get_extension == nullptr) return nullptr;
  return static_cast<const Extension*>(host->get_extension(host->ctx, id));
}

}  // namespace

Core::Core(const quorate_services& services, const quorate_host* host, Settings settings)
    : services_(services),
      host_(host),
      member_(extension<quorate_host_member>(host, QUORATE_HOST_MEMBER)),
      metrics_(extension<quorate_host_metrics>(host, QUORATE_HOST_METRICS)),
      settings_(std::move(settings)) {
  if (metrics_ == nullptr) return;
  const auto counter = [this](const char* name, const char* help) {
    return metrics_->define(metrics_->ctx, QUORATE_METRIC_COUNTER, name, "", help, nullptr, 0);
  };
  health_[0] = counter("etcd_server_health_failures", "Answers of /health that were false.");
  health_[1] = counter("etcd_server_health_success", "Answers of /health that were true.");
}

Core::~Core() = default;

void Core::bind(std::function<void(std::function<void()>)> post, std::function<void(Time)> arm) {
  post_ = std::move(post);
  arm_ = std::move(arm);
}

void Core::submit(Completer* who, const quorate_call& call, std::string_view request) {
  pending_.push_back({who, call, request});
  schedule_turn_end();
}

void Core::withdraw(Completer* who) {
  const auto found = std::find_if(pending_.begin(), pending_.end(),
                                  [who](const Pending& one) { return one.who == who; });
  if (found != pending_.end()) pending_.erase(found);
  for (Pending& one : batch_)
    if (one.who == who) one.who = nullptr;
}

std::unique_ptr<schema::SegmentBuilder> Core::borrow_builder() {
  if (builders_.empty()) return std::make_unique<schema::SegmentBuilder>();
  auto builder = std::move(builders_.back());
  builders_.pop_back();
  return builder;
}

void Core::give_back(std::unique_ptr<schema::SegmentBuilder> builder, size_t used) {
  if (builder != nullptr && used <= 64 * 1024 && builders_.size() < 1024)
    builders_.push_back(std::move(builder));
}

void Core::mark_dirty(Flushable* connection) {
  if (std::exchange(connection->dirty_, true)) return;
  dirty_.push_back(connection);
  schedule_turn_end();
}

void Core::forget(Flushable* connection) {
  std::erase(dirty_, connection);
  std::replace(flushing_.begin(), flushing_.end(), connection, static_cast<Flushable*>(nullptr));
}

void Core::schedule_turn_end() {
  if (std::exchange(turn_end_scheduled_, true)) return;
  post_([this] { end_turn(); });
}

void Core::end_turn() {
  member_info_known_ = false;
  turn_end_scheduled_ = false;
  submit_pending();
  flushing_.swap(dirty_);
  for (size_t i = 0; i < flushing_.size(); ++i) {
    if (flushing_[i] == nullptr) continue;
    flushing_[i]->dirty_ = false;
    flushing_[i]->flush();
  }
  flushing_.clear();
}

void Core::submit_pending() {
  // complete() of a refused call may submit the next; those are another batch.
  while (!pending_.empty()) {
    batch_.swap(pending_);
    submissions_.clear();
    for (const Pending& one : batch_)
      submissions_.push_back({&one.call, sdk::slice(one.request), one.who, 0, QUORATE_OK});
    services_.submit_batch(services_.ctx, &Core::on_done, this, submissions_.data(),
                           sizeof(quorate_submission), submissions_.size());
    for (size_t i = 0; i < batch_.size(); ++i)
      if (submissions_[i].status == QUORATE_OK) batch_[i].who->submitted(submissions_[i].call_id);
    for (size_t i = 0; i < batch_.size(); ++i)
      if (submissions_[i].status != QUORATE_OK && batch_[i].who != nullptr)
        batch_[i].who->complete(submissions_[i].status, SharedBuf());
    batch_.clear();
  }
}

void Core::drain() {
  update_now();
  member_info_known_ = false;
  {
    const std::lock_guard lock(mailbox_mutex_);
    taken_.swap(mailbox_);
  }
  for (Mail& mail : taken_) deliver(mail);
  taken_.clear();
  end_turn();
}

void Core::deliver(Mail& mail) {
  if (mail.completer != nullptr) mail.completer->complete(mail.code, mail.bytes);
  if (mail.watch != nullptr) mail.watch->on_watch(*mail.batch);
  if (mail.piece != nullptr) mail.piece->on_piece(mail.kind, mail.code, mail.bytes);
  mail = {};
}

void Core::set_deadline(Timed* what, Time at) {
  what->deadline_ = at;
  deadlines_.insert(*what);
  if (at < armed_) arm_(armed_ = at);
}

void Core::expire_due(Time now) {
  now_ = now;
  armed_ = Time::max();
  while (!deadlines_.empty() && deadlines_.begin()->deadline_ <= now_) {
    Timed& due = *deadlines_.begin();
    due.unlink();
    due.expire();
  }
  if (!deadlines_.empty()) arm_(armed_ = deadlines_.begin()->deadline_);
}

void Core::follow_member() {
  if (member_ == nullptr || member_->subscribe == nullptr) return;
  const auto on_change = [](void* user) {
    auto* core = static_cast<Core*>(user);
    core->post_([core] { core->note_leader(); });
  };
  member_->subscribe(member_->ctx, on_change, this);
  on_change(this);  // what changed before is told to nobody
}

void Core::note_leader() {
  update_now();
  member_info_known_ = false;
  const bool known = member().leader_id != 0;
  if (known && leaderless_.is_linked()) leaderless_.unlink();
  if (!known && !leaderless_.is_linked())
    set_deadline(&leaderless_, now_ + kLeaderlessElections * settings_.election_timeout);
}

void Core::end_leader_bound() {
  while (!leader_bound_.empty()) {
    LeaderBound& stream = leader_bound_.front();
    leader_bound_.pop_front();
    stream.leader_lost();
  }
}

RpcError Core::refusal(uint32_t call_flags, bool learner_serves) {
  if (member_ == nullptr) return {};
  const quorate_member_info& info = member();
  if (!learner_serves && (info.flags & QUORATE_MEMBER_LEARNER) != 0)
    return rpc_error(QUORATE_NOT_SUPPORTED_FOR_LEARNER);
  if ((call_flags & QUORATE_CALL_HAS_LEADER) != 0 && info.leader_id == 0)
    return rpc_error(QUORATE_NO_LEADER);
  return {};
}

const quorate_member_info& Core::member() {
  if (std::exchange(member_info_known_, true)) return member_info_;
  member_info_ = {};
  member_info_.struct_size = sizeof member_info_;
  if (member_ != nullptr) member_->read(member_->ctx, &member_info_);
  return member_info_;
}

Header Core::header(int64_t revision) {
  const quorate_member_info& info = member();
  return {info.cluster_id, info.member_id, revision, info.term};
}

void Core::count_health(bool healthy) {
  if (health_[healthy] != nullptr) metrics_->record(health_[healthy], 1);
}

void Core::log(int32_t level, const std::string& text) const {
  if (host_ != nullptr && host_->log != nullptr)
    host_->log(host_->ctx, level, "frontend_etcd", sdk::slice(text));
}

void Core::on_done(void* sink, const quorate_completion* completions, size_t count) {
  std::vector<Mail> mails(count);
  for (size_t i = 0; i < count; ++i) {
    mails[i].completer = static_cast<Completer*>(completions[i].user);
    mails[i].code = completions[i].code;
    mails[i].bytes = SharedBuf(completions[i].response);
  }
  static_cast<Core*>(sink)->post(mails);
}

void Core::post_watch(WatchSink* sink, const quorate_watch_item* items, size_t count) {
  auto batch = std::make_unique<WatchBatch>();
  batch->items.assign(items, items + count);
  size_t events = 0;
  for (size_t i = 0; i < count; ++i) events += items[i].event_count;
  batch->events.reserve(events);
  for (size_t i = 0; i < count; ++i)
    for (uint32_t k = 0; k < items[i].event_count; ++k)
      batch->events.emplace_back(items[i].events[k]);
  std::vector<Mail> mails(1);
  mails[0].watch = sink;
  mails[0].batch = std::move(batch);
  post(mails);
}

void Core::post_piece(PieceSink* sink, const quorate_piece* piece) {
  std::vector<Mail> mails(1);
  mails[0].piece = sink;
  mails[0].kind = piece->kind;
  mails[0].code = piece->code;
  mails[0].bytes = SharedBuf(piece->bytes);
  post(mails);
}

void Core::post(std::vector<Mail>& mails) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mailbox_mutex_);
    was_empty = mailbox_.empty();
    if (was_empty && mailbox_.capacity() < mails.size()) {
      mailbox_.swap(mails);
    } else {
      std::move(mails.begin(), mails.end(), std::back_inserter(mailbox_));
    }
  }
  // Whoever finds it empty wakes the I/O thread; the others' mail is taken with it.
  if (was_empty) post_([this] { drain(); });
}

}  // namespace quorate::frontend_etcd
