// SPDX-License-Identifier: Apache-2.0
// What can happen to a running member, seen from the main thread: it got ready, it failed, it was
// removed from its cluster, or the operator sent a signal. The member's loops note; the main thread
// waits.
#pragma once

#include <mutex>

#include "base/status.h"
#include "server/server.h"

namespace quorate::daemon {

enum class HostEvent { kReady, kFailed, kRemoved, kSignal };

class HostEvents final : public server::ServerEvents {
 public:
  // Blocks SIGTERM and SIGINT in the calling thread, and so in those it starts later: from here on
  // they arrive in wait() only.
  HostEvents();
  HostEvents(const HostEvents&) = delete;
  HostEvents& operator=(const HostEvents&) = delete;
  ~HostEvents() override;

  void ready() override;
  void failed(const Status& status) override;
  void removed() override;

  // The next event; each comes once. A failure comes before all else. [main thread]
  HostEvent wait();
  // After wait() said kFailed.
  Status failure();
  // From here on a signal ends the process.
  void let_signals_end_the_process();

 private:
  void note();

  std::mutex mutex_;
  bool ready_ = false;    // guarded by mutex_
  bool removed_ = false;  // guarded by mutex_
  Status failure_;        // guarded by mutex_
  const int noted_fd_;    // an eventfd, readable after note()
  const int signal_fd_;   // a signalfd
};

}  // namespace quorate::daemon
