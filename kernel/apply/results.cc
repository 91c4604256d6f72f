// SPDX-License-Identifier: Apache-2.0
#include "apply/results.h"

namespace quorate::apply {
namespace {

void write_texts(const std::vector<std::string>& texts, capnp::List<capnp::Text>::Builder to) {
  for (size_t i = 0; i < texts.size(); ++i) to.set(static_cast<unsigned>(i), to_text(texts[i]));
}
unsigned count(const std::vector<std::string>& texts) {
  return static_cast<unsigned>(texts.size());
}

}  // namespace

void write_range(const mvcc::RangeOutcome& outcome, Slice runs, schema::RangeResult::Builder to) {
  to.setCount(outcome.count);
  to.setMore(outcome.more);
  to.setPairs(outcome.pairs);
  to.setKvBytes(outcome.kv_bytes);
  to.setKvs(to_data(runs));
}

void write_member(const cluster::Member& member, schema::Member::Builder to) {
  to.setId(member.id);
  to.setName(to_text(member.name));
  write_texts(member.peer_urls, to.initPeerUrls(count(member.peer_urls)));
  write_texts(member.client_urls, to.initClientUrls(count(member.client_urls)));
  to.setLearner(member.learner);
}

void write_members(const std::vector<cluster::Member>& members, schema::ClusterResult::Builder to) {
  auto list = to.initMembers(static_cast<unsigned>(members.size()));
  for (size_t i = 0; i < members.size(); ++i) {
    write_member(members[i], list[static_cast<unsigned>(i)]);
  }
}

void write_alarms(const std::vector<cluster::Alarm>& alarms,
                  schema::MaintenanceResult::Builder to) {
  auto list = to.initAlarms(static_cast<unsigned>(alarms.size()));
  for (size_t i = 0; i < alarms.size(); ++i) {
    list[static_cast<unsigned>(i)].setMemberId(alarms[i].member);
    list[static_cast<unsigned>(i)].setType(static_cast<int32_t>(alarms[i].type));
  }
}

}  // namespace quorate::apply
