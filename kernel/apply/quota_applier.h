// SPDX-License-Identifier: Apache-2.0
// Counts what entries add. It never changes an answer: sizes and quotas differ between members, so
// they must not decide in apply; the server compares, and proposes the NOSPACE alarm.
#pragma once

#include "apply/applier.h"

namespace quorate::apply {

class QuotaApplier final : public Applier {
 public:
  QuotaApplier(Applier* next, Effects* effects) : next_(next), effects_(effects) {}
  Result<Reply> apply(const EntryContext& entry, const Request& request) override;

 private:
  Applier* const next_;
  Effects* const effects_;
};

}  // namespace quorate::apply
