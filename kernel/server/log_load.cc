// SPDX-License-Identifier: Apache-2.0
#include "server/log_load.h"

#include <utility>

#include "wal/reader.h"

namespace quorate::server {

Job::Next LogLoadJob::step() {
  raft::Message loaded;
  loaded.type = raft::MessageType::kMsgLogLoaded;
  loaded.to = self_;
  loaded.from = window_.peer;
  loaded.index = window_.first - 1;
  // The entry before the window is read with it: its term is what the follower is asked about. When
  // the log begins with the window it cannot be had, and a snapshot goes instead.
  const raft::Index first = window_.first > 1 ? window_.first - 1 : 1;
  Result<std::vector<raft::Entry>> entries =
      wal::read_window(*files_, wal_dir_, head_, first, window_.bytes_max);
  if (!entries && entries.error().code() != Code::kCompacted) {
    damaged_(entries.error());
    return Next::kDone;
  }
  if (entries && first < window_.first) {
    loaded.log_term = entries->front().term;
    entries->erase(entries->begin());
  }
  if (!entries || entries->empty()) {
    loaded.reject = true;
  } else {
    loaded.entries = std::move(*entries);
  }
  PeerMessages event;
  event.messages.push_back(std::move(loaded));
  loop_->post(std::move(event));
  return Next::kDone;
}

}  // namespace quorate::server
