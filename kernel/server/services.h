// SPDX-License-Identifier: Apache-2.0
// What a front-end gets: the functions of quorate_services over the loops. Every call checks,
// copies once into a slab that the server counts, and posts; a batch is one post for each loop it
// concerns.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/slab.h"
#include "quorate/frontend.h"
#include "server/apply_loop.h"
#include "server/config.h"
#include "server/member_state.h"
#include "server/pending.h"
#include "server/raft_loop.h"
#include "server/read_job.h"

namespace quorate::server {

// One for each front-end. Lives until the front-end is destroyed; after the loops have stopped its
// functions refuse or ignore everything.
class Services {
 public:
  struct Parts {
    const Config* config = nullptr;
    MemberState* state = nullptr;
    PendingCalls* pending = nullptr;
    RaftLoop* raft = nullptr;
    ApplyLoop* apply = nullptr;
    Pool* pool = nullptr;
    Clock* clock = nullptr;
    ReadServices reads;
    std::shared_ptr<SlabCounter> slabs;
    std::atomic<uint64_t>* next_stream = nullptr;  // of streams and pulls; never used twice
    std::atomic<uint64_t>* next_lease = nullptr;   // what prepare makes lease ids from
    bool for_peers = false;  // what they ask is for this member to answer, not to hand on
  };
  explicit Services(const Parts& parts);
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  const quorate_services* table() const { return &table_; }

 private:
  struct Sorted;  // a batch, by where each call goes
  static Services* self(void* ctx) { return static_cast<Services*>(ctx); }

  void submit_batch(quorate_on_done on_done, void* sink, quorate_submission* items, size_t stride,
                    size_t count);
  Status submit(const quorate_submission& item, Slab& slab, PendingCall& call, Sorted& sorted);
  // bytes_before: of the batch's proposals so far.
  Status admit(const apply::Request& request, apply::Route route, uint64_t bytes_before);
  void propose(const apply::Request& request, char* entry, Slab& slab, PendingCall& call,
               Sorted& sorted);
  Question question(const PendingCall& call, apply::Request request) const;
  int64_t make_lease_id();
  // At most `timeout_ms` from now, or sooner if the caller wants it so.
  uint64_t deadline_of(const quorate_call* call, uint64_t timeout_ms) const;
  quorate_status watch_open(const quorate_call* call, quorate_on_watch on_watch, void* user,
                            uint64_t* stream, quorate_error* error);
  quorate_status range_open(const quorate_call* call, quorate_slice request,
                            quorate_on_piece on_piece, void* user, uint64_t* pull,
                            quorate_error* error);

  const Parts parts_;
  quorate_services table_{};
};

}  // namespace quorate::server
