// SPDX-License-Identifier: Apache-2.0
#include "raft/read_only.h"

#include <algorithm>

#include "base/check.h"

namespace quorate::raft {

void ReadOnly::start(RequestId context, Index index, uint64_t tick) {
  QUORATE_CHECK(context_ == 0 && context != 0, "a read round begins while another is in flight");
  context_ = context;
  index_ = index;
  tick_ = tick;
  in_flight_ = std::exchange(waiting_, {});
}

bool ReadOnly::acknowledge(NodeId from, RequestId context) {
  if (context == 0 || context != context_) return false;
  if (!acknowledged_by(from)) acknowledgements_.push_back(from);
  return true;
}

bool ReadOnly::acknowledged_by(NodeId id) const {
  return std::find(acknowledgements_.begin(), acknowledgements_.end(), id) !=
         acknowledgements_.end();
}

std::vector<ReadRequest> ReadOnly::finish() {
  context_ = 0;
  acknowledgements_.clear();
  return std::exchange(in_flight_, {});
}

std::vector<ReadRequest> ReadOnly::clear() {
  std::vector<ReadRequest> all = finish();
  all.insert(all.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
  return all;
}

}  // namespace quorate::raft
