// SPDX-License-Identifier: Apache-2.0
// While some member is short of space nothing is added; deleting and compacting go on. In the chain
// only while a NOSPACE alarm is on.
#pragma once

#include "apply/applier.h"

namespace quorate::apply {

class CappedApplier final : public Applier {
 public:
  explicit CappedApplier(Applier* next) : next_(next) {}
  Result<Reply> apply(const EntryContext& entry, const Request& request) override;

 private:
  Applier* const next_;
};

}  // namespace quorate::apply
