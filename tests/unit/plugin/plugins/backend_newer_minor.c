// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

/* Entry and table as a later minor version may have them: longer. */
static const struct {
  quorate_backend_factory table;
  void (*of_later)(void);
} later = {.table = {TEST_BACKEND_FIELDS, .struct_size = sizeof(later)}};

static const void* later_factory(const char* factory_id) {
  return strcmp(factory_id, QUORATE_BACKEND_FACTORY) == 0 ? &later : NULL;
}

const quorate_plugin quorate_entry = {
    TEST_ENTRY_FIELDS,
    .struct_size = sizeof(quorate_plugin) + 64,
    .abi_minor = 7,
    .get_factory = later_factory,
};
