// SPDX-License-Identifier: Apache-2.0
// Snapshots, each on a connection of its own. The receiver grants credit: how far, in bytes
// of frames, the sender may go on. So what is under way is bounded by the receiver's window and
// one block, and a receiver that is busy stops the sender's worker and nothing else.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "transport_tcp/link.h"
#include "transport_tcp/parts.h"

namespace quorate::transport_tcp {

class OutgoingStreams;
class Transport;

// An outgoing snapshot: the worker's side of it is write() and finish().
//
// Life: opened, then finished by the worker, then over by the receiver's verdict or the loss of the
// connection; when both are true on_stream(DONE) is called, and nothing names it any more.
class OutgoingStream final : public Link, public std::enable_shared_from_this<OutgoingStream> {
 public:
  OutgoingStream(Core& core, Transport& transport, OutgoingStreams& streams, uint64_t to,
                 Parts meta, void* user);

  // The worker's. True in `wake`: the I/O thread shall call run().
  quorate_status write(const quorate_buf& block, bool& wake);
  void finish(quorate_status code);

  // The I/O thread's, from here on.
  void start(Addresses addresses);
  void run();
  void give_up(quorate_status code);
  uint64_t to() const { return to_; }
  Transport& transport() { return transport_; }

 private:
  void opened() override;
  bool received(std::span<const Frame> frames) override;
  void lost(const Closure& closure) override;
  void end_with(quorate_status verdict);
  void note_ready();

  Transport& transport_;
  OutgoingStreams& streams_;
  const uint64_t to_;
  Parts meta_;
  void* const user_;
  bool end_sent_ = false;
  bool reported_ = false;

  std::mutex mutex_;  // guards what follows
  std::deque<SharedBuf> blocks_;
  uint64_t accepted_ = 0;  // bytes taken from the worker
  uint64_t credit_ = 1;    // it may be exceeded by one block, so the first needs no grant
  bool writer_waits_ = false;
  bool finished_ = false;
  quorate_status finish_code_ = QUORATE_OK;
  bool over_ = false;
  quorate_status verdict_ = QUORATE_OK;
};

class OutgoingStreams {
 public:
  void add(std::shared_ptr<OutgoingStream> stream);
  void remove(OutgoingStream* stream) { streams_.erase(stream); }
  void give_up(uint64_t member_id);
  void give_up_all();
  bool idle() const { return streams_.empty(); }

 private:
  std::map<OutgoingStream*, std::shared_ptr<OutgoingStream>> streams_;
};

// An incoming one, from its BEGIN to the kernel's verdict, which may come after its connection is
// gone. Invariant: snapshot_end() is called once for each snapshot_begin().
class IncomingStream final : public ConnectionUser {
 public:
  IncomingStream(Core& core, std::shared_ptr<Connection> connection, uint64_t name, uint64_t from);
  ~IncomingStream() override;

  uint64_t from() const { return from_; }
  void on_snapshot(uint32_t event, quorate_status code);
  // The connection is closed from our side.
  void give_up();
  // Nobody names it any more: the kernel never did or gave its verdict, and the sender has left.
  bool over() const { return over_ && !connection_; }
  // The kernel has not given its verdict.
  bool judged() const { return over_; }

 private:
  bool received(std::span<const Frame> frames) override;
  void closed(const Closure& closure) override;
  bool take(const Frame& frame);
  void advance();
  void end(quorate_status code);
  void grant();

  enum class Stage { kNothing, kBeginning, kBlocks, kEnded };

  Core& core_;
  std::shared_ptr<Connection> connection_;
  const uint64_t name_;
  const uint64_t from_;
  Stage stage_ = Stage::kNothing;
  std::string meta_;
  std::deque<std::string> blocks_;  // not yet taken by the kernel
  uint64_t received_ = 0, taken_ = 0, granted_ = 0;
  bool begun_ = false;  // the kernel was asked
  bool busy_ = false;   // until on_snapshot(READY)
  bool sender_ended_ = false;
  quorate_status failure_ = QUORATE_OK;  // what the kernel refused with
  bool over_ = false;
};

}  // namespace quorate::transport_tcp
