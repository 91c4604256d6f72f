// SPDX-License-Identifier: Apache-2.0
#include "server/state.h"

#include <utility>

#include "cluster/version.h"

namespace quorate::server {
namespace {

using storage::Bucket;

// Each record of `bucket` goes to `load`; the first error wins.
template <typename Load>
Status load_bucket(mvcc::Store& store, Bucket bucket, Load&& load) {
  Status failed;
  QUORATE_TRY(store.scan_bucket(bucket, [&](Slice key, Slice value) {
    if (failed.ok()) failed = load(key, value);
  }));
  return failed;
}

}  // namespace

Result<std::unique_ptr<LoadedState>> load_state(const storage::OpenedEngine& opened,
                                                const Logger& logger) {
  auto loaded = std::make_unique<LoadedState>();
  std::vector<std::pair<std::string, int64_t>> leased;
  Result<std::unique_ptr<mvcc::Store>> store = mvcc::Store::open(
      opened, [&](Slice key, int64_t lease) { leased.emplace_back(key, lease); }, logger);
  if (!store) return std::move(store).error();
  loaded->store = std::move(*store);
  mvcc::Store& opened_store = *loaded->store;

  QUORATE_TRY(load_bucket(opened_store, Bucket::kLease,
                          [&](Slice key, Slice value) { return loaded->lessor.load(key, value); }));
  // A key may name a lease that a crash found half forgotten only if apply was wrong.
  for (const auto& [key, lease] : leased) {
    if (!loaded->lessor.exists(lease))
      return Status(Code::kCorrupt, "a key names lease " + std::to_string(lease) +
                                        ", which the store does not hold");
    loaded->lessor.attach(lease, key);
  }
  QUORATE_TRY(load_bucket(opened_store, Bucket::kMembers, [&](Slice key, Slice value) {
    return loaded->members.load(key, value);
  }));
  QUORATE_TRY(load_bucket(opened_store, Bucket::kMembersRemoved,
                          [&](Slice key, Slice) { return loaded->members.load_removed(key); }));
  QUORATE_TRY(load_bucket(opened_store, Bucket::kAlarm,
                          [&](Slice key, Slice) { return loaded->alarms.load(key); }));
  QUORATE_TRY(load_bucket(opened_store, Bucket::kCluster, [&](Slice key, Slice value) {
    return key == cluster::kClusterVersionKey ? loaded->version.load(value) : Status();
  }));
  loaded->auth = std::make_unique<auth::DisabledAuthStore>();
  loaded->conf_state = opened_store.applied().conf_state;
  return loaded;
}

}  // namespace quorate::server
