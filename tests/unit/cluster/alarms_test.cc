// SPDX-License-Identifier: Apache-2.0
#include "cluster/alarms.h"

#include <catch2/catch.hpp>

namespace quorate::cluster {
namespace {

TEST_CASE("an alarm is on once, however often it is raised", "[alarms]") {
  Alarms alarms;
  CHECK(alarms.activate({AlarmType::kNoSpace, 1}));
  CHECK_FALSE(alarms.activate({AlarmType::kNoSpace, 1}));
  CHECK(alarms.activate({AlarmType::kNoSpace, 2}));
  CHECK(alarms.list(AlarmType::kNone).size() == 2);
  CHECK(alarms.deactivate({AlarmType::kNoSpace, 1}));
  CHECK_FALSE(alarms.deactivate({AlarmType::kNoSpace, 1}));
  CHECK(alarms.any(AlarmType::kNoSpace));
  CHECK(alarms.deactivate({AlarmType::kNoSpace, 2}));
  CHECK_FALSE(alarms.any(AlarmType::kNoSpace));
}

TEST_CASE("raising no alarm leaves no ghost", "[alarms]") {
  Alarms alarms;
  CHECK_FALSE(alarms.activate({AlarmType::kNone, 1}));
  CHECK(alarms.list(AlarmType::kNone).empty());
}

TEST_CASE("the list filters by type", "[alarms]") {
  Alarms alarms;
  alarms.activate({AlarmType::kCorrupt, 1});
  alarms.activate({AlarmType::kNoSpace, 2});
  CHECK(alarms.list(AlarmType::kCorrupt) == std::vector<Alarm>{{AlarmType::kCorrupt, 1}});
  CHECK(alarms.list(AlarmType::kNone).size() == 2);
}

TEST_CASE("an alarm's record is etcd's and comes back", "[alarms]") {
  CHECK(encode_alarm({AlarmType::kNoSpace, 3}) == std::string("\x08\x03\x10\x01"));
  const Alarm alarm{AlarmType::kCorrupt, ~uint64_t{0}};
  CHECK(*decode_alarm(encode_alarm(alarm)) == alarm);
  CHECK(decode_alarm("\x08").status().code() == Code::kCorrupt);
  CHECK(decode_alarm("\x12\x01").status().code() == Code::kCorrupt);
  Alarms alarms;
  CHECK(alarms.load(encode_alarm(alarm)).ok());
  CHECK(alarms.any(AlarmType::kCorrupt));
}

}  // namespace
}  // namespace quorate::cluster
