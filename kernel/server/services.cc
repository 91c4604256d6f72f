// SPDX-License-Identifier: Apache-2.0
#include "server/services.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"

namespace quorate::server {
namespace {

constexpr uint64_t kTimeoutMsMax = 3'600'000;  // nobody waits longer

void fill_error(quorate_error* error, const Status& status) {
  if (error == nullptr) return;
  error->code = static_cast<quorate_status>(status.code());
  error->native_code = 0;
  const std::string_view message = status.message();
  const size_t size = std::min(message.size(), sizeof error->message - 1);
  std::memcpy(error->message, message.data(), size);
  error->message[size] = '\0';
}

bool reads_on_pool(const apply::Request& request) {
  return request.get_if<apply::RangeOp>() || request.get_if<apply::TxnOp>() ||
         request.get_if<apply::HashOp>() || request.get_if<apply::HashKvOp>();
}

}  // namespace

struct Services::Sorted {
  std::vector<PendingCall> calls;
  Proposals proposals;
  uint64_t proposal_bytes = 0;                // of them
  std::vector<ReadCall> linearizable, local;  // for the reader pool
  ReadWaiter confirmed;                       // questions behind a read-index round
  LeaderRequest for_leader;                   // questions that only it can answer
  Ask ask;                                    // questions without one
};

Services::Services(const Parts& parts) : parts_(parts) {
  table_.struct_size = sizeof table_;
  table_.ctx = this;
  table_.submit_batch = [](void* ctx, quorate_on_done on_done, void* sink,
                           quorate_submission* items, size_t stride, size_t count) {
    self(ctx)->submit_batch(on_done, sink, items, stride, count);
  };
  table_.cancel = [](void* ctx, uint64_t call) { self(ctx)->parts_.apply->post(CancelCall{call}); };
  table_.watch_open = [](void* ctx, const quorate_call* call, quorate_on_watch on_watch, void* user,
                         uint64_t* stream, quorate_error* error) {
    return self(ctx)->watch_open(call, on_watch, user, stream, error);
  };
  table_.watch_add = [](void* ctx, uint64_t stream, uint64_t watch, quorate_slice request) {
    self(ctx)->parts_.apply->post(WatchAdd{stream, watch, Bytes::copy(from_c(request))});
    return static_cast<quorate_status>(QUORATE_OK);
  };
  table_.watch_remove = [](void* ctx, uint64_t stream, uint64_t watch) {
    self(ctx)->parts_.apply->post(WatchCall{WatchCall::Kind::kRemove, stream, watch});
  };
  table_.watch_progress = [](void* ctx, uint64_t stream) {
    self(ctx)->parts_.apply->post(WatchCall{WatchCall::Kind::kProgress, stream, 0});
  };
  table_.watch_resume = [](void* ctx, uint64_t stream) {
    self(ctx)->parts_.apply->post(WatchCall{WatchCall::Kind::kResume, stream, 0});
  };
  table_.watch_close = [](void* ctx, uint64_t stream) {
    self(ctx)->parts_.apply->post(WatchCall{WatchCall::Kind::kClose, stream, 0});
  };
  table_.range_open = [](void* ctx, const quorate_call* call, quorate_slice request,
                         quorate_on_piece on_piece, void* user, uint64_t* pull,
                         quorate_error* error) {
    return self(ctx)->range_open(call, request, on_piece, user, pull, error);
  };
  table_.range_credit = [](void* ctx, uint64_t pull, uint64_t bytes) {
    self(ctx)->parts_.apply->post(PullCall{PullCall::Kind::kCredit, pull, bytes});
  };
  table_.range_rewind = [](void* ctx, uint64_t pull) {
    self(ctx)->parts_.apply->post(PullCall{PullCall::Kind::kRewind, pull, 0});
  };
  table_.range_close = [](void* ctx, uint64_t pull) {
    self(ctx)->parts_.apply->post(PullCall{PullCall::Kind::kClose, pull, 0});
  };
  table_.snapshot_open = [](void*, const quorate_call*, uint32_t, quorate_on_piece, void*,
                            uint64_t*, quorate_error* error) {
    fill_error(error, Status(Code::kUnsupported, "snapshots are not served yet"));
    return static_cast<quorate_status>(QUORATE_UNSUPPORTED);
  };
  table_.get_extension = [](void*, const char*) -> const void* { return nullptr; };
}

void Services::submit_batch(quorate_on_done on_done, void* sink, quorate_submission* items,
                            size_t stride, size_t count) {
  const auto item_at = [&](size_t i) -> quorate_submission& {
    return *reinterpret_cast<quorate_submission*>(reinterpret_cast<char*>(items) + i * stride);
  };
  // Every request gets room for an entry's header in front, so that a write is an entry where it
  // lies and is never copied again.
  const size_t header_bytes = apply::entry_size({.user = {}}, 0);
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += Slab::rounded(header_bytes + item_at(i).request.size);
  Slab slab(bytes, parts_.slabs);
  const uint64_t first_id = parts_.pending->reserve(count);
  Sorted sorted;
  for (size_t i = 0; i < count; ++i) {
    quorate_submission& item = item_at(i);
    PendingCall call;
    call.id = item.call_id = first_id + i;
    call.caller = {on_done, sink, item.user};
    const Status status = submit(item, slab, call, sorted);
    item.status = static_cast<quorate_status>(status.code());
    if (status.ok()) sorted.calls.push_back(call);
  }
  // Registered before anything is posted: the answer may come before this call returns.
  parts_.pending->add(sorted.calls);
  if (!sorted.proposals.items.empty()) parts_.raft->propose(std::move(sorted.proposals));
  if (!sorted.for_leader.questions.empty()) parts_.raft->post(std::move(sorted.for_leader));
  if (!sorted.local.empty())
    parts_.pool->submit(std::make_unique<ReadJob>(parts_.reads, std::move(sorted.local)));
  if (!sorted.linearizable.empty())
    sorted.confirmed.job = std::make_unique<ReadJob>(parts_.reads, std::move(sorted.linearizable));
  if (sorted.confirmed.job || !sorted.confirmed.questions.empty()) {
    ReadRequest reads;
    reads.waiters.push_back(std::move(sorted.confirmed));
    parts_.raft->post(std::move(reads));
  }
  if (!sorted.ask.questions.empty()) parts_.apply->post(std::move(sorted.ask));
}

Status Services::submit(const quorate_submission& item, Slab& slab, PendingCall& call,
                        Sorted& sorted) {
  const Slice bytes = from_c(item.request);
  const size_t header_bytes = apply::entry_size({.user = {}}, 0);
  char* const entry = slab.reserve(header_bytes + bytes.size());
  char* const body = entry + header_bytes;
  if (!bytes.empty()) std::memcpy(body, bytes.data(), bytes.size());
  if (parts_.state->stopping.load(std::memory_order_relaxed))
    return Status(Code::kStopped, "the member is stopping");

  Result<apply::Request> request = apply::Request::decode_client(slab.share(body, bytes.size()));
  if (!request) return std::move(request).error();
  if (item.call != nullptr && (item.call->flags & QUORATE_CALL_HAS_LEADER) != 0 &&
      parts_.state->leader.load(std::memory_order_relaxed) == 0)
    return Status(Code::kNoLeader, "this member knows no leader");
  const apply::Route route = apply::route(*request);
  QUORATE_TRY(admit(*request, route, sorted.proposal_bytes));
  // Of a read that waits for nobody only its caller may find that it takes too long.
  const bool waits = !(route == apply::Route::kSerializable || route == apply::Route::kLocal) ||
                     !reads_on_pool(*request);
  call.deadline_ns =
      deadline_of(item.call, waits ? request_timeout_ms(*parts_.config) : kTimeoutMsMax);

  switch (route) {
    case apply::Route::kLog: propose(*request, entry, slab, call, sorted); return Status();
    case apply::Route::kLinearizable:
      sorted.confirmed.deadline_ns = std::max(sorted.confirmed.deadline_ns, call.deadline_ns);
      if (reads_on_pool(*request)) {
        sorted.linearizable.push_back({call.id, call.deadline_ns, std::move(*request)});
      } else {
        sorted.confirmed.questions.push_back(question(call, std::move(*request)));
      }
      return Status();
    case apply::Route::kLeader:
      call.proposed = request->get_if<apply::MemberPromoteOp>() != nullptr;
      sorted.for_leader.questions.push_back(question(call, std::move(*request)));
      return Status();
    case apply::Route::kSerializable:
    case apply::Route::kLocal:
      if (request->get_if<apply::MoveLeaderOp>()) call.late = Code::kTransferTimeout;
      if (reads_on_pool(*request)) {
        sorted.local.push_back({call.id, call.deadline_ns, std::move(*request)});
      } else {
        sorted.ask.questions.push_back(question(call, std::move(*request)));
      }
      return Status();
    case apply::Route::kConfChange:
      call.proposed = true;
      sorted.ask.questions.push_back(question(call, std::move(*request)));
      return Status();
    case apply::Route::kPrepare: return Status(Code::kAuthNotEnabled, "auth is off");
  }
  return Status(Code::kUnsupported, "a request of an unknown kind");
}

Question Services::question(const PendingCall& call, apply::Request request) const {
  return {call.id, std::move(request), parts_.clock->now_ns(), call.deadline_ns, parts_.for_peers};
}

// What needs no log to be refused. The quota comes first, as in etcd.
Status Services::admit(const apply::Request& request, apply::Route route, uint64_t bytes_before) {
  if (parts_.state->fenced.load(std::memory_order_acquire) && apply::uses_data(request))
    return fenced_refusal(parts_.for_peers);
  if (route == apply::Route::kLog) {
    const uint64_t quota = quota_bytes(*parts_.config);
    const uint64_t cost = apply::cost(request);
    if (cost > 0 && quota > 0 && parts_.state->store_bytes() + cost >= quota) {
      parts_.state->quota_refused.store(true, std::memory_order_relaxed);
      return Status(Code::kQuotaExceeded, "the store is at its quota (--quota-backend-bytes)");
    }
  }
  QUORATE_TRY(
      apply::validate(request, {parts_.config->txn_ops_max, parts_.config->request_bytes_max}));
  if (route != apply::Route::kLog) return Status();
  const uint64_t commit = parts_.state->commit.load(std::memory_order_relaxed);
  const uint64_t applied = parts_.state->applied.load(std::memory_order_relaxed);
  if (commit > applied + parts_.config->apply_backlog_max)
    return Status(Code::kTooManyRequests, "apply is behind; try again later");
  if (parts_.raft->proposals_full(bytes_before))
    return Status(Code::kTooManyRequests, "too many bytes wait for the log; try again later");
  return Status();
}

void Services::propose(const apply::Request& request, char* entry, Slab& slab, PendingCall& call,
                       Sorted& sorted) {
  apply::EntryHeader header{.kind = apply::EntryKind::kClient, .request_id = call.id, .user = {}};
  if (const auto* grant = request.get_if<apply::LeaseGrantOp>(); grant != nullptr && grant->id == 0)
    header.prepared_id = static_cast<uint64_t>(make_lease_id());
  header.lease_ttl_min = lease_ttl_min(*parts_.config);
  if (const auto* compact = request.get_if<apply::CompactOp>()) call.physical = compact->physical;
  call.proposed = true;
  const Slice body = request.body().slice();
  apply::write_entry(entry, header, body);
  const size_t bytes = apply::entry_size(header, body.size());
  sorted.proposal_bytes += bytes;
  sorted.proposals.items.push_back({call.id, slab.share(entry, bytes), call.deadline_ns});
}

// Positive, not 0, and unlikely to meet one of another member or start: the counter begins at
// random.
int64_t Services::make_lease_id() {
  const uint64_t id =
      parts_.next_lease->fetch_add(1, std::memory_order_relaxed) & uint64_t{INT64_MAX};
  return id == 0 ? make_lease_id() : static_cast<int64_t>(id);
}

uint64_t Services::deadline_of(const quorate_call* call, uint64_t timeout_ms) const {
  if (call != nullptr && call->timeout_ms != 0) timeout_ms = std::min(timeout_ms, call->timeout_ms);
  return parts_.clock->now_ns() + timeout_ms * 1'000'000;
}

quorate_status Services::watch_open(const quorate_call* call, quorate_on_watch on_watch, void* user,
                                    uint64_t* stream, quorate_error* error) {
  Status status;
  if (parts_.state->stopping.load(std::memory_order_relaxed)) {
    status = Status(Code::kStopped, "the member is stopping");
  } else if (call != nullptr && (call->flags & QUORATE_CALL_HAS_LEADER) != 0 &&
             parts_.state->leader.load(std::memory_order_relaxed) == 0) {
    status = Status(Code::kNoLeader, "this member knows no leader");
  } else if (parts_.state->fenced.load(std::memory_order_acquire)) {
    status = fenced_refusal(false);
  } else {
    *stream = parts_.next_stream->fetch_add(1, std::memory_order_relaxed);
    parts_.apply->post(WatchOpen{*stream, on_watch, user});
  }
  fill_error(error, status);
  return static_cast<quorate_status>(status.code());
}

quorate_status Services::range_open(const quorate_call* call, quorate_slice request,
                                    quorate_on_piece on_piece, void* user, uint64_t* pull,
                                    quorate_error* error) {
  const auto open = [&]() -> Status {
    if (parts_.state->stopping.load(std::memory_order_relaxed))
      return Status(Code::kStopped, "the member is stopping");
    if (parts_.state->fenced.load(std::memory_order_acquire)) return fenced_refusal(false);
    Result<apply::Request> decoded = apply::Request::decode_client(Bytes::copy(from_c(request)));
    if (!decoded) return std::move(decoded).error();
    if (!decoded->get_if<apply::RangeOp>())
      return Status(Code::kInvalidArgument, "only a range can be pulled in pieces");
    QUORATE_TRY(
        apply::validate(*decoded, {parts_.config->txn_ops_max, parts_.config->request_bytes_max}));
    const bool linearizable = apply::route(*decoded) == apply::Route::kLinearizable;
    const uint64_t deadline_ns = deadline_of(call, request_timeout_ms(*parts_.config));
    ApplyLoop* const loop = parts_.apply;
    auto object = std::make_shared<Pull>(std::move(*decoded), on_piece, user, parts_.reads.source,
                                         parts_.state, parts_.clock, parts_.pool, deadline_ns,
                                         [loop] { loop->wake(); });
    *pull = parts_.next_stream->fetch_add(1, std::memory_order_relaxed);
    loop->post(PullOpen{*pull, std::move(object)});
    if (!linearizable) {
      loop->post(PullCall{PullCall::Kind::kStart, *pull, 0});
    } else {
      ReadRequest reads;
      reads.waiters.push_back({nullptr, {}, *pull, deadline_ns});
      parts_.raft->post(std::move(reads));
    }
    return Status();
  };
  const Status status = open();
  fill_error(error, status);
  return static_cast<quorate_status>(status.code());
}

}  // namespace quorate::server
