// SPDX-License-Identifier: Apache-2.0
#include "cluster/alarms.h"

#include <algorithm>

#include "base/coding.h"

namespace quorate::cluster {

std::string encode_alarm(const Alarm& alarm) {
  std::string record;
  if (alarm.member != 0) {
    record += '\x08';
    put_varint(record, alarm.member);
  }
  if (alarm.type != AlarmType::kNone) {
    record += '\x10';
    put_varint(record, static_cast<uint64_t>(static_cast<int64_t>(alarm.type)));
  }
  return record;
}

Result<Alarm> decode_alarm(Slice record) {
  Alarm alarm;
  while (!record.empty()) {
    uint64_t tag = 0, value = 0;
    if (!take_varint(record, tag) || !take_varint(record, value) || (tag != 8 && tag != 16)) {
      return Status(Code::kCorrupt, "a record of bucket alarm is not readable");
    }
    if (tag == 8) alarm.member = value;
    if (tag == 16) alarm.type = static_cast<AlarmType>(static_cast<int32_t>(value));
  }
  return alarm;
}

Status Alarms::load(Slice key) {
  Result<Alarm> alarm = decode_alarm(key);
  QUORATE_TRY(alarm);
  activate(*alarm);
  return Status();
}

bool Alarms::activate(const Alarm& alarm) {
  return alarm.type != AlarmType::kNone && alarms_.insert(alarm).second;
}

bool Alarms::deactivate(const Alarm& alarm) {
  return alarms_.erase(alarm) != 0;
}

bool Alarms::any(AlarmType type) const {
  return std::any_of(alarms_.begin(), alarms_.end(),
                     [&](const Alarm& alarm) { return alarm.type == type; });
}

std::vector<Alarm> Alarms::list(AlarmType type) const {
  std::vector<Alarm> result;
  for (const Alarm& alarm : alarms_) {
    if (type == AlarmType::kNone || alarm.type == type) result.push_back(alarm);
  }
  return result;
}

}  // namespace quorate::cluster
