// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

static const void* frontend_and_transport(const char* factory_id) {
  static const uint32_t table = 4;
  return strcmp(factory_id, QUORATE_FRONTEND_FACTORY) == 0 ||
                 strcmp(factory_id, QUORATE_TRANSPORT_FACTORY) == 0
             ? &table
             : NULL;
}

const quorate_plugin quorate_entry = {TEST_ENTRY_FIELDS, .get_factory = frontend_and_transport};
