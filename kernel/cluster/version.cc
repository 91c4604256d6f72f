// SPDX-License-Identifier: Apache-2.0
#include "cluster/version.h"

#include <charconv>

#include "base/check.h"

namespace quorate::cluster {

std::string Version::text() const {
  return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
}

std::optional<Version> parse_version(Slice text) {
  uint32_t parts[3] = {};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int i = 0; i < 3; ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, parts[i]);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return Version{parts[0], parts[1], parts[2]};
}

Status ClusterVersion::check_set(Slice text) const {
  const auto version = parse_version(text);
  if (!version) {
    return Status(Code::kInvalidArgument, "no cluster version: " + std::string(text));
  }
  if (*version > kClusterVersion) {
    return Status(Code::kUnsupported, "the cluster speaks version " + version->text() +
                                          ", this member only " + kClusterVersion.text() +
                                          "; run a newer binary");
  }
  if (version_ && *version < *version_) {
    return Status(Code::kInvalidArgument, "the cluster version cannot go back from " +
                                              version_->text() + " to " + version->text());
  }
  return Status();
}

bool ClusterVersion::set(Slice text) {
  QUORATE_CHECK(check_set(text).ok(), "a cluster version was set that may not be");
  const auto version = parse_version(text);
  if (version == version_) return false;
  version_ = version;
  return true;
}

Status ClusterVersion::load(Slice text) {
  const Status status = check_set(text);
  if (status.code() == Code::kInvalidArgument) {
    return Status(Code::kCorrupt, std::string(status.message()));
  }
  QUORATE_TRY(status);
  set(text);
  return Status();
}

}  // namespace quorate::cluster
