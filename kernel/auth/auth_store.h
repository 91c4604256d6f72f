// SPDX-License-Identifier: Apache-2.0
// Who may do what, as apply asks it. An answer depends on replicated state alone. Owned by the
// apply loop.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/key_range.h"
#include "base/status.h"

namespace quorate::auth {

// Whom an entry's header names, and the auth revision at which that was found out.
struct Identity {
  Slice user;  // empty: no token was given
  uint64_t auth_revision = 0;
};

class AuthStore {
 public:
  virtual ~AuthStore() = default;
  virtual bool enabled() const = 0;
  // 1 at first, one more with every effective change.
  virtual uint64_t revision() const = 0;

  // Each is OK while auth is off. Without a user: kUserEmpty.
  // A known user: kUserNotFound.
  virtual Status check_user(const Identity& who) const = 0;
  // The root role: kUserNotFound, kPermissionDenied. The auth revision does not count.
  virtual Status check_admin(const Identity& who) const = 0;
  // Every key of the range: kAuthOldRevision, kPermissionDenied.
  virtual Status check_read(const Identity& who, const KeyRange& range) const = 0;
  virtual Status check_write(const Identity& who, const KeyRange& range) const = 0;
};

// Auth is off, and nothing here can switch it on: every check passes, at revision 1.
class DisabledAuthStore final : public AuthStore {
 public:
  bool enabled() const override { return false; }
  uint64_t revision() const override { return 1; }
  Status check_user(const Identity& who) const override;
  Status check_admin(const Identity& who) const override;
  Status check_read(const Identity& who, const KeyRange& range) const override;
  Status check_write(const Identity& who, const KeyRange& range) const override;
};

}  // namespace quorate::auth
