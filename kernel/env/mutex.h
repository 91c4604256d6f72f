// SPDX-License-Identifier: Apache-2.0
// The locks of the shared classes, annotated for clang, and aware of fibers where env/yield.h asks
// for it. Loops share nothing else and need none.
#pragma once

#include <pthread.h>

#include <mutex>

#include "env/thread_annotations.h"
#include "env/yield.h"

namespace quorate {

#ifdef QUORATE_INTERLEAVE

class QUORATE_CAPABILITY("mutex") Mutex {
 public:
  explicit Mutex(const char* name) : name_(name) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() QUORATE_ACQUIRE() {
    yield_point(name_);
    while (held_ && !interleave::abandoned()) interleave::block(this, name_);
    held_ = true;
    interleave::acquire(seen_);
  }
  void unlock() QUORATE_RELEASE() {
    interleave::release(seen_);
    held_ = false;
    interleave::wake(this);
  }

 private:
  bool held_ = false;
  interleave::Seen seen_;
  const char* const name_;
};

class QUORATE_CAPABILITY("mutex") SharedMutex {
 public:
  explicit SharedMutex(const char* name) : name_(name) {}
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() QUORATE_ACQUIRE() {
    yield_point(name_);
    ++writers_waiting_;
    while ((writer_ || readers_ > 0) && !interleave::abandoned()) interleave::block(this, name_);
    --writers_waiting_;
    writer_ = true;
    interleave::acquire(seen_);
  }
  void unlock() QUORATE_RELEASE() {
    interleave::release(seen_);
    writer_ = false;
    interleave::wake(this);
  }
  void lock_shared() QUORATE_ACQUIRE_SHARED() {
    yield_point(name_);
    while ((writer_ || writers_waiting_ > 0) && !interleave::abandoned())
      interleave::block(this, name_);
    ++readers_;
    interleave::acquire(seen_);
  }
  void unlock_shared() QUORATE_RELEASE_SHARED() {
    interleave::release(seen_);
    --readers_;
    interleave::wake(this);
  }

 private:
  bool writer_ = false;
  int readers_ = 0, writers_waiting_ = 0;
  interleave::Seen seen_;
  const char* const name_;
};

#else

// name: for a printed schedule; a literal.
class QUORATE_CAPABILITY("mutex") Mutex {
 public:
  explicit Mutex(const char*) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() QUORATE_ACQUIRE() { mutex_.lock(); }
  void unlock() QUORATE_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Shared among readers, exclusive for the one writer, and the writer goes first. std::shared_mutex
// prefers readers: two that list without a pause held a writer up for seconds. Not recursive, not
// even shared.
class QUORATE_CAPABILITY("mutex") SharedMutex {
 public:
  explicit SharedMutex(const char*) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;
  ~SharedMutex() { pthread_rwlock_destroy(&lock_); }

  void lock() QUORATE_ACQUIRE() { pthread_rwlock_wrlock(&lock_); }
  void unlock() QUORATE_RELEASE() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() QUORATE_ACQUIRE_SHARED() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() QUORATE_RELEASE_SHARED() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

#endif

template <typename Lock>
class QUORATE_SCOPED_CAPABILITY LockGuard {
 public:
  explicit LockGuard(Lock& lock) QUORATE_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;
  ~LockGuard() QUORATE_RELEASE() { lock_.unlock(); }

 private:
  Lock& lock_;
};
using MutexLock = LockGuard<Mutex>;
using WriterLock = LockGuard<SharedMutex>;

class QUORATE_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& lock) QUORATE_ACQUIRE_SHARED(lock) : lock_(lock) {
    lock_.lock_shared();
  }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;
  ~ReaderLock() QUORATE_RELEASE_GENERIC() { lock_.unlock_shared(); }

 private:
  SharedMutex& lock_;
};

}  // namespace quorate
