// SPDX-License-Identifier: Apache-2.0
#include "server/pending.h"

#include <algorithm>

#include "base/check.h"

namespace quorate::server {
namespace {

void sort_by_id(std::vector<PendingCall>& calls) {
  std::sort(calls.begin(), calls.end(),
            [](const PendingCall& a, const PendingCall& b) { return a.id < b.id; });
}

}  // namespace

uint64_t PendingCalls::reserve(size_t count) {
  const MutexLock lock(mutex_);
  const uint64_t first = next_id_;
  next_id_ += count;
  return first;
}

void PendingCalls::add(std::span<const PendingCall> calls) {
  const MutexLock lock(mutex_);
  for (const PendingCall& call : calls) {
    const bool fresh = calls_.emplace(call.id, call).second;
    QUORATE_CHECK(fresh, "a call id was given out twice");
  }
}

std::optional<PendingCall> PendingCalls::take(uint64_t id) {
  const MutexLock lock(mutex_);
  auto found = calls_.find(id);
  if (found == calls_.end()) return std::nullopt;
  PendingCall call = found->second;
  calls_.erase(found);
  return call;
}

std::vector<PendingCall> PendingCalls::take_expired(uint64_t now_ns) {
  std::vector<PendingCall> expired;
  {
    const MutexLock lock(mutex_);
    absl::erase_if(calls_, [&](const auto& entry) {
      if (entry.second.deadline_ns > now_ns) return false;
      expired.push_back(entry.second);
      return true;
    });
  }
  sort_by_id(expired);
  return expired;
}

std::vector<PendingCall> PendingCalls::take_all() {
  std::vector<PendingCall> all;
  {
    const MutexLock lock(mutex_);
    for (const auto& entry : calls_) all.push_back(entry.second);
    calls_.clear();
  }
  sort_by_id(all);
  return all;
}

size_t PendingCalls::size() const {
  const MutexLock lock(mutex_);
  return calls_.size();
}

void deliver(std::vector<Completion>& completions) {
  std::vector<quorate_completion> batch;
  for (size_t begin = 0; begin < completions.size();) {
    const Caller& caller = completions[begin].caller;
    batch.clear();
    size_t end = begin;
    for (; end < completions.size() && completions[end].caller.sink == caller.sink &&
           completions[end].caller.on_done == caller.on_done;
         ++end) {
      const Completion& done = completions[end];
      batch.push_back(
          {done.caller.user, static_cast<quorate_status>(done.code), 0, done.response.lend()});
    }
    caller.on_done(caller.sink, batch.data(), batch.size());
    begin = end;
  }
  completions.clear();
}

}  // namespace quorate::server
