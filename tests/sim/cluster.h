// SPDX-License-Identifier: Apache-2.0
// All machines of a run, as clients and operators see them.
#pragma once

#include <cstddef>

#include "sim/member.h"

namespace quorate::sim {

class Cluster {
 public:
  virtual ~Cluster() = default;
  virtual size_t size() const = 0;
  virtual SimMember& member(size_t i) = 0;
  // One more machine, which does not run yet; its number.
  virtual size_t add_machine() = 0;
  // Starts the machine's process, and again whenever it ends.
  virtual void start(size_t i) = 0;
  // It does not belong to the cluster: its process ends, until start().
  virtual void retire(size_t i) = 0;
};

}  // namespace quorate::sim
