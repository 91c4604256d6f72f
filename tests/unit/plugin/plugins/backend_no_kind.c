// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

static const void* nothing(const char* factory_id) {
  (void)factory_id;
  return NULL;
}

const quorate_plugin quorate_entry = {TEST_ENTRY_FIELDS, .get_factory = nothing};
