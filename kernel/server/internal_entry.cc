// SPDX-License-Identifier: Apache-2.0
#include "server/internal_entry.h"

#include "apply/request.h"
#include "schemas/api.capnp.h"
#include "schemas/segment.h"

namespace quorate::server {
namespace {

capnp::Text::Reader text(Slice bytes) {
  return {bytes.data(), bytes.size()};
}

template <typename Fill>
Bytes encode(Fill&& fill) {
  schema::SegmentBuilder segment;
  fill(segment.start<schema::Internal>());
  return apply::encode_entry({.kind = apply::EntryKind::kInternal, .user = {}}, segment.finish());
}

}  // namespace

Bytes encode_expire_leases(const std::vector<lease::Stamp>& stamps) {
  return encode([&](schema::Internal::Builder internal) {
    auto list = internal.initExpireLeases(static_cast<unsigned>(stamps.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setLease(stamps[i].lease);
      list[i].setGrantRevision(stamps[i].grant_revision);
      list[i].setGrantIndex(stamps[i].grant_index);
    }
  });
}

Bytes encode_cluster_version(Slice version) {
  const std::string terminated(version);
  return encode(
      [&](schema::Internal::Builder internal) { internal.setClusterVersion(text(terminated)); });
}

Bytes encode_member_attributes(uint64_t id, Slice name,
                               const std::vector<std::string>& client_urls) {
  const std::string terminated(name);
  return encode([&](schema::Internal::Builder internal) {
    auto attributes = internal.initMemberAttributes();
    attributes.setId(id);
    attributes.setName(text(terminated));
    auto urls = attributes.initClientUrls(static_cast<unsigned>(client_urls.size()));
    for (unsigned i = 0; i < urls.size(); ++i) urls.set(i, text(client_urls[i]));
  });
}

Bytes encode_raise_alarm(uint64_t member, int32_t type) {
  return encode([&](schema::Internal::Builder internal) {
    auto alarm = internal.initRaiseAlarm();
    alarm.setMemberId(member);
    alarm.setType(type);
  });
}

}  // namespace quorate::server
