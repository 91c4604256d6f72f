// SPDX-License-Identifier: Apache-2.0
// What the parts of one transport share: who we are, the receiver, timers, and the list of
// connections that have something to write at the end of the turn. I/O thread only, but for what
// says otherwise.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quorate/transport.h"
#include "sdk/host.h"
#include "transport_tcp/frame.h"

namespace boost::asio {
class io_context;
}

namespace quorate::transport_tcp {

class Connection;

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

struct Settings {
  milliseconds ping_interval, silent_after, dial_timeout, redial_min, redial_max;
  uint64_t message_bytes_max;  // of a message and of a call
  uint64_t block_bytes_max;    // of a snapshot
  uint64_t queue_bytes_max;    // of one peer and channel
  uint64_t window_bytes;       // of one incoming snapshot
};

// Figures of one peer: written by the I/O thread and by send(), read by any.
struct PeerGauge {
  std::atomic<uint64_t> queued[2] = {0, 0};  // bytes on each channel not yet written
  std::atomic<uint64_t> sent = 0, received = 0, failures = 0, rtt_us = 0;
  std::atomic<int64_t> state_since_ms = 0;
};

inline int64_t in_ms(Time time) {
  return std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
}
// What arrives on the wire may be a code that is not known here.
inline uint16_t wire_code(quorate_status code) {
  return static_cast<uint16_t>(code < 0 || code > 0xffff ? QUORATE_INTERNAL : code);
}

// The answer to a greeting.
struct Admission {
  quorate_status code = QUORATE_OK;
  std::string text;
};

class Core {
 public:
  using Timer = std::pair<Time, uint64_t>;

  Core(boost::asio::io_context& context, const quorate_receiver& kernel, Settings limits,
       sdk::Log to)
      : io(context), receiver(kernel), settings(limits), log(to) {}

  static Time now() { return Clock::now(); }

  // Runs once, in a turn of its own, unless cancelled before.
  Timer after(milliseconds delay, std::function<void()> run) {
    const Timer timer{now() + delay, next_timer_++};
    timers_.emplace(timer, std::move(run));
    if (timer == timers_.begin()->first) arm(timer.first);
    return timer;
  }
  // Nothing when it ran already.
  void cancel(const Timer& timer) { timers_.erase(timer); }
  void run_due() {
    while (!timers_.empty() && timers_.begin()->first.first <= now()) {
      const auto run = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      run();
    }
    if (!timers_.empty()) arm(timers_.begin()->first.first);
  }

  void mark_dirty(std::shared_ptr<Connection> connection) {
    dirty_.push_back(std::move(connection));
  }
  // Writes what the turn gave to write.
  void end_turn();

  quorate_status authorize(const quorate_peer_identity& identity) const {
    return receiver.authorize(receiver.ctx, &identity);
  }

  boost::asio::io_context& io;
  const quorate_receiver receiver;
  const Settings settings;
  const sdk::Log log;
  uint64_t cluster_id = 0, member_id = 0;
  bool stopping = false;  // no new work, no redial

  std::function<void(Time)> arm;
  // Judges who greets at an accepted connection; if OK, the connection has a user from here on.
  std::function<Admission(const std::shared_ptr<Connection>&, const Hello&)> admit;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections;

 private:
  std::map<Timer, std::function<void()>> timers_;
  uint64_t next_timer_ = 0;
  std::vector<std::shared_ptr<Connection>> dirty_;
};

}  // namespace quorate::transport_tcp
