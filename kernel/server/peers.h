// SPDX-License-Identifier: Apache-2.0
// A member's side of its transport: raft messages out and in, the calls that members make to each
// other, who may connect, and where each peer lives.
//
// The transport listens before the member knows who it is, since a joiner must ask others for its
// cluster; until attach() nothing but those questions passes.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/slab.h"
#include "cluster/member.h"
#include "env/env.h"
#include "plugin/transport.h"
#include "server/apply_loop.h"
#include "server/config.h"
#include "server/first_cluster.h"
#include "server/member_state.h"
#include "server/message_codec.h"
#include "server/peer_book.h"
#include "server/raft_loop.h"
#include "server/snapshot_receiver.h"

namespace quorate::server {

// Sends messages from one loop; each loop that sends has its own.
class MessageSender {
 public:
  explicit MessageSender(plugin::Transport* transport) : transport_(transport) {}
  // None of them to this member. Appends and proposals take the append channel.
  void send(const std::vector<raft::Message>& messages);

 private:
  plugin::Transport* transport_;
  MessageEncoder encoder_;
  std::vector<Bytes> parts_;
  std::vector<quorate_buf> bufs_;
  std::vector<quorate_message> messages_;
};

class Peers {
 public:
  // All of it outlives the transport's last call, which ends with stop().
  struct Wiring {
    const MemberState* state = nullptr;
    RaftLoop* raft = nullptr;
    ApplyLoop* apply = nullptr;
    const quorate_services* services = nullptr;  // a peer's request goes where a client's would
    SnapshotReceiver* snapshots = nullptr;
    std::function<void()> on_removed;  // a peer says that this member was removed. [any thread]
  };

  // Creates the transport and binds it to the member's peer URLs; an error is the operator's.
  static Result<std::unique_ptr<Peers>> create(const plugin::TransportFactory& factory,
                                               const Config& config, plugin::HostServices host,
                                               Clock* clock, const Logger& logger);
  ~Peers();

  // Asks whoever answers at one of `urls`, in turn, for its cluster. Waits, at most `timeout_ms`
  // for each. kUnavailable: none had an answer. Before attach(). [host thread]
  Result<RemoteCluster> fetch_cluster(const std::vector<std::string>& urls, uint64_t timeout_ms);
  // From here on the member is `state`'s, and what comes goes to the loops. [host thread]
  void attach(const Wiring& wiring);

  // What the log says: these were members as of some entry, perhaps long ago while this one catches
  // up, and `removed` never come back. [raft loop]
  void set_members(const std::vector<cluster::Member>& members,
                   const std::vector<raft::NodeId>& removed);
  // What others say: these are members now. Whom the log or they told of before stays as it is.
  // [raft loop]
  void add_members(const std::vector<cluster::Member>& members);
  // Once a tick: looks for the addresses of those who spoke and are unknown here. [raft loop]
  void tick();
  // Hands the questions to the leader. Its answer completes each call; who cannot answer now makes
  // it a LeaderRequest again. [raft loop]
  void ask_leader(raft::NodeId leader, std::vector<Question> questions);

  // Asks `member` for its state hash at an applied index; a StateHashAnswer follows, also without
  // an answer. [any thread]
  void ask_state_hash(uint64_t round, uint64_t member, raft::Index index);

  plugin::Transport* transport() { return transport_.get(); }
  const PeerBook& book() const { return book_; }
  PeerBook& book() { return book_; }
  MessageSender& raft_sender() { return raft_sender_; }  // [raft loop]
  MessageSender& wal_sender() { return wal_sender_; }    // [WAL loop]

  // Takes no new work. Questions under way are answered still. [host thread]
  void stop(uint64_t drain_ms);

 private:
  struct Asked;
  Peers(Clock* clock, const Logger& logger);
  static Peers* self(void* ctx) { return static_cast<Peers*>(ctx); }
  void fill_receiver();

  quorate_status authorize(const quorate_peer_identity& who) const;
  void on_messages(uint64_t from, const quorate_slice* messages, size_t count);
  void on_peer(uint64_t peer, uint32_t state, const char* reason);
  void on_call(const quorate_peer_identity& who, uint64_t token, Slice request);
  void reply(uint64_t token, Code code, const Bytes& response);
  void answered(Asked& asked, Code code, Slice response);
  void learn_addresses(Code code, Slice response);
  std::optional<uint64_t> read_state_hash(const Asked& asked, Code code, Slice response) const;
  void ask_for_members(raft::NodeId peer);
  void connect(const cluster::Member& member);
  void note_known();

  Clock* const clock_;
  const Logger logger_;
  quorate_receiver receiver_{};
  std::unique_ptr<plugin::Transport> transport_;
  std::atomic<const Wiring*> wiring_{nullptr};
  Wiring wiring_storage_;
  PeerBook book_;
  const std::shared_ptr<SlabCounter> slabs_ = std::make_shared<SlabCounter>();
  MessageSender raft_sender_{nullptr}, wal_sender_{nullptr};
  // Raft loop's own.
  std::vector<cluster::Member> members_;  // those with an address, but this one
  std::map<raft::NodeId, std::vector<std::string>> logged_urls_;  // as set_members() heard last
  uint64_t next_guide_ = 0;  // which peer is asked for addresses next
};

}  // namespace quorate::server
