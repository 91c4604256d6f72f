// SPDX-License-Identifier: Apache-2.0
#include "apply/quota_applier.h"

namespace quorate::apply {

Result<Reply> QuotaApplier::apply(const EntryContext& entry, const Request& request) {
  Result<Reply> result = next_->apply(entry, request);
  if (result) effects_->added_bytes += cost(request);
  return result;
}

}  // namespace quorate::apply
