// SPDX-License-Identifier: Apache-2.0
#include "server/snapshot_inbox.h"

#include <utility>

#include "base/check.h"
#include "env/yield.h"

namespace quorate::server {

Code SnapshotInbox::begin(uint64_t stream, const SnapshotHead& head) {
  yield_point("snapshot_inbox");
  std::lock_guard lock(mutex_);
  if (closed_) return Code::kStopped;
  switch (phase_) {
    case Phase::kFree:
      // Whoever waited may have lost its sender, and then nobody says so: it holds no place.
      phase_ = Phase::kOpen;
      stream_ = stream;
      head_ = head;
      waiting_ = 0;
      full_ = ended_ = false;
      failure_ = Code::kOk;
      return Code::kOk;
    case Phase::kHeld: return Code::kUnavailable;
    case Phase::kOpen:
      // Whoever leads now, in this term or a later one, has no other stream on its way: the open
      // one has lost its sender, or its sender the leadership.
      if (head.term < head_.term) return Code::kUnavailable;
      phase_ = Phase::kGivenUp;
      blocks_.clear();
      waiting_ = stream;
      return Code::kBusy;
    case Phase::kGivenUp:
      if (waiting_ != 0 && waiting_ != stream) return Code::kUnavailable;
      waiting_ = stream;
      return Code::kBusy;
  }
  return Code::kInternal;
}

Code SnapshotInbox::push(uint64_t stream, Slice block) {
  yield_point("snapshot_inbox");
  std::lock_guard lock(mutex_);
  if (closed_) return Code::kStopped;
  if (phase_ != Phase::kOpen || stream_ != stream || ended_) return Code::kCancelled;
  if (failure_ != Code::kOk) return failure_;
  if (bytes_ >= kSnapshotInboxBytesMax) {
    full_ = true;
    return Code::kBusy;
  }
  blocks_.push_back(Bytes::copy(block));
  bytes_ += block.size();
  return Code::kOk;
}

bool SnapshotInbox::end(uint64_t stream, Code sender) {
  yield_point("snapshot_inbox");
  std::lock_guard lock(mutex_);
  if (waiting_ == stream) waiting_ = 0;
  if (closed_ || phase_ != Phase::kOpen || stream_ != stream || ended_) return false;
  ended_ = true;
  sender_ = sender;
  return true;
}

SnapshotInbox::Taken SnapshotInbox::take() {
  yield_point("snapshot_inbox");
  std::lock_guard lock(mutex_);
  Taken taken;
  taken.open = phase_ == Phase::kOpen || phase_ == Phase::kGivenUp;
  taken.given_up = phase_ == Phase::kGivenUp;
  taken.ended = ended_;
  taken.sender = sender_;
  taken.was_full = std::exchange(full_, false);
  taken.blocks = std::exchange(blocks_, {});
  bytes_ = 0;
  return taken;
}

void SnapshotInbox::fail(Code code) {
  yield_point("snapshot_inbox");
  std::lock_guard lock(mutex_);
  failure_ = code;
  blocks_.clear();
  bytes_ = 0;
}

uint64_t SnapshotInbox::stream() const {
  std::lock_guard lock(mutex_);
  return stream_;
}

SnapshotHead SnapshotInbox::head() const {
  std::lock_guard lock(mutex_);
  return head_;
}

bool SnapshotInbox::hold() {
  yield_point("snapshot_inbox");
  std::lock_guard lock(mutex_);
  if (phase_ != Phase::kOpen) return false;
  QUORATE_CHECK(ended_, "a snapshot is held when it is whole");
  phase_ = Phase::kHeld;
  return true;
}

uint64_t SnapshotInbox::release() {
  yield_point("snapshot_inbox");
  std::lock_guard lock(mutex_);
  phase_ = Phase::kFree;
  blocks_.clear();
  bytes_ = 0;
  return waiting_;
}

void SnapshotInbox::close() {
  yield_point("snapshot_inbox");
  std::lock_guard lock(mutex_);
  closed_ = true;
}

}  // namespace quorate::server
