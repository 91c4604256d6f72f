// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

int test_absent(void);

static void deinit(void) {
  counts.deinits += test_absent();
}

const quorate_plugin quorate_entry = {TEST_ENTRY_FIELDS, .deinit = deinit};
