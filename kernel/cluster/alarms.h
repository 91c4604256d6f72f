// SPDX-License-Identifier: Apache-2.0
// The alarms that are on. One member's alarm limits the whole cluster. Owned by the apply loop; the
// caller stores the records, which are etcd's: a serialised AlarmMember as key in bucket `alarm`,
// the value empty.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace quorate::cluster {

enum class AlarmType : int32_t { kNone = 0, kNoSpace = 1, kCorrupt = 2 };

struct Alarm {
  AlarmType type = AlarmType::kNone;
  uint64_t member = 0;
  friend auto operator<=>(const Alarm&, const Alarm&) = default;
};

// AlarmMember in wire form: 1 memberID, 2 alarm.
std::string encode_alarm(const Alarm& alarm);
// kCorrupt: no such record. Types that are not known yet are kept as they are.
Result<Alarm> decode_alarm(Slice record);

class Alarms {
 public:
  Status load(Slice key);
  // True: it was not on before. kNone is no alarm, and nothing is changed for it.
  bool activate(const Alarm& alarm);
  // True: it was on.
  bool deactivate(const Alarm& alarm);
  bool any(AlarmType type) const;
  // Those of one type, of all for kNone; by type and member.
  std::vector<Alarm> list(AlarmType type) const;

 private:
  std::set<Alarm> alarms_;
};

}  // namespace quorate::cluster
