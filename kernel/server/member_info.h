// SPDX-License-Identifier: Apache-2.0
// What a member says of itself to its plugins, and who wants to hear when it changes.
#pragma once

#include <mutex>
#include <vector>

#include "plugin/host.h"
#include "server/member_state.h"

namespace quorate::server {

class MemberInfo final : public plugin::MemberInfoSource {
 public:
  // state: outlives this.
  explicit MemberInfo(const MemberState* state) : state_(state) {}

  quorate_member_info read() override;
  void subscribe(plugin::MemberListener* listener) override;
  void unsubscribe(plugin::MemberListener* listener) override;
  // Tells the listeners. [a loop]
  void changed();

 private:
  const MemberState* const state_;
  std::mutex mutex_;                                // held while the listeners are told
  std::vector<plugin::MemberListener*> listeners_;  // guarded by mutex_
};

}  // namespace quorate::server
