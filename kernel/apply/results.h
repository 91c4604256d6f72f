// SPDX-License-Identifier: Apache-2.0
// How what the store says becomes what a Response says; shared by the log's path and the reads.
#pragma once

#include "base/bytes.h"
#include "cluster/alarms.h"
#include "cluster/member.h"
#include "mvcc/range.h"
#include "schemas/api.capnp.h"

namespace quorate::apply {

inline capnp::Data::Reader to_data(Slice bytes) {
  return {reinterpret_cast<const capnp::byte*>(bytes.data()), bytes.size()};
}
inline capnp::Text::Reader to_text(const std::string& text) {
  return {text.c_str(), text.size()};
}

void write_range(const mvcc::RangeOutcome& outcome, Slice runs, schema::RangeResult::Builder to);
void write_member(const cluster::Member& member, schema::Member::Builder to);
void write_members(const std::vector<cluster::Member>& members, schema::ClusterResult::Builder to);
void write_alarms(const std::vector<cluster::Alarm>& alarms, schema::MaintenanceResult::Builder to);

}  // namespace quorate::apply
