// SPDX-License-Identifier: Apache-2.0
#include "transport_tcp/calls.h"

#include <algorithm>

namespace quorate::transport_tcp {
namespace {

constexpr size_t kOutstandingMax = 4096;  // of one target
constexpr std::chrono::seconds kRestTime{60};
constexpr milliseconds kTimeoutMax{24 * 3600 * 1000};

}  // namespace

class Calls::Target final : public Link {
 public:
  Target(Core& core, Calls& calls, Key key) : Link(core), calls_(calls), key_(std::move(key)) {}
  ~Target() override { answer_all(); }

  void ask(uint64_t id, Question question, Addresses addresses) {
    if (outstanding_.size() >= kOutstandingMax) return question.answer(QUORATE_UNAVAILABLE);
    if (!connection_) dial(std::move(addresses), key_.first, Purpose::kCall);
    Waiting& waiting = outstanding_[id];
    waiting.question = std::move(question);
    waiting.timer = core_.after(std::min(waiting.question.timeout, kTimeoutMax),
                                [this, id] { answer(id, QUORATE_TIMEOUT); });
    if (connection_->is_open()) transmit(id, waiting);
  }

  void answer_all(quorate_status code = QUORATE_UNAVAILABLE) {
    while (!outstanding_.empty()) answer(outstanding_.begin()->first, code);
  }
  bool idle() const { return outstanding_.empty(); }
  bool rests(Time now) const { return idle() && now - last_used_ > kRestTime; }

 private:
  struct Waiting {
    Question question;
    Core::Timer timer;
  };

  void transmit(uint64_t id, Waiting& waiting) {
    connection_->send(Kind::kCall, 0, id, std::move(waiting.question.request));
  }

  void answer(uint64_t id, quorate_status code, std::string_view reply = {}) {
    const auto found = outstanding_.find(id);
    if (found == outstanding_.end()) return;  // it was late
    const Waiting waiting = std::move(found->second);
    outstanding_.erase(found);
    core_.cancel(waiting.timer);
    last_used_ = Core::now();
    waiting.question.answer(code, reply);
  }

  void opened() override {
    for (auto& [id, waiting] : outstanding_) transmit(id, waiting);
  }

  bool received(std::span<const Frame> frames) override {
    for (const Frame& frame : frames) {
      if (frame.kind != Kind::kReply) return false;
      answer(frame.id, frame.code, frame.body);
    }
    return true;
  }

  void lost(const Closure& closure) override {
    if (closure.refusal != QUORATE_OK) answer_all(closure.refusal);
    const Key key = key_;
    calls_.targets_.erase(key);
  }

  Calls& calls_;
  const Key key_;
  std::map<uint64_t, Waiting> outstanding_;
  Time last_used_ = Core::now();
};

Calls::Calls(Core& core) : core_(core) {}

Calls::~Calls() = default;

void Calls::ask(Question question, Addresses addresses) {
  const size_t size = size_of(question.request);
  if (core_.stopping || addresses.empty() || size > core_.settings.message_bytes_max)
    return question.answer(QUORATE_UNAVAILABLE);
  // A member's addresses may change; a URL is its own name.
  Key key{question.member_id, question.member_id == 0 ? addresses.front().url : std::string()};
  auto& target = targets_[key];
  if (!target) target = std::make_unique<Target>(core_, *this, key);
  target->ask(next_id_++, std::move(question), std::move(addresses));
}

void Calls::give_up(uint64_t member_id) {
  for (auto at = targets_.begin(); at != targets_.end();)
    at = at->first.first == member_id ? targets_.erase(at) : std::next(at);
}

void Calls::give_up_all() {
  targets_.clear();
}

void Calls::renew() {
  for (auto at = targets_.begin(); at != targets_.end();)
    at = at->second->idle() ? targets_.erase(at) : std::next(at);
}

bool Calls::idle() const {
  return std::all_of(targets_.begin(), targets_.end(),
                     [](const auto& target) { return target.second->idle(); });
}

void Calls::tick(Time now) {
  for (auto at = targets_.begin(); at != targets_.end();)
    at = at->second->rests(now) ? targets_.erase(at) : std::next(at);
}

uint64_t Answers::token_for(std::weak_ptr<Connection> connection, uint64_t id,
                            std::shared_ptr<size_t> open_count) {
  ++*open_count;
  open_[next_token_] = {std::move(connection), id, std::move(open_count)};
  return next_token_++;
}

void Answers::reply(uint64_t token, quorate_status code, Parts reply) {
  const auto found = open_.find(token);
  if (found == open_.end()) return;
  const auto connection = found->second.connection.lock();
  const uint64_t id = found->second.id;
  --*found->second.open_count;
  open_.erase(found);
  if (!connection) return;
  if (size_of(reply) > core_.settings.message_bytes_max) {
    code = QUORATE_INTERNAL;
    reply.clear();
  }
  connection->send(Kind::kReply, wire_code(code), id, std::move(reply));
}

}  // namespace quorate::transport_tcp
