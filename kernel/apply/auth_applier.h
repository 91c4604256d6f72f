// SPDX-License-Identifier: Apache-2.0
// Asks, for every operation of a request, both branches and what is nested in them included,
// whether its user may do it. It visits the very operations that are executed.
#pragma once

#include "apply/applier.h"
#include "auth/auth_store.h"

namespace quorate::lease {
class Lessor;
}

namespace quorate::apply {

class AuthApplier final : public Applier {
 public:
  AuthApplier(Applier* next, const auth::AuthStore* auth, const lease::Lessor* lessor)
      : next_(next), auth_(auth), lessor_(lessor) {}
  Result<Reply> apply(const EntryContext& entry, const Request& request) override;

 private:
  Applier* const next_;
  const auth::AuthStore* const auth_;
  const lease::Lessor* const lessor_;
};

// What the applier asks, for reads that do not pass the log too. lessor: for the keys of a lease.
Status check_permission(const auth::AuthStore& auth, const lease::Lessor& lessor,
                        const auth::Identity& who, const Request& request);

}  // namespace quorate::apply
