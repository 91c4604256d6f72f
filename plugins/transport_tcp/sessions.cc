// SPDX-License-Identifier: Apache-2.0
#include "transport_tcp/sessions.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace quorate::transport_tcp {
namespace {

constexpr size_t kOpenCallsMax = 1024;    // of one connection
constexpr size_t kStreamsMax = 4;         // of one member
constexpr size_t kQuestionersMax = 1024;  // connections that ask

}  // namespace

class Sessions::Messages final : public ConnectionUser {
 public:
  Messages(Core& core, std::shared_ptr<Connection> connection, uint64_t from)
      : core_(core), connection_(std::move(connection)), from_(from) {}
  ~Messages() override {
    if (connection_) connection_->close();
  }

  bool closed_already() const { return !connection_; }

 private:
  bool received(std::span<const Frame> frames) override {
    messages_.clear();
    bool in_place = true;
    for (const Frame& frame : frames) {
      in_place = in_place && frame.kind == Kind::kMessage;
      if (in_place) messages_.push_back(sdk::slice(frame.body));
    }
    if (!messages_.empty())
      core_.receiver.on_messages(core_.receiver.ctx, from_, messages_.data(), messages_.size());
    return in_place;
  }
  void closed(const Closure&) override { connection_.reset(); }

  Core& core_;
  std::shared_ptr<Connection> connection_;
  const uint64_t from_;
  std::vector<quorate_slice> messages_;
};

class Sessions::Questions final : public ConnectionUser {
 public:
  Questions(Core& core, Answers& answers, std::shared_ptr<Connection> connection)
      : core_(core), answers_(answers), connection_(std::move(connection)) {}
  ~Questions() override {
    if (connection_) connection_->close();
  }

  bool closed_already() const { return !connection_; }
  uint64_t from() const { return connection_ ? connection_->identity().member_id : 0; }

 private:
  bool received(std::span<const Frame> frames) override {
    for (const Frame& frame : frames) {
      if (frame.kind != Kind::kCall) return false;
      if (core_.stopping || *open_ >= kOpenCallsMax) {
        connection_->send(Kind::kReply, core_.stopping ? QUORATE_UNAVAILABLE : QUORATE_BUSY,
                          frame.id);
        continue;
      }
      const quorate_peer_identity who = connection_->identity();
      const uint64_t token = answers_.token_for(connection_, frame.id, open_);
      core_.receiver.on_call(core_.receiver.ctx, &who, token, sdk::slice(frame.body));
    }
    return true;
  }
  void closed(const Closure&) override { connection_.reset(); }

  Core& core_;
  Answers& answers_;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<size_t> open_ = std::make_shared<size_t>(0);
};

Sessions::Sessions(Core& core, Answers& answers) : core_(core), answers_(answers) {}

Sessions::~Sessions() = default;

Admission Sessions::judge(const Connection& connection, const Hello& hello) const {
  if (core_.stopping) return {QUORATE_UNAVAILABLE, "this member stops"};
  if (hello.purpose > Purpose::kSnapshot)
    return {QUORATE_UNSUPPORTED, "channel " + std::to_string(static_cast<uint32_t>(hello.purpose)) +
                                     " is not known here"};
  if (core_.cluster_id != 0 && hello.cluster_id != 0 && hello.cluster_id != core_.cluster_id)
    return {QUORATE_CLUSTER_ID_MISMATCH, "this member belongs to another cluster"};
  if (hello.to != 0 && hello.to != core_.member_id)
    return {QUORATE_MEMBER_NOT_FOUND, "member " + std::to_string(hello.to) +
                                          " was looked for; this is member " +
                                          std::to_string(core_.member_id)};
  if (hello.from != 0 && hello.from == core_.member_id)
    return {QUORATE_INVALID_ARGUMENT, "this is the member that dials, or another with its id"};
  if (hello.purpose != Purpose::kCall) {
    if (hello.from == 0)
      return {QUORATE_INVALID_ARGUMENT, "without a member id only calls can be made"};
    if (core_.member_id == 0) return {QUORATE_UNAVAILABLE, "this member has no id yet"};
  }
  const quorate_status code = core_.authorize(connection.identity());
  if (code == QUORATE_OK) return {};
  return {code, "member " + std::to_string(hello.from) + " is not authorized"};
}

Admission Sessions::admit(const std::shared_ptr<Connection>& connection, const Hello& hello) {
  Admission admission = judge(*connection, hello);
  if (admission.code != QUORATE_OK) return admission;
  switch (hello.purpose) {
    case Purpose::kControl:
    case Purpose::kAppend: {
      auto& session = messages_[{hello.from, static_cast<uint32_t>(hello.purpose)}];
      session = std::make_unique<Messages>(core_, connection, hello.from);
      connection->set_user(session.get());
      return {};
    }
    case Purpose::kCall: {
      if (questions_.size() >= kQuestionersMax) return {QUORATE_BUSY, "too many connections ask"};
      auto& session = questions_[connection.get()];
      session = std::make_unique<Questions>(core_, answers_, connection);
      connection->set_user(session.get());
      return {};
    }
    case Purpose::kSnapshot: {
      if (streams_from(hello.from) >= kStreamsMax)
        return {QUORATE_BUSY, "too many snapshots of this member are under way"};
      auto& stream = streams_[next_stream_];
      stream = std::make_unique<IncomingStream>(core_, connection, next_stream_++, hello.from);
      connection->set_user(stream.get());
      return {};
    }
  }
  return {QUORATE_UNSUPPORTED, "not known here"};
}

size_t Sessions::streams_from(uint64_t member_id) const {
  return static_cast<size_t>(
      std::count_if(streams_.begin(), streams_.end(), [member_id](const auto& stream) {
        return stream.second->from() == member_id && !stream.second->judged();
      }));
}

void Sessions::on_snapshot(uint64_t stream, uint32_t event, quorate_status code) {
  const auto found = streams_.find(stream);
  if (found != streams_.end()) found->second->on_snapshot(event, code);
}

void Sessions::close_member(uint64_t member_id) {
  std::erase_if(messages_, [&](const auto& session) { return session.first.first == member_id; });
  std::erase_if(questions_,
                [&](const auto& session) { return session.second->from() == member_id; });
  for (auto& [name, stream] : streams_)
    if (stream->from() == member_id) stream->give_up();
}

void Sessions::close_all() {
  messages_.clear();
  questions_.clear();
  for (auto& [name, stream] : streams_) stream->give_up();
}

bool Sessions::idle() const {
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const auto& stream) { return stream.second->judged(); });
}

void Sessions::tick() {
  const auto closed = [](const auto& session) { return session.second->closed_already(); };
  std::erase_if(messages_, closed);
  std::erase_if(questions_, closed);
  std::erase_if(streams_, [](const auto& stream) { return stream.second->over(); });
}

}  // namespace quorate::transport_tcp
