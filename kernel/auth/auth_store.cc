// SPDX-License-Identifier: Apache-2.0
#include "auth/auth_store.h"

namespace quorate::auth {

Status DisabledAuthStore::check_user(const Identity&) const {
  return Status();
}
Status DisabledAuthStore::check_admin(const Identity&) const {
  return Status();
}
Status DisabledAuthStore::check_read(const Identity&, const KeyRange&) const {
  return Status();
}
Status DisabledAuthStore::check_write(const Identity&, const KeyRange&) const {
  return Status();
}

}  // namespace quorate::auth
