// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

static const void* short_table(const char* factory_id) {
  static const quorate_backend_factory table = {TEST_BACKEND_FIELDS, .struct_size = 24};
  return strcmp(factory_id, QUORATE_BACKEND_FACTORY) == 0 ? &table : NULL;
}

const quorate_plugin quorate_entry = {TEST_ENTRY_FIELDS, .get_factory = short_table};
