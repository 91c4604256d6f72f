// SPDX-License-Identifier: Apache-2.0
#include "daemon/host_events.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"

namespace quorate::daemon {
namespace {

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

int blocked_signals_fd() {
  const sigset_t signals = ending_signals();
  QUORATE_CHECK(pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0, "signals cannot be blocked");
  return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

HostEvents::HostEvents()
    : noted_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), signal_fd_(blocked_signals_fd()) {
  QUORATE_CHECK(noted_fd_ >= 0 && signal_fd_ >= 0, "no descriptor is left at the start");
}

HostEvents::~HostEvents() {
  close(noted_fd_);
  close(signal_fd_);
}

void HostEvents::ready() {
  {
    std::lock_guard lock(mutex_);
    ready_ = true;
  }
  note();
}

void HostEvents::failed(const Status& status) {
  {
    std::lock_guard lock(mutex_);
    failure_ = status;
  }
  note();
}

void HostEvents::removed() {
  {
    std::lock_guard lock(mutex_);
    removed_ = true;
  }
  note();
}

void HostEvents::note() {
  // Can only fail when the counter is full, and then the main thread is being woken anyway.
  [[maybe_unused]] const int ignored = eventfd_write(noted_fd_, 1);
}

HostEvent HostEvents::wait() {
  while (true) {
    {
      std::lock_guard lock(mutex_);
      if (!failure_.ok()) return HostEvent::kFailed;
      if (std::exchange(removed_, false)) return HostEvent::kRemoved;
      if (std::exchange(ready_, false)) return HostEvent::kReady;
    }
    signalfd_siginfo signal;
    if (read(signal_fd_, &signal, sizeof(signal)) == sizeof(signal)) return HostEvent::kSignal;
    pollfd waited[] = {{noted_fd_, POLLIN, 0}, {signal_fd_, POLLIN, 0}};
    poll(waited, 2, -1);
    eventfd_t count;
    eventfd_read(noted_fd_, &count);
  }
}

Status HostEvents::failure() {
  std::lock_guard lock(mutex_);
  return failure_;
}

void HostEvents::let_signals_end_the_process() {
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace quorate::daemon
