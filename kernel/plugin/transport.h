// SPDX-License-Identifier: Apache-2.0
// The transport table in C++: moves messages, calls and snapshots between members, and knows
// nothing of what is in them.
//
// Its end has three steps: stop(); then the server answers every outstanding call and ends every
// stream; then the destructor, after which the transport calls nothing any more.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugin/factory.h"
#include "quorate/transport.h"

namespace quorate::plugin {

using TransportFactory = Factory<quorate_transport_factory>;

struct TransportOptions {
  Options options;
  HostServices host;
};

// Owned by the server. Without a note: one call at a time. Errors carry the transport's name, the
// call and its own text.
class Transport {
 public:
  // receiver: outlives the transport.
  static Result<std::unique_ptr<Transport>> create(const TransportFactory& factory,
                                                   TransportOptions options,
                                                   const quorate_receiver* receiver);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  const std::string& name() const { return factory_.name(); }

  // Bound when this returns OK.
  Status listen(const std::string& url);
  // Before the first send().
  void set_self(uint64_t cluster_id, uint64_t member_id);
  // Takes no new work; returns within drain_ms. Its subscription to the member ends.
  void stop(uint64_t drain_ms);

  // From here on: never waits. set_peer and remove_peer on one loop, the rest on any thread.
  //
  // Replaces the addresses of a peer that is known.
  Status set_peer(uint64_t member_id, const std::vector<std::string>& urls);
  void remove_peer(uint64_t member_id);
  // May drop; keeps the order of each (peer, channel). The parts are lent for the call.
  void send(std::span<const quorate_message> messages);
  // member_id 0: whoever is at `url`. done comes exactly once, never from inside this call.
  void call(uint64_t member_id, const std::string& url, const quorate_buf& request,
            uint64_t timeout_ms, quorate_on_reply done, void* user);
  // Answers an on_call(token).
  void reply(uint64_t token, Code code, const quorate_buf& reply);
  // The verdict or the readiness for an incoming snapshot.
  void on_snapshot(uint64_t stream, uint32_t event, Code code);

  // An outgoing snapshot, on a pool thread. `user` is named until on_stream(DONE), which follows
  // stream_finish() and frees the stream.
  Result<quorate_stream*> stream_open(uint64_t to, const quorate_buf& meta, void* user);
  // kBusy: nothing was taken, on_stream(READY) follows. Another error: finish the stream.
  Code stream_write(quorate_stream* stream, const quorate_buf& block);
  void stream_finish(quorate_stream* stream, Code code);

  // nullptr when it has none; valid as long as the transport. Any thread.
  const void* extension(const char* id) const;
  // For calls of an extension.
  quorate_transport* handle() const { return handle_; }

 private:
  Transport(const TransportFactory& factory, HostServices host, Options options);

  const TransportFactory factory_;
  const quorate_transport_factory* const table_;
  ObjectContext context_;
  quorate_transport* handle_ = nullptr;
};

}  // namespace quorate::plugin
