// SPDX-License-Identifier: Apache-2.0
#include "support/sim_network.h"

#include <string_view>
#include <vector>

#include "base/crc32c.h"
#include "support/test_plugin.h"

namespace quorate::test {
namespace {

constexpr uint64_t kLookNs = 50'000'000;       // between two looks at the links
constexpr uint64_t kSilentNs = 2'000'000'000;  // without a word, a connection counts as lost
constexpr size_t kStreamBlocksMax = 4;         // not yet taken by the receiver

std::string_view view(quorate_slice bytes) {
  return {reinterpret_cast<const char*>(bytes.data), bytes.size};
}
quorate_slice slice(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace

struct SimNetwork::Stream {
  SimNetwork* network;
  uint64_t from, to;  // serials
  void* user;
  uint64_t name;
  std::deque<std::string> blocks;
  std::string meta;
  bool begun = false, refused = false, finished = false, busy = false, receiver_busy = false;
  bool pumping = false, ended = false;
  quorate_status finish_code = QUORATE_OK;
};

struct SimNetwork::Node {
  SimNetwork* network;
  uint64_t serial;
  quorate_receiver receiver;
  std::set<std::string> urls;
  uint64_t cluster_id = 0, member_id = 0;
  bool stopped = false;

  struct Link {
    std::string url;
    uint64_t connected_to = 0;  // serial
    uint64_t cut_since_ns = 0;
    bool refused = false;
    uint64_t last_ns[2] = {0, 0};  // when the last message of a channel comes
  };
  std::map<uint64_t, Link> links;  // by member id

  struct Call {
    quorate_on_reply done;
    void* user;
    uint64_t asked;  // serial of who was asked
  };
  std::map<uint64_t, Call> calls;         // of this node, by token
  std::map<uint64_t, uint64_t> to_reply;  // token to the serial of who asked
  std::map<uint64_t, std::shared_ptr<Stream>> outgoing, incoming;

  quorate_peer_identity identity() const {
    quorate_peer_identity who{};
    who.struct_size = sizeof who;
    who.protocol_version = 1;
    who.cluster_id = cluster_id;
    who.member_id = member_id;
    who.address = urls.empty() ? "" : urls.begin()->c_str();
    return who;
  }
  void tell_peer(uint64_t peer, uint32_t state, const char* reason) {
    if (!stopped) receiver.on_peer(receiver.ctx, peer, state, reason);
  }
};

// What is on its way, in the order in which it comes.
class SimNetwork::Clockwork final : public Turn {
 public:
  Clockwork(TestEnv& env, Executor* executor) : env_(env), executor_(executor) {}
  void add(uint64_t due_ns, Action action) {
    actions_.emplace(due_ns, std::move(action));
    executor_->post_at(due_ns, this);
  }
  void run() override {
    while (!actions_.empty() && actions_.begin()->first <= env_.clock().now_ns()) {
      const Action action = std::move(actions_.begin()->second);
      actions_.erase(actions_.begin());
      action();
    }
  }

 private:
  TestEnv& env_;
  Executor* const executor_;
  std::multimap<uint64_t, Action> actions_;
};

SimNetwork::SimNetwork(TestEnv& env, uint64_t seed)
    : env_(env), random_(seed), executor_(env.make_executor("network")) {
  clockwork_ = std::make_unique<Clockwork>(env, executor_.get());
  later(kLookNs, [this] { look_at_links(); });
}

SimNetwork::~SimNetwork() {
  executor_->stop();
}

void SimNetwork::later(uint64_t delay_ns, Action action) {
  clockwork_->add(env_.clock().now_ns() + delay_ns, std::move(action));
}

uint64_t SimNetwork::delay() {
  return delay_min_ns_ + random_.below(delay_max_ns_ - delay_min_ns_ + 1);
}

uint64_t SimNetwork::extra_delay() {
  if (hold_one_in_ == 0 || !random_.one_in(hold_one_in_)) return 0;
  return delay() * (1 + random_.below(100));
}

uint64_t SimNetwork::delay_of(const Node& from, const Node& to) {
  uint64_t ns = delay();
  if (clogged_.empty()) return ns;
  const uint64_t now_ns = env_.clock().now_ns();
  for (const std::string& a : from.urls)
    for (const std::string& b : to.urls) {
      const auto clogged = clogged_.find({a, b});
      if (clogged != clogged_.end() && clogged->second > now_ns) ns += clogged->second - now_ns;
    }
  return ns;
}

void SimNetwork::reset(const std::string& a, const std::string& b) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    Node* const node = node_at(from);
    Node* const other = node_at(to);
    if (node == nullptr || other == nullptr) continue;
    for (auto& [peer, link] : node->links) {
      if (link.connected_to != other->serial) continue;
      link.connected_to = 0;
      later(delay(), [this, serial = node->serial, peer = peer] {
        if (Node* const still = live(serial)) still->tell_peer(peer, QUORATE_PEER_RESET, "reset");
      });
    }
  }
}

SimNetwork::Node* SimNetwork::node_of(uint64_t id) {
  for (const auto& [serial, node] : nodes_)
    if (node->member_id == id && !node->stopped) return node.get();
  return nullptr;
}

SimNetwork::Node* SimNetwork::node_at(const std::string& url) {
  for (const auto& [serial, node] : nodes_)
    if (node->urls.contains(url) && !node->stopped) return node.get();
  return nullptr;
}

SimNetwork::Node* SimNetwork::live(uint64_t serial) {
  const auto found = nodes_.find(serial);
  return found == nodes_.end() ? nullptr : found->second.get();
}

bool SimNetwork::passes(const Node& from, const Node& to) const {
  return passes(from.urls, to.urls);
}

bool SimNetwork::passes(const std::set<std::string>& from, const std::set<std::string>& to) const {
  if (cut_.empty()) return true;
  for (const std::string& a : from)
    for (const std::string& b : to)
      if (cut_.contains({a, b})) return false;
  return true;
}

void SimNetwork::carry(Node& from, Node& to, Action action) {
  carry_message_at(env_.clock().now_ns() + delay_of(from, to) + extra_delay(), from, to,
                   [this, from = from.serial, action = std::move(action)] {
                     if (live(from) != nullptr) action();
                   });
}

void SimNetwork::carry_message_at(uint64_t due_ns, const Node& from, const Node& to,
                                  Action action) {
  if (env_.is_gone()) return;
  clockwork_->add(due_ns, [this, from = from.serial, to = to.serial, action = std::move(action)] {
    const Node* const receiver = live(to);
    if (receiver == nullptr || receiver->stopped) return;
    const Node* const sender = live(from);
    if (passes(sender == nullptr ? urls_of_dead_.at(from) : sender->urls, receiver->urls)) action();
  });
}

void SimNetwork::run_until_answered(uint64_t serial, uint64_t token) {
  while (live(serial)->calls.contains(token)) env_.advance_ms(1);
}

void SimNetwork::look_at_links() {
  std::vector<uint64_t> serials;
  for (const auto& [serial, node] : nodes_) serials.push_back(serial);
  for (const uint64_t serial : serials) {
    Node* const node = live(serial);
    std::vector<uint64_t> peers;
    for (const auto& [peer, link] : node->links) peers.push_back(peer);
    for (const uint64_t peer : peers) look_at_link(*node, peer);
  }
  later(kLookNs, [this] { look_at_links(); });
}

void SimNetwork::look_at_link(Node& node, uint64_t peer) {
  Node::Link& link = node.links[peer];
  Node* const other = node_at(link.url);
  const bool whole = other != nullptr && passes(node, *other) && passes(*other, node);
  if (link.connected_to != 0) {
    if (whole && other->serial == link.connected_to) {
      link.cut_since_ns = 0;
      return;
    }
    const bool died = live(link.connected_to) == nullptr;
    if (!died && link.cut_since_ns == 0) link.cut_since_ns = env_.clock().now_ns();
    if (!died && env_.clock().now_ns() - link.cut_since_ns < kSilentNs) return;
    link.connected_to = 0;
    link.cut_since_ns = 0;
    return node.tell_peer(peer, died ? QUORATE_PEER_RESET : QUORATE_PEER_SILENT, "lost");
  }
  if (!whole || node.member_id == 0 || node.stopped || other->member_id != peer) return;
  const quorate_peer_identity mine = node.identity(), theirs = other->identity();
  if (other->receiver.authorize(other->receiver.ctx, &mine) != QUORATE_OK ||
      node.receiver.authorize(node.receiver.ctx, &theirs) != QUORATE_OK) {
    if (!link.refused) node.tell_peer(peer, QUORATE_PEER_REFUSED, "refused");
    link.refused = true;
    return;
  }
  link.refused = false;
  link.connected_to = other->serial;
  node.tell_peer(peer, QUORATE_PEER_CONNECTED, "");
}

void SimNetwork::remove(Node* node) {
  for (const auto& [token, call] : std::map(node->calls))
    call.done(call.user, QUORATE_CANCELLED, {nullptr, 0});
  for (const auto& [name, stream] : std::map(node->outgoing))
    node->receiver.on_stream(node->receiver.ctx, stream->user, QUORATE_STREAM_DONE,
                             QUORATE_CANCELLED);
  const uint64_t serial = node->serial;
  urls_of_dead_[serial] = std::move(node->urls);
  nodes_.erase(serial);
  for (const auto& [other, peer] : nodes_) {
    for (auto& [id, link] : peer->links) {
      if (link.connected_to != serial) continue;
      link.connected_to = 0;
      // A dead process's end is heard where the link lets it through.
      later(delay(), [this, other = other, id = id] {
        if (Node* const still = live(other)) still->tell_peer(id, QUORATE_PEER_RESET, "died");
      });
    }
    for (auto& [token, call] : std::map(peer->calls)) {
      if (call.asked != serial) continue;
      peer->calls.erase(token);
      call.done(call.user, QUORATE_UNAVAILABLE, {nullptr, 0});
    }
    for (const auto& [name, stream] : std::map(peer->incoming)) {
      if (stream->from != serial || stream->ended) continue;
      stream->ended = true;
      if (stream->begun) peer->receiver.snapshot_end(peer->receiver.ctx, name, QUORATE_UNAVAILABLE);
    }
    for (const auto& [name, stream] : std::map(peer->outgoing)) {
      if (stream->to != serial) continue;
      stream->refused = true;
      // Who waits to write learns of it by the next write.
      if (std::exchange(stream->busy, false) && !stream->finished)
        peer->receiver.on_stream(peer->receiver.ctx, stream->user, QUORATE_STREAM_READY,
                                 QUORATE_OK);
      if (!stream->finished) continue;
      peer->outgoing.erase(name);
      peer->receiver.on_stream(peer->receiver.ctx, stream->user, QUORATE_STREAM_DONE,
                               QUORATE_UNAVAILABLE);
    }
  }
}

// ---------------------------------------------------------------- the table

struct SimTable {
  using Node = SimNetwork::Node;
  using Stream = SimNetwork::Stream;
  static Node* of(quorate_transport* handle) { return reinterpret_cast<Node*>(handle); }

  static quorate_status create(const quorate_transport_options* options,
                               const quorate_receiver* receiver, quorate_transport** out,
                               quorate_error*) {
    auto* network = object_at<SimNetwork>(options->options);
    auto node = std::make_unique<Node>();
    node->network = network;
    node->serial = network->next_serial_++;
    node->receiver = *receiver;
    *out = reinterpret_cast<quorate_transport*>(node.get());
    network->nodes_.emplace(node->serial, std::move(node));
    return QUORATE_OK;
  }
  static void stop(quorate_transport* handle, uint64_t) { of(handle)->stopped = true; }
  static void destroy(quorate_transport* handle) { of(handle)->network->remove(of(handle)); }
  static quorate_status listen(quorate_transport* handle, const char* url, quorate_error*) {
    of(handle)->urls.insert(url);
    return QUORATE_OK;
  }
  static void set_self(quorate_transport* handle, uint64_t cluster, uint64_t member) {
    of(handle)->cluster_id = cluster;
    of(handle)->member_id = member;
  }
  static quorate_status set_peer(quorate_transport* handle, uint64_t member,
                                 const char* const* urls, uint32_t, quorate_error*) {
    of(handle)->links[member].url = urls[0];
    return QUORATE_OK;
  }
  static void remove_peer(quorate_transport* handle, uint64_t member) {
    of(handle)->links.erase(member);
  }

  static void send(quorate_transport* handle, const quorate_message* messages, size_t count) {
    Node& node = *of(handle);
    SimNetwork& network = *node.network;
    for (size_t i = 0; i < count; ++i) {
      const quorate_message& message = messages[i];
      const auto link = node.links.find(message.to);
      if (node.stopped || link == node.links.end() || link->second.connected_to == 0) continue;
      Node* const to = network.live(link->second.connected_to);
      if (to == nullptr) continue;
      if (network.lose_one_in_ != 0 && network.random_.one_in(network.lose_one_in_)) continue;
      std::string bytes;
      for (uint32_t part = 0; part < message.part_count; ++part)
        bytes += view(message.parts[part].bytes);
      const uint64_t from = node.member_id;
      const auto deliver = [to, from, bytes = std::move(bytes), &network] {
        ++network.messages_;
        network.largest_message_ = std::max<uint64_t>(network.largest_message_, bytes.size());
        network.env_.note(crc32c(bytes));
        const quorate_slice whole = slice(bytes);
        to->receiver.on_messages(to->receiver.ctx, from, &whole, 1);
      };
      // One after the other on each channel, as transports must; only what comes again, or is held
      // by a fault, comes out of order.
      uint64_t& last_ns = link->second.last_ns[message.channel != 0];
      last_ns = std::max(last_ns, network.env_.clock().now_ns() + network.delay_of(node, *to));
      network.carry_message_at(last_ns + network.extra_delay(), node, *to, deliver);
      if (network.repeat_one_in_ != 0 && network.random_.one_in(network.repeat_one_in_))
        network.carry_message_at(last_ns + network.extra_delay(), node, *to, deliver);
    }
  }

  static void call(quorate_transport* handle, uint64_t member, const char* url,
                   const quorate_buf* request, uint64_t timeout_ms, quorate_on_reply done,
                   void* user) {
    Node& node = *of(handle);
    SimNetwork& network = *node.network;
    const uint64_t token = network.next_token_++;
    Node* const to = member != 0 ? network.node_of(member) : network.node_at(url);
    node.calls[token] = {done, user, to == nullptr ? 0 : to->serial};
    const auto fail = [serial = node.serial, token, &network](quorate_status code) {
      return [serial, token, code, &network] {
        Node* const asker = network.live(serial);
        if (asker == nullptr) return;
        const auto found = asker->calls.find(token);
        if (found == asker->calls.end()) return;
        const Node::Call call = found->second;
        asker->calls.erase(found);
        call.done(call.user, code, {nullptr, 0});
      };
    };
    if (to == nullptr) {
      if (member == 0) return fail(QUORATE_UNAVAILABLE)();
      return network.later(network.delay(), fail(QUORATE_UNAVAILABLE));
    }
    network.later(timeout_ms * 1'000'000, fail(QUORATE_TIMEOUT));
    const std::string bytes(view(request->bytes));
    network.carry(node, *to, [to, token, bytes, &node, fail] {
      const quorate_peer_identity who = node.identity();
      const quorate_status allowed = to->receiver.authorize(to->receiver.ctx, &who);
      if (allowed != QUORATE_OK) return fail(allowed)();
      to->to_reply[token] = node.serial;
      to->receiver.on_call(to->receiver.ctx, &who, token, slice(bytes));
    });
    if (member == 0) network.run_until_answered(node.serial, token);
  }
  static void reply(quorate_transport* handle, uint64_t token, quorate_status code,
                    const quorate_buf* answer) {
    Node& node = *of(handle);
    SimNetwork& network = *node.network;
    const auto asked = node.to_reply.find(token);
    if (asked == node.to_reply.end()) return;
    Node* const asker = network.live(asked->second);
    node.to_reply.erase(asked);
    if (asker == nullptr) return;
    const std::string bytes(answer == nullptr ? std::string_view() : view(answer->bytes));
    network.carry(node, *asker, [asker, token, code, bytes] {
      const auto found = asker->calls.find(token);
      if (found == asker->calls.end()) return;
      const Node::Call call = found->second;
      asker->calls.erase(found);
      call.done(call.user, code, slice(bytes));
    });
  }

  // ------------------------------------------------------------ snapshots

  static Stream* stream_of(quorate_stream* handle) { return reinterpret_cast<Stream*>(handle); }

  static quorate_status stream_open(quorate_transport* handle, uint64_t to, const quorate_buf* meta,
                                    void* user, quorate_stream** out, quorate_error*) {
    Node& node = *of(handle);
    SimNetwork& network = *node.network;
    Node* const other = network.node_of(to);
    if (other == nullptr || node.stopped || network.env_.is_gone()) return QUORATE_UNAVAILABLE;
    auto stream = std::make_shared<Stream>();
    stream->network = &network;
    stream->from = node.serial;
    stream->to = other->serial;
    stream->user = user;
    stream->name = network.next_token_++;
    stream->meta = std::string(view(meta->bytes));
    node.outgoing[stream->name] = stream;
    other->incoming[stream->name] = stream;
    ++network.snapshots_;
    *out = reinterpret_cast<quorate_stream*>(stream.get());
    pump(stream);
    return QUORATE_OK;
  }
  static quorate_status stream_write(quorate_stream* handle, const quorate_buf* block) {
    Stream& stream = *stream_of(handle);
    if (stream.refused || stream.ended) return QUORATE_UNAVAILABLE;
    if (stream.blocks.size() >= kStreamBlocksMax) {
      stream.busy = true;
      return QUORATE_BUSY;
    }
    stream.blocks.emplace_back(view(block->bytes));
    pump(shared(stream));
    return QUORATE_OK;
  }
  static void stream_finish(quorate_stream* handle, quorate_status code) {
    Stream& stream = *stream_of(handle);
    stream.finished = true;
    stream.finish_code = code;
    const std::shared_ptr<Stream> held = shared(stream);
    if (stream.refused || stream.network->live(stream.to) == nullptr) {
      stream.network->later(stream.network->delay(), [held] { done(held, QUORATE_UNAVAILABLE); });
    } else {
      pump(held);
    }
  }
  static std::shared_ptr<Stream> shared(Stream& stream) {
    return stream.network->live(stream.from)->outgoing.at(stream.name);
  }
  static void done(const std::shared_ptr<Stream>& stream, quorate_status code) {
    Node* const sender = stream->network->live(stream->from);
    if (sender == nullptr || sender->outgoing.erase(stream->name) == 0) return;
    sender->receiver.on_stream(sender->receiver.ctx, stream->user, QUORATE_STREAM_DONE, code);
  }

  // Hands the receiver what there is, a step at a time.
  static void pump(const std::shared_ptr<Stream>& stream) {
    if (stream->pumping || stream->network->env_.is_gone()) return;
    stream->pumping = true;
    stream->network->later(stream->network->delay(), [stream] {
      stream->pumping = false;
      step(stream);
    });
  }
  static void step(const std::shared_ptr<Stream>& stream) {
    SimNetwork& network = *stream->network;
    Node* const from = network.live(stream->from);
    Node* const to = network.live(stream->to);
    if (from == nullptr || to == nullptr || stream->ended || stream->receiver_busy) return;
    if (!network.passes(*from, *to)) return pump(stream);
    const quorate_receiver& receiver = to->receiver;
    if (!stream->begun) {
      const quorate_status code =
          receiver.snapshot_begin(receiver.ctx, stream->name, from->member_id, slice(stream->meta));
      if (code == QUORATE_BUSY) {
        stream->receiver_busy = true;
        return;
      }
      stream->begun = true;
      if (code != QUORATE_OK) stream->refused = true;
    } else if (!stream->blocks.empty() && !stream->refused) {
      const quorate_status code =
          receiver.snapshot_block(receiver.ctx, stream->name, slice(stream->blocks.front()));
      if (code == QUORATE_BUSY) {
        stream->receiver_busy = true;
        return;
      }
      if (code != QUORATE_OK) stream->refused = true;
      stream->blocks.pop_front();
      if (stream->busy) {
        stream->busy = false;
        from->receiver.on_stream(from->receiver.ctx, stream->user, QUORATE_STREAM_READY,
                                 QUORATE_OK);
      }
    } else if (stream->finished || stream->refused) {
      stream->ended = true;
      return receiver.snapshot_end(receiver.ctx, stream->name, stream->finish_code);
    } else {
      return;
    }
    pump(stream);
  }
  static void on_snapshot(quorate_transport* handle, uint64_t name, uint32_t event,
                          quorate_status code) {
    Node& node = *of(handle);
    const auto found = node.incoming.find(name);
    if (found == node.incoming.end()) return;
    const std::shared_ptr<Stream> stream = found->second;
    if (event == QUORATE_STREAM_READY) {
      stream->receiver_busy = false;
      return pump(stream);
    }
    node.incoming.erase(found);
    stream->ended = true;
    stream->refused = true;
    if (stream->finished)
      node.network->later(node.network->delay(), [stream, code] { done(stream, code); });
  }

  static const void* get_extension(quorate_transport*, const char*) { return nullptr; }
};

const quorate_plugin& SimNetwork::plugin() {
  static constexpr quorate_transport_factory factory = {sizeof(quorate_transport_factory),
                                                        0,
                                                        SimTable::create,
                                                        SimTable::stop,
                                                        SimTable::destroy,
                                                        SimTable::listen,
                                                        SimTable::set_self,
                                                        SimTable::set_peer,
                                                        SimTable::remove_peer,
                                                        SimTable::send,
                                                        SimTable::call,
                                                        SimTable::reply,
                                                        SimTable::stream_open,
                                                        SimTable::stream_write,
                                                        SimTable::stream_finish,
                                                        SimTable::on_snapshot,
                                                        SimTable::get_extension};
  return test_plugin<factory>("org.quorate.transport.sim", "network");
}

}  // namespace quorate::test
