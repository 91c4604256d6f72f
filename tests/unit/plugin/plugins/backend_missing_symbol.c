// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

quorate_status a_function_that_nobody_has(const quorate_host* host, quorate_error* error);

const quorate_plugin quorate_entry = {TEST_ENTRY_FIELDS, .init = a_function_that_nobody_has};
