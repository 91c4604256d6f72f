// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

const quorate_plugin quorate_entry = {TEST_ENTRY_FIELDS, .struct_size = 8};
