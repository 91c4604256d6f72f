// SPDX-License-Identifier: Apache-2.0
#include "server/peers.h"

#include <kj/exception.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "env/latch.h"
#include "mvcc/state_hash.h"
#include "schemas/api.capnp.h"
#include "schemas/raft.capnp.h"

namespace quorate::server {
namespace {

constexpr uint64_t kAskTimeoutNs = 2'000'000'000;  // of one try at the leader
constexpr uint64_t kGuideTimeoutMs = 1000;
constexpr uint64_t kStateHashTimeoutMs = 2000;
// How a member that was removed is refused; for nothing else.
constexpr quorate_status kRemovedStatus = QUORATE_PERMISSION_DENIED;

bool is_for_append_channel(raft::MessageType type) {
  return type == raft::MessageType::kMsgApp || type == raft::MessageType::kMsgProp;
}

Bytes encode_call(Slice request) {
  schema::SegmentBuilder segment;
  auto call = segment.start<schema::PeerCall>(request.size() + 64);
  call.setRequest({reinterpret_cast<const kj::byte*>(request.data()), request.size()});
  return Bytes::copy(segment.finish());
}

// The request in a peer's call; it lies in `call`.
Result<Slice> decode_call(const Bytes& call) {
  const Status damaged(Code::kDamagedRequest, "a peer's call is not a message of the schema");
  if (!schema::SegmentReader::well_formed(call.slice())) return damaged;
  try {
    schema::SegmentReader reader(call.slice());
    const auto root = reader.root<schema::PeerCall>();
    if (!root.isRequest()) return Status(Code::kUnsupported, "a peer's call of an unknown kind");
    const auto request = root.getRequest();
    return Slice(reinterpret_cast<const char*>(request.begin()), request.size());
  } catch (const kj::Exception&) {
    return damaged;
  }
}

Bytes member_list_request() {
  schema::SegmentBuilder segment;
  segment.start<schema::Request>().initCluster().setList(false);
  return encode_call(segment.finish());
}

Bytes state_hash_request(raft::Index index) {
  schema::SegmentBuilder segment;
  segment.start<schema::Request>().initMaintenance().setStateHash(index);
  return encode_call(segment.finish());
}

std::vector<std::string> texts(capnp::List<capnp::Text>::Reader list) {
  std::vector<std::string> result;
  for (const auto text : list) result.emplace_back(text.cStr());
  return result;
}

// kCorrupt: no answer to a list of members.
Result<RemoteCluster> decode_cluster(Slice response) {
  const Bytes bytes = Bytes::copy(response);
  const Status damaged(Code::kCorrupt, "a peer's answer is not a list of members");
  if (!schema::SegmentReader::well_formed(bytes.slice())) return damaged;
  try {
    schema::SegmentReader reader(bytes.slice());
    const auto root = reader.root<schema::Response>();
    if (!root.isCluster()) return damaged;
    RemoteCluster cluster;
    cluster.cluster_id = root.getHeader().getClusterId();
    for (const auto member : root.getCluster().getMembers()) {
      cluster::Member copy;
      copy.id = member.getId();
      copy.name = member.getName().cStr();
      copy.peer_urls = texts(member.getPeerUrls());
      copy.client_urls = texts(member.getClientUrls());
      copy.learner = member.getLearner();
      cluster.members.push_back(std::move(copy));
    }
    return cluster;
  } catch (const kj::Exception&) {
    return damaged;
  }
}

// The leader's answer with this member's header over it: a client sees whom it asked.
Bytes with_header(Slice response, const apply::ReplyHeader& header) {
  const Bytes bytes = Bytes::copy(response);
  if (!schema::SegmentReader::well_formed(bytes.slice())) return bytes;
  try {
    schema::SegmentReader reader(bytes.slice());
    schema::SegmentBuilder segment;
    auto to = segment.start_copy<schema::Response>(reader.root<schema::Response>()).getHeader();
    to.setClusterId(header.cluster_id);
    to.setMemberId(header.member_id);
    to.setRaftTerm(header.raft_term);
    return Bytes::copy(segment.finish());
  } catch (const kj::Exception&) {
    return bytes;
  }
}

// Whether another try, later and perhaps at another leader, may bring an answer. What a leader does
// for these requests may be done twice.
bool may_ask_again(Code code) {
  switch (code) {
    case Code::kUnavailable:
    case Code::kTimeout:
    case Code::kCancelled:
    case Code::kNotLeader:
    case Code::kNoLeader:
    case Code::kNotPrimaryLessor:
    case Code::kStopped: return true;
    default: return false;
  }
}

bool may_be_asked(const apply::Request& request, bool by_member) {
  if (request.get_if<apply::MemberListOp>()) return true;
  return by_member && (request.get_if<apply::LeaseKeepAliveOp>() != nullptr ||
                       request.get_if<apply::LeaseTimeToLiveOp>() != nullptr ||
                       request.get_if<apply::MemberPromoteOp>() != nullptr ||
                       request.get_if<apply::HashKvOp>() != nullptr ||
                       request.get_if<apply::StateHashOp>() != nullptr);
}

}  // namespace

// ---------------------------------------------------------------- messages out

void MessageSender::send(const std::vector<raft::Message>& messages) {
  // Parts first, all of them: what points into the vector must not move.
  parts_.clear();
  messages_.clear();
  for (const raft::Message& message : messages) {
    const size_t before = parts_.size();
    encoder_.encode(message, parts_);
    const uint32_t channel =
        is_for_append_channel(message.type) ? QUORATE_CHANNEL_APPEND : QUORATE_CHANNEL_CONTROL;
    messages_.push_back(
        {message.to, channel, static_cast<uint32_t>(parts_.size() - before), nullptr});
  }
  bufs_.clear();
  for (const Bytes& part : parts_) bufs_.push_back(part.lend());
  const quorate_buf* at = bufs_.data();
  for (quorate_message& message : messages_) {
    message.parts = at;
    at += message.part_count;
  }
  transport_->send(messages_);
  parts_.clear();
}

// ---------------------------------------------------------------- life

// A question on its way to a peer.
struct Peers::Asked {
  enum class Kind { kLeader, kAddresses, kCluster, kStateHash };
  Asked(Peers* asker, Kind what) : peers(asker), kind(what) {}

  Peers* const peers;
  const Kind kind;
  std::optional<Question> question;  // kLeader
  uint64_t round = 0, member = 0;    // kStateHash
  raft::Index index = 0;             // kStateHash
  // kCluster: who asked waits, and the answer stays here.
  Latch latch;
  Code code = Code::kOk;
  std::string response;

  static void on_reply(void* user, quorate_status code, quorate_slice reply) {
    auto* asked = static_cast<Asked*>(user);
    asked->peers->answered(*asked, static_cast<Code>(code), from_c(reply));
  }
};

Peers::Peers(Clock* clock, const Logger& logger) : clock_(clock), logger_(logger) {}

Result<std::unique_ptr<Peers>> Peers::create(const plugin::TransportFactory& factory,
                                             const Config& config, plugin::HostServices host,
                                             Clock* clock, const Logger& logger) {
  std::unique_ptr<Peers> peers(new Peers(clock, logger));
  peers->fill_receiver();
  plugin::TransportOptions options;
  for (const auto& [key, value] : config.transport.options) options.options.push_back({key, value});
  options.host = std::move(host);
  Result<std::unique_ptr<plugin::Transport>> transport =
      plugin::Transport::create(factory, std::move(options), &peers->receiver_);
  if (!transport) return std::move(transport).error();
  peers->transport_ = std::move(*transport);
  peers->raft_sender_ = MessageSender(peers->transport_.get());
  peers->wal_sender_ = MessageSender(peers->transport_.get());
  for (const std::string& url : config.listen_peer_urls)
    QUORATE_TRY(peers->transport_->listen(url));
  return peers;
}

Peers::~Peers() {
  transport_.reset();
}

void Peers::attach(const Wiring& wiring) {
  wiring_storage_ = wiring;
  transport_->set_self(wiring.state->cluster_id, wiring.state->member_id);
  wiring_.store(&wiring_storage_, std::memory_order_release);
}

void Peers::stop(uint64_t drain_ms) {
  transport_->stop(drain_ms);
}

void Peers::fill_receiver() {
  receiver_.struct_size = sizeof receiver_;
  receiver_.ctx = this;
  receiver_.authorize = [](void* ctx, const quorate_peer_identity* who) {
    return self(ctx)->authorize(*who);
  };
  receiver_.on_messages = [](void* ctx, uint64_t from, const quorate_slice* messages,
                             size_t count) { self(ctx)->on_messages(from, messages, count); };
  receiver_.on_peer = [](void* ctx, uint64_t peer, uint32_t state, const char* reason) {
    self(ctx)->on_peer(peer, state, reason);
  };
  receiver_.on_call = [](void* ctx, const quorate_peer_identity* who, uint64_t token,
                         quorate_slice request) {
    self(ctx)->on_call(*who, token, from_c(request));
  };
  receiver_.on_stream = [](void* ctx, void* user, uint32_t event, quorate_status code) {
    if (const Wiring* wiring = self(ctx)->wiring_.load(std::memory_order_acquire))
      wiring->snapshots->on_stream(user, event, code);
  };
  receiver_.snapshot_begin = [](void* ctx, uint64_t stream, uint64_t from, quorate_slice meta) {
    const Wiring* wiring = self(ctx)->wiring_.load(std::memory_order_acquire);
    if (wiring == nullptr) return static_cast<quorate_status>(QUORATE_UNAVAILABLE);
    return wiring->snapshots->begin(stream, from, from_c(meta));
  };
  receiver_.snapshot_block = [](void* ctx, uint64_t stream, quorate_slice block) {
    return self(ctx)
        ->wiring_.load(std::memory_order_acquire)
        ->snapshots->block(stream, from_c(block));
  };
  receiver_.snapshot_end = [](void* ctx, uint64_t stream, quorate_status sender) {
    self(ctx)->wiring_.load(std::memory_order_acquire)->snapshots->end(stream, sender);
  };
}

// ---------------------------------------------------------------- who may connect, and who does

quorate_status Peers::authorize(const quorate_peer_identity& who) const {
  const Wiring* wiring = wiring_.load(std::memory_order_acquire);
  if (wiring == nullptr) return QUORATE_OK;  // only this member's own questions pass
  if (who.cluster_id != 0 && who.cluster_id != wiring->state->cluster_id)
    return QUORATE_CLUSTER_ID_MISMATCH;
  // An id that is not known here may be a member's that was added since: this one may lag.
  return book_.was_removed(who.member_id) ? kRemovedStatus : QUORATE_OK;
}

void Peers::on_peer(uint64_t peer, uint32_t state, const char* reason) {
  if (state == QUORATE_PEER_CONNECTED) {
    book_.connected(peer, clock_->now_ns());
    logger_.info("connected to member {}", cluster::id_text(peer));
  } else {
    if (state == QUORATE_PEER_REFUSED) book_.refused_by(peer);
    book_.disconnected(peer);
    logger_.warn("no connection to member {}: {}", cluster::id_text(peer),
                 reason != nullptr ? reason : "");
  }
  if (const Wiring* wiring = wiring_.load(std::memory_order_acquire))
    wiring->raft->post(PeerEvent{peer, state});
}

void Peers::connect(const cluster::Member& member) {
  const Wiring& wiring = *wiring_.load(std::memory_order_acquire);
  if (member.id == wiring.state->member_id || book_.was_removed(member.id)) return;
  if (Status status = transport_->set_peer(member.id, member.peer_urls); !status.ok())
    logger_.error("member {} cannot be reached: {}", cluster::id_text(member.id),
                  status.to_string());
  std::erase_if(members_, [&](const cluster::Member& known) { return known.id == member.id; });
  members_.push_back(member);
}

void Peers::set_members(const std::vector<cluster::Member>& members,
                        const std::vector<raft::NodeId>& removed) {
  for (const raft::NodeId id : removed) {
    if (book_.was_removed(id)) continue;
    book_.set_removed(id);
    if (std::erase_if(members_, [id](const cluster::Member& known) { return known.id == id; }) == 0)
      continue;
    transport_->remove_peer(id);
    book_.disconnected(id);
  }
  for (const cluster::Member& member : members) {
    const auto known = logged_urls_.find(member.id);
    const bool first = known == logged_urls_.end();
    if (!first && known->second == member.peer_urls) continue;
    logged_urls_[member.id] = member.peer_urls;
    // The first entry about a member may be older than what the others told of it.
    if (first) {
      add_members({member});
    } else {
      connect(member);
    }
  }
  note_known();
}

void Peers::add_members(const std::vector<cluster::Member>& members) {
  for (const cluster::Member& member : members) {
    const bool known =
        std::any_of(members_.begin(), members_.end(),
                    [&](const cluster::Member& other) { return other.id == member.id; });
    if (!known) connect(member);
  }
  note_known();
}

void Peers::note_known() {
  std::vector<raft::NodeId> ids;
  for (const cluster::Member& member : members_) ids.push_back(member.id);
  book_.set_known(ids);
}

// One that was down while the cluster changed may hear from a leader whose address it has not got,
// and cannot get from the log, since it cannot answer. Whoever it knows can tell.
// And one that was removed meanwhile is told so by whoever refuses it.
void Peers::tick() {
  if (const raft::NodeId peer = book_.take_refusal(); peer != 0) ask_for_members(peer);
  if (members_.empty() || !book_.take_stranger()) return;
  ask_for_members(members_[next_guide_++ % members_.size()].id);
}

void Peers::ask_for_members(raft::NodeId peer) {
  auto* asked = new Asked(this, Asked::Kind::kAddresses);
  transport_->call(peer, "", member_list_request().lend(), kGuideTimeoutMs, Asked::on_reply, asked);
}

void Peers::learn_addresses(Code code, Slice response) {
  const Wiring* wiring = wiring_.load(std::memory_order_acquire);
  if (wiring == nullptr) return;
  if (code == static_cast<Code>(kRemovedStatus)) return wiring->on_removed();
  if (code != Code::kOk) return;
  Result<RemoteCluster> cluster = decode_cluster(response);
  if (!cluster || cluster->cluster_id != wiring->state->cluster_id) return;
  wiring->raft->post(PeerAddresses{std::move(cluster->members), {}, false});
}

// ---------------------------------------------------------------- messages in

void Peers::on_messages(uint64_t from, const quorate_slice* messages, size_t count) {
  const Wiring* wiring = wiring_.load(std::memory_order_acquire);
  if (wiring == nullptr) return;
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += decoded_size_max(messages[i].size);
  Slab slab(bytes, slabs_);
  PeerMessages event;
  event.bytes = bytes;
  event.messages.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Result<raft::Message> message = decode_message(from_c(messages[i]), slab);
    if (!message) {
      logger_.error("from member {}: {}", cluster::id_text(from), message.error().message());
      continue;
    }
    // Only these two are handed on by others than who wrote them.
    const bool handed_on = message->type == raft::MessageType::kMsgProp ||
                           message->type == raft::MessageType::kMsgTransferLeader;
    if (message->to != wiring->state->member_id || (message->from != from && !handed_on)) {
      logger_.warn("dropped {} that came from member {} and names {} and {}",
                   raft::message_type_name(message->type), cluster::id_text(from),
                   cluster::id_text(message->from), cluster::id_text(message->to));
      continue;
    }
    if (message->type == raft::MessageType::kMsgSnap) {
      logger_.warn("dropped a snapshot's message of member {} that came without the snapshot",
                   cluster::id_text(from));
      continue;
    }
    event.messages.push_back(std::move(*message));
  }
  book_.heard_of(from);
  if (!event.messages.empty() && !wiring->raft->offer(std::move(event)))
    logger_.debug("dropped messages of member {}: too many wait", cluster::id_text(from));
}

// ---------------------------------------------------------------- calls

void Peers::on_call(const quorate_peer_identity& who, uint64_t token, Slice call) {
  const Wiring* wiring = wiring_.load(std::memory_order_acquire);
  if (wiring == nullptr) return reply(token, Code::kUnavailable, {});
  const Bytes copy = Bytes::copy(call);
  const Result<Slice> bytes = decode_call(copy);
  if (!bytes) return reply(token, bytes.error().code(), {});
  const Result<apply::Request> request = apply::Request::decode_client(Bytes::copy(*bytes));
  if (!request) return reply(token, request.error().code(), {});
  if (!may_be_asked(*request, who.member_id != 0)) return reply(token, Code::kUnsupported, {});

  const quorate_on_done on_done = [](void* sink, const quorate_completion* items, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const quorate_completion& item = items[i];
      self(sink)->transport_->reply(reinterpret_cast<uint64_t>(item.user),
                                    static_cast<Code>(item.code), item.response);
    }
  };
  quorate_submission item{};
  item.request = to_c(request->body().slice());
  item.user = reinterpret_cast<void*>(token);
  wiring->services->submit_batch(wiring->services->ctx, on_done, this, &item, sizeof item, 1);
  if (item.status != QUORATE_OK) reply(token, static_cast<Code>(item.status), {});
}

void Peers::reply(uint64_t token, Code code, const Bytes& response) {
  transport_->reply(token, code, response.lend());
}

void Peers::ask_leader(raft::NodeId leader, std::vector<Question> questions) {
  const uint64_t now = clock_->now_ns();
  for (Question& question : questions) {
    const Bytes call = encode_call(question.request.body().slice());
    uint64_t left = kAskTimeoutNs;
    if (question.deadline_ns != 0)
      left = question.deadline_ns > now ? std::min(left, question.deadline_ns - now) : 0;
    auto* asked = new Asked(this, Asked::Kind::kLeader);
    asked->question = std::move(question);
    transport_->call(leader, "", call.lend(), left / 1'000'000 + 1, Asked::on_reply, asked);
  }
}

void Peers::answered(Asked& asked, Code code, Slice response) {
  if (asked.kind == Asked::Kind::kCluster) {
    asked.code = code;
    asked.response = response;
    asked.latch.open();  // the last touch: the asker's frame may end
    return;
  }
  const std::unique_ptr<Asked> owned(&asked);
  if (asked.kind == Asked::Kind::kAddresses) return learn_addresses(code, response);
  const Wiring& wiring = *wiring_.load(std::memory_order_acquire);
  if (asked.kind == Asked::Kind::kStateHash) {
    wiring.apply->post(
        StateHashAnswer{asked.round, asked.member, read_state_hash(asked, code, response)});
    return;
  }
  if (may_ask_again(code)) {
    LeaderRequest again;
    again.questions.push_back(std::move(*asked.question));
    again.again = true;
    return wiring.raft->post(std::move(again));
  }
  Bytes bytes = response.empty() ? error_response(*wiring.state)
                                 : with_header(response, wiring.state->header());
  wiring.apply->post(AnsweredByLeader{asked.question->call, code, std::move(bytes)});
}

void Peers::ask_state_hash(uint64_t round, uint64_t member, raft::Index index) {
  auto* asked = new Asked(this, Asked::Kind::kStateHash);
  asked->round = round;
  asked->member = member;
  asked->index = index;
  transport_->call(member, "", state_hash_request(index).lend(), kStateHashTimeoutMs,
                   Asked::on_reply, asked);
}

// Nothing unless it is this cluster's very member that speaks, of this index, and hashes alike.
std::optional<uint64_t> Peers::read_state_hash(const Asked& asked, Code code,
                                               Slice response) const {
  if (code != Code::kOk) return std::nullopt;
  const Bytes bytes = Bytes::copy(response);
  if (!schema::SegmentReader::well_formed(bytes.slice())) return std::nullopt;
  try {
    schema::SegmentReader reader(bytes.slice());
    const auto root = reader.root<schema::Response>();
    if (!root.isMaintenance() || !root.getMaintenance().isStateHash()) return std::nullopt;
    const auto answer = root.getMaintenance().getStateHash();
    const auto header = root.getHeader();
    const bool fits = header.getMemberId() == asked.member &&
                      header.getClusterId() == wiring_storage_.state->cluster_id &&
                      answer.getIndex() == asked.index &&
                      answer.getVersion() == mvcc::kStateHashVersion;
    return fits ? std::optional(answer.getHash()) : std::nullopt;
  } catch (const kj::Exception&) {
    return std::nullopt;
  }
}

Result<RemoteCluster> Peers::fetch_cluster(const std::vector<std::string>& urls,
                                           uint64_t timeout_ms) {
  std::string failures;
  for (const std::string& url : urls) {
    Asked asked(this, Asked::Kind::kCluster);
    transport_->call(0, url, member_list_request().lend(), timeout_ms, Asked::on_reply, &asked);
    asked.latch.wait();
    Result<RemoteCluster> cluster = asked.code == Code::kOk
                                        ? decode_cluster(asked.response)
                                        : Result<RemoteCluster>(Status(asked.code, "no answer"));
    if (cluster) return cluster;
    failures += (failures.empty() ? "" : ", ") + url + ": " + cluster.error().to_string();
  }
  return Status(Code::kUnavailable, failures);
}

}  // namespace quorate::server
