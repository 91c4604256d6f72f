// SPDX-License-Identifier: Apache-2.0
// The version that the whole cluster speaks: decided by a committed entry, never above what any
// member runs. It gates features, so it only grows. Owned by the apply loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace quorate::cluster {

struct Version {
  uint32_t major = 0, minor = 0, patch = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
  std::string text() const;  // "3.6.0"
};
// What this build speaks, and what a new cluster decides on.
inline constexpr Version kClusterVersion{3, 6, 0};

// "3.6.0" exactly; nothing for any other form.
std::optional<Version> parse_version(Slice text);

// The record "clusterVersion" of bucket `cluster`.
inline constexpr char kClusterVersionKey[] = "clusterVersion";

class ClusterVersion {
 public:
  // The record, at start. kCorrupt; kUnsupported when the cluster speaks a later version than this
  // build, which would then misread its entries.
  Status load(Slice text);
  // Whether an entry may set it: kInvalidArgument for what is no version or a step back;
  // kUnsupported above kClusterVersion, after which this member must not go on.
  Status check_set(Slice text) const;
  // REQUIRES: check_set() is OK. True: it changed.
  bool set(Slice text);
  // Nothing until it is decided: the cluster is not capable yet.
  const std::optional<Version>& get() const { return version_; }

 private:
  std::optional<Version> version_;
};

}  // namespace quorate::cluster
