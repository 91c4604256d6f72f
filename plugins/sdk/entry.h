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
// The same objects make a shared library, too, if its linker is told that the table is the symbol
// that a host looks for: --defsym=quorate_entry=quorate_table_backend_memory.
//
// Nothing registers itself, so nothing runs before main() and no linker flag is needed to keep a
// plugin in. All else of a plugin stands in a namespace of its own, quorate::<folder>, so that
// several can be linked into one program.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "quorate/plugin.h"

namespace quorate::sdk {

// The table of a plugin that offers one kind and keeps nothing for the process. Door says what is
// behind it:
//
//   struct Door {
//     static constexpr const char* kId = "org.example.backend.x";
//     static constexpr const char* kVersion = "1.0.0";
//     static constexpr const char* kFactoryId = QUORATE_BACKEND_FACTORY;
//     static const void* factory();                                  // its table, static
//     static std::span<const quorate_option_spec> options();         // static
//   };
template <typename Door>
class OneFactory {
  static quorate_status init(const quorate_host*, quorate_error*) { return QUORATE_OK; }
  static void deinit() {}
  static bool known(const char* id) { return std::string_view(id) == Door::kFactoryId; }
  static const void* get_factory(const char* id) { return known(id) ? Door::factory() : nullptr; }
  static const quorate_option_spec* options(const char* id, uint32_t* count) {
    const auto specs = Door::options();
    *count = known(id) ? static_cast<uint32_t>(specs.size()) : 0;
    return known(id) ? specs.data() : nullptr;
  }

 public:
  static constexpr quorate_plugin kPlugin = {sizeof(quorate_plugin),
                                             QUORATE_ABI_MAJOR,
                                             QUORATE_ABI_MINOR,
                                             Door::kId,
                                             Door::kVersion,
                                             &init,
                                             &deinit,
                                             &get_factory,
                                             &options};
};

}  // namespace quorate::sdk

#define QUORATE_STATIC_PLUGIN_DECLARE(name) \
  extern "C" const quorate_plugin* quorate_static_##name(void)

#ifdef QUORATE_STATIC_PLUGIN
#define QUORATE_PLUGIN_ENTRY(name, table)                              \
  QUORATE_STATIC_PLUGIN_DECLARE(name);                                 \
  extern "C" QUORATE_EXPORT const quorate_plugin quorate_table_##name; \
  constinit const quorate_plugin quorate_table_##name = (table);       \
  const quorate_plugin* quorate_static_##name(void) {                  \
    return &quorate_table_##name;                                      \
  }
#else
#define QUORATE_PLUGIN_ENTRY(name, table) constinit const quorate_plugin quorate_entry = (table);
#endif
