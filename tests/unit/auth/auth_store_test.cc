// SPDX-License-Identifier: Apache-2.0
#include "auth/auth_store.h"

#include <catch2/catch.hpp>

namespace quorate::auth {
namespace {

TEST_CASE("a store without auth stands at revision 1 and refuses nothing", "[auth]") {
  const DisabledAuthStore store;
  const Identity nobody;
  const KeyRange all = KeyRange::from_client(Slice("\0", 1), Slice("\0", 1));
  CHECK_FALSE(store.enabled());
  CHECK(store.revision() == 1);
  CHECK(store.check_user(nobody).ok());
  CHECK(store.check_admin(nobody).ok());
  CHECK(store.check_read(nobody, all).ok());
  CHECK(store.check_write(nobody, all).ok());
}

}  // namespace
}  // namespace quorate::auth
