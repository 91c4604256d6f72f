// SPDX-License-Identifier: Apache-2.0
// What others dialled: who may come in, and what each connection brings. I/O thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "transport_tcp/calls.h"
#include "transport_tcp/connection.h"
#include "transport_tcp/core.h"
#include "transport_tcp/snapshots.h"

namespace quorate::transport_tcp {

class Sessions {
 public:
  Sessions(Core& core, Answers& answers);
  ~Sessions();

  // If the code is OK the connection has its user.
  Admission admit(const std::shared_ptr<Connection>& connection, const Hello& hello);

  void on_snapshot(uint64_t stream, uint32_t event, quorate_status code);
  // Closes what a member dialled.
  void close_member(uint64_t member_id);
  void close_all();
  bool idle() const;
  // Frees what is over.
  void tick();

 private:
  class Messages;
  class Questions;

  Admission judge(const Connection& connection, const Hello& hello) const;
  size_t streams_from(uint64_t member_id) const;

  Core& core_;
  Answers& answers_;
  // The newest connection of a (member, channel) is the only one: else what comes late on an old
  // one would break the order.
  std::map<std::pair<uint64_t, uint32_t>, std::unique_ptr<Messages>> messages_;
  std::map<Connection*, std::unique_ptr<Questions>> questions_;
  std::map<uint64_t, std::unique_ptr<IncomingStream>> streams_;
  uint64_t next_stream_ = 1;
};

}  // namespace quorate::transport_tcp
