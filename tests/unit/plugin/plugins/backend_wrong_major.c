// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

/* Nothing but the version may be read of it. */
const quorate_plugin quorate_entry = {
    .struct_size = sizeof(quorate_plugin), .abi_major = 2, .abi_minor = 3};
