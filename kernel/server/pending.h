// SPDX-License-Identifier: Apache-2.0
// The calls that wait for their answer, by id. Whoever takes a call out completes it, so an answer,
// a cancel, a timeout and a stop may race and each call is still completed exactly once. One of the
// five shared classes: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/bytes.h"
#include "base/status.h"
#include "env/mutex.h"
#include "quorate/frontend.h"

namespace quorate::server {

// How to reach who called: the front-end's callback and its own names.
struct Caller {
  quorate_on_done on_done = nullptr;
  void* sink = nullptr;
  void* user = nullptr;
};

struct PendingCall {
  uint64_t id = 0;  // the call's, and its entry's request id
  Caller caller;
  uint64_t deadline_ns = 0;
  bool proposed = false;       // may take effect even if nobody waits for it any more
  bool physical = false;       // a compaction that is answered when the engine has forgotten
  Code late = Code::kTimeout;  // what the caller is told when the deadline passes

  // What a caller is told who gets no answer because of `code`.
  Code given_up(Code code) const { return proposed ? Code::kUnknownOutcome : code; }
};

class PendingCalls {
 public:
  // first_id: the first of the ids given out; ids of different members and starts must not meet, so
  // it is drawn by the server.
  explicit PendingCalls(uint64_t first_id) : next_id_(first_id) {}

  // Reserves `count` ids that follow one another; the first.
  uint64_t reserve(size_t count);
  // Registers calls with ids from reserve().
  void add(std::span<const PendingCall> calls);
  // Takes one call out; nothing when it was completed already (or is another member's).
  std::optional<PendingCall> take(uint64_t id);
  // Takes out all whose deadline is at or before `now_ns`, ordered by id.
  std::vector<PendingCall> take_expired(uint64_t now_ns);
  // Takes out all that are left, ordered by id.
  std::vector<PendingCall> take_all();
  size_t size() const;

 private:
  mutable Mutex mutex_{"pending"};
  uint64_t next_id_ QUORATE_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, PendingCall> calls_ QUORATE_GUARDED_BY(mutex_);
};

// One answer on its way to its caller.
struct Completion {
  Caller caller;
  Code code = Code::kOk;
  Bytes response;  // a bare segment, schema::Response
};

// Hands over all of `completions` in order, one call for each run of one sink, and clears the
// vector. [a loop or a pool thread]
void deliver(std::vector<Completion>& completions);

}  // namespace quorate::server
