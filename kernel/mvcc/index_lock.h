// SPDX-License-Identifier: Apache-2.0
// The lock of the key index: shared among readers, exclusive for the one writer, and the writer
// goes first. std::shared_mutex prefers readers: two that list without a pause held a writer up for
// seconds. Not recursive, not even shared.
#pragma once

#include <pthread.h>

#include "env/yield.h"

namespace quorate::mvcc {

class IndexLock {
 public:
  IndexLock() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  IndexLock(const IndexLock&) = delete;
  IndexLock& operator=(const IndexLock&) = delete;
  ~IndexLock() { pthread_rwlock_destroy(&lock_); }

  void lock() {
    yield_point("index.lock");
    pthread_rwlock_wrlock(&lock_);
  }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() {
    yield_point("index.lock_shared");
    pthread_rwlock_rdlock(&lock_);
  }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

}  // namespace quorate::mvcc
