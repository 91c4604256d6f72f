// SPDX-License-Identifier: Apache-2.0
// Everything that apply owns, as start (or an installed snapshot) builds it from an engine.
#pragma once

#include <memory>

#include "auth/auth_store.h"
#include "cluster/alarms.h"
#include "cluster/membership.h"
#include "cluster/version.h"
#include "lease/lessor.h"
#include "mvcc/store.h"
#include "raft/types.h"
#include "storage/generations.h"

namespace quorate::server {

struct LoadedState {
  std::unique_ptr<mvcc::Store> store;
  lease::Lessor lessor;
  std::unique_ptr<auth::AuthStore> auth;
  cluster::Membership members;
  cluster::Alarms alarms;
  cluster::ClusterVersion version;
  raft::ConfState conf_state;  // as of store->applied()
};

// Reads all of it from an engine that was just opened: one scan of the keys, and the small buckets.
// kCorrupt, naming what, when a record cannot be.
Result<std::unique_ptr<LoadedState>> load_state(const storage::OpenedEngine& opened,
                                                const Logger& logger);

}  // namespace quorate::server
