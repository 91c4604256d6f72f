// SPDX-License-Identifier: Apache-2.0
// One transport: its I/O thread, listeners, mailbox, and the parts it is made of. The functions are
// those of quorate_transport_factory, with its threads and lifetimes. Throws sdk::Failure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport_tcp/core.h"

namespace quorate::transport_tcp {

class OutgoingStream;

class Transport {
 public:
  Transport(const quorate_receiver& receiver, const quorate_host* host, const Settings& settings);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  void listen(const std::string& url);
  void set_self(uint64_t cluster_id, uint64_t member_id);
  void stop(milliseconds drain);

  void set_peer(uint64_t member_id, const std::vector<std::string>& urls);
  void remove_peer(uint64_t member_id);
  void send(const quorate_message* messages, size_t count);
  void call(uint64_t member_id, const char* url, const quorate_buf& request, uint64_t timeout_ms,
            quorate_on_reply done, void* user);
  void reply(uint64_t token, quorate_status code, const quorate_buf* reply);
  void on_snapshot(uint64_t stream, uint32_t event, quorate_status code);

  OutgoingStream* stream_open(uint64_t to, const quorate_buf* meta, void* user);
  static quorate_status stream_write(OutgoingStream& stream, const quorate_buf& block);
  static void stream_finish(OutgoingStream& stream, quorate_status code);

  size_t stats(quorate_peer_stats* out, size_t capacity);

 private:
  struct Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace quorate::transport_tcp
