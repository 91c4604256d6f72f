// SPDX-License-Identifier: Apache-2.0
// The one symbol of a plugin: exported by a shared library, or asked for by name when the same
// source is linked statically.
//
// A plugin defines its table as a constant and closes one .cc file, at global scope, with
//
//   QUORATE_PLUGIN_ENTRY(backend_memory, quorate::backend_memory::kPlugin)
//
// where the first word is the name of its folder and of its CMake target. Built as a shared library
// that defines quorate_entry, filled in before any code runs. Built with QUORATE_STATIC_PLUGIN it
// defines the function quorate_static_backend_memory(), and a host that links backend_memory_static
// declares and calls it:
//
//   QUORATE_STATIC_PLUGIN_DECLARE(backend_memory);  // at global scope
//   const quorate_plugin* plugin = quorate_static_backend_memory();
//
// Nothing registers itself, so nothing runs before main() and no linker flag is needed to keep a
// plugin in. All else of a plugin stands in a namespace of its own, quorate::<folder>, so that
// several can be linked into one program.
#pragma once

#include "quorate/plugin.h"

#define QUORATE_STATIC_PLUGIN_DECLARE(name) \
  extern "C" const quorate_plugin* quorate_static_##name(void)

#ifdef QUORATE_STATIC_PLUGIN
#define QUORATE_PLUGIN_ENTRY(name, table)             \
  QUORATE_STATIC_PLUGIN_DECLARE(name);                \
  const quorate_plugin* quorate_static_##name(void) { \
    return &(table);                                  \
  }
#else
#define QUORATE_PLUGIN_ENTRY(name, table) constinit const quorate_plugin quorate_entry = (table);
#endif
