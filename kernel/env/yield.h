// SPDX-License-Identifier: Apache-2.0
// The policy under which the five shared classes are compiled: their locks (env/mutex.h), their
// atomics and the points between their steps. In a server a yield point is nothing and an Atomic is
// std::atomic. With QUORATE_INTERLEAVE they are compiled a second time, into a program that runs
// their operations on fibers (tests/interleave): there a yield point may switch to another fiber,
// so that every schedule can be tried, and what one fiber wrote is known to another only where the
// memory order says so.
#pragma once

#include <atomic>
#include <cstdint>

namespace quorate {

#ifdef QUORATE_INTERLEAVE

// What the program provides.
namespace interleave {

inline constexpr int kFibersMax = 4;

// What happened before, for each fiber: a vector clock (Mattern).
struct Seen {
  uint32_t until[kFibersMax + 1] = {};
};

void yield_point(const char* place);
// Runs others until wake(what); whoever is woken looks again.
void block(const void* what, const char* place);
void wake(const void* what);
// The running fiber hands on what it knows, or takes it over.
void release(Seen& to);
void acquire(const Seen& from);
void wrote(const void* what);
void reads(const void* what);
// A run is being abandoned: its fibers run to their ends without locks.
bool abandoned();

}  // namespace interleave

inline void yield_point(const char* place) {
  interleave::yield_point(place);
}
inline void wrote(const void* what) {
  interleave::wrote(what);
}
inline void reads(const void* what) {
  interleave::reads(what);
}

template <typename T>
class Atomic {
 public:
  Atomic(T value, const char* name) : value_(value), name_(name) {}
  T load(std::memory_order order) const {
    yield_point(name_);
    if (order != std::memory_order_relaxed) interleave::acquire(seen_);
    return value_;
  }
  void store(T value, std::memory_order order) {
    yield_point(name_);
    value_ = value;
    seen_ = {};
    if (order != std::memory_order_relaxed) interleave::release(seen_);
  }

 private:
  T value_;
  interleave::Seen seen_;
  const char* const name_;
};

#else

// place: names the point in a printed schedule; a literal. It stands before what others can see of
// a step.
inline void yield_point(const char*) {}
// Memory that is written once, then published, then read: the write, and each read.
inline void wrote(const void*) {}
inline void reads(const void*) {}

// name: for a printed schedule; a literal.
template <typename T>
class Atomic {
 public:
  Atomic(T value, const char*) : value_(value) {}
  T load(std::memory_order order) const { return value_.load(order); }
  void store(T value, std::memory_order order) { value_.store(value, order); }

 private:
  std::atomic<T> value_;
};

#endif

}  // namespace quorate
