// SPDX-License-Identifier: Apache-2.0
#include "apply/capped_applier.h"

namespace quorate::apply {

Result<Reply> CappedApplier::apply(const EntryContext& entry, const Request& request) {
  if (cost(request) > 0) {
    return Status(Code::kQuotaExceeded,
                  "a member raised the NOSPACE alarm; compact, defragment, then disarm the alarm");
  }
  return next_->apply(entry, request);
}

}  // namespace quorate::apply
