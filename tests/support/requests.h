// SPDX-License-Identifier: Apache-2.0
// Requests as a front-end would encode them, and answers read back into plain values.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "schemas/api.capnp.h"
#include "schemas/segment.h"

namespace quorate::test {

inline capnp::Data::Reader data(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}
inline std::string_view chars(capnp::Data::Reader bytes) {
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

// A Request that `fill` fills in, with memory of its own.
template <typename Fill>
Bytes request(Fill&& fill) {
  schema::SegmentBuilder segment;
  fill(segment.start<schema::Request>());
  return Bytes::copy(segment.finish());
}

inline Bytes put_request(std::string_view key, std::string_view value, int64_t lease = 0) {
  return request([&](schema::Request::Builder root) {
    auto put = root.initPut();
    put.setKey(data(key));
    put.setValue(data(value));
    put.setLease(lease);
  });
}
inline Bytes range_request(std::string_view key, std::string_view end = "", int64_t revision = 0,
                           bool serializable = false) {
  return request([&](schema::Request::Builder root) {
    auto range = root.initRange();
    range.setKey(data(key));
    range.setRangeEnd(data(end));
    range.setRevision(revision);
    range.setSerializable(serializable);
  });
}
inline Bytes delete_request(std::string_view key, std::string_view end = "") {
  return request([&](schema::Request::Builder root) {
    auto remove = root.initDeleteRange();
    remove.setKey(data(key));
    remove.setRangeEnd(data(end));
  });
}
inline Bytes compact_request(int64_t revision, bool physical = false) {
  return request([&](schema::Request::Builder root) {
    auto compact = root.initCompact();
    compact.setRevision(revision);
    compact.setPhysical(physical);
  });
}
inline Bytes grant_request(int64_t ttl, int64_t id = 0) {
  return request([&](schema::Request::Builder root) {
    auto grant = root.initLease().initGrant();
    grant.setTtl(ttl);
    grant.setId(id);
  });
}
inline Bytes keep_alive_request(int64_t id) {
  return request([&](schema::Request::Builder root) { root.initLease().setKeepAlive(id); });
}
inline Bytes hash_kv_request(int64_t revision = 0) {
  return request(
      [&](schema::Request::Builder root) { root.initMaintenance().setHashKv(revision); });
}
inline Bytes watch_request(std::string_view key, std::string_view end, int64_t start_revision,
                           bool prev_kv = false) {
  schema::SegmentBuilder segment;
  auto watch = segment.start<schema::WatchCreate>();
  watch.setKey(data(key));
  watch.setRangeEnd(data(end));
  watch.setStartRevision(start_revision);
  watch.setPrevKv(prev_kv);
  return Bytes::copy(segment.finish());
}

// Every key.
inline constexpr std::string_view kOpenEnd{"\0", 1};

}  // namespace quorate::test
