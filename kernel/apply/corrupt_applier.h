// SPDX-License-Identifier: Apache-2.0
// While some member's data is known to be damaged nothing changes keys or leases: the members
// might part further. Members, alarms and auth can still be changed, to repair it. In the chain
// only while a CORRUPT alarm is on.
#pragma once

#include "apply/applier.h"

namespace quorate::apply {

class CorruptApplier final : public Applier {
 public:
  explicit CorruptApplier(Applier* next) : next_(next) {}
  Result<Reply> apply(const EntryContext& entry, const Request& request) override;

 private:
  Applier* const next_;
};

}  // namespace quorate::apply
