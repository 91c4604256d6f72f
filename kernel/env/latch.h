// SPDX-License-Identifier: Apache-2.0
// A door that is opened once. For the host thread, which may wait for the loops; a loop never
// waits.
#pragma once

#include <condition_variable>
#include <mutex>

namespace quorate {

class Latch {
 public:
  // [any thread]
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  bool is_open() {
    std::lock_guard lock(mutex_);
    return open_;
  }
  // Returns once it is open. [host thread]
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;  // guarded by mutex_
};

}  // namespace quorate
