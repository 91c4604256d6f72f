// SPDX-License-Identifier: Apache-2.0
// What waits for a read index: work that may start once this member has applied up to the index
// that a quorum confirmed after the work arrived (Raft thesis 6.4).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "env/env.h"

namespace quorate::server {

// A keep-alive or a look-up of a lease's time; answered by the lessor, on the apply loop.
struct LeaseQuestion {
  uint64_t call = 0;
  int64_t lease = 0;
  bool keep_alive = false;  // else time-to-live
  bool want_keys = false;
  int64_t header_revision = 0;  // the revision before the renewal was tried
};

// One of the two.
struct ReadWaiter {
  std::unique_ptr<Job> job;              // for the reader pool
  std::vector<LeaseQuestion> questions;  // for the apply loop
};

}  // namespace quorate::server
