// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "tables.h"

static quorate_status refuse(const quorate_host* host, quorate_error* error) {
  (void)host;
  snprintf(error->message, sizeof(error->message), "no such device");
  return QUORATE_UNAVAILABLE;
}

const quorate_plugin quorate_entry = {TEST_ENTRY_FIELDS, .init = refuse};
