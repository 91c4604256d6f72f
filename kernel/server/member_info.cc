// SPDX-License-Identifier: Apache-2.0
#include "server/member_info.h"

#include <cstring>

#include "cluster/version.h"
#include "server/version.h"

namespace quorate::server {

quorate_member_info MemberInfo::read() {
  quorate_member_info info{};
  info.struct_size = sizeof info;
  info.role = state_->role.load(std::memory_order_relaxed);
  if (state_->ready.load(std::memory_order_relaxed)) info.flags |= QUORATE_MEMBER_READY;
  if (state_->learner.load(std::memory_order_relaxed)) info.flags |= QUORATE_MEMBER_LEARNER;
  info.alarms = state_->alarms.load(std::memory_order_relaxed);
  info.cluster_id = state_->cluster_id;
  info.member_id = state_->member_id;
  info.leader_id = state_->leader.load(std::memory_order_relaxed);
  info.term = state_->term.load(std::memory_order_relaxed);
  info.commit_index = state_->commit.load(std::memory_order_relaxed);
  info.applied_index = state_->applied.load(std::memory_order_relaxed);
  info.revision = state_->revision.load(std::memory_order_relaxed);
  std::strncpy(info.server_version, kServerVersion, sizeof info.server_version - 1);
  if (state_->version_decided.load(std::memory_order_relaxed)) {
    std::strncpy(info.cluster_version, cluster::kClusterVersion.text().c_str(),
                 sizeof info.cluster_version - 1);
  }
  return info;
}

void MemberInfo::subscribe(plugin::MemberListener* listener) {
  std::lock_guard lock(mutex_);
  listeners_.push_back(listener);
}

void MemberInfo::unsubscribe(plugin::MemberListener* listener) {
  std::lock_guard lock(mutex_);
  std::erase(listeners_, listener);
}

void MemberInfo::changed() {
  std::lock_guard lock(mutex_);
  for (plugin::MemberListener* listener : listeners_) listener->on_member_change();
}

}  // namespace quorate::server
