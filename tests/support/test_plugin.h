// SPDX-License-Identifier: Apache-2.0
// Plugins that are tables of a test: one factory, and one option that leads back to the test's own
// object by its address.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/bytes.h"
#include "quorate/backend.h"
#include "quorate/frontend.h"
#include "quorate/plugin.h"
#include "quorate/transport.h"

namespace quorate::test {

// The option's value, and the object again.
inline std::string address_of(const void* object) {
  return std::to_string(reinterpret_cast<uintptr_t>(object));
}
template <typename Object>
Object* object_at(const quorate_option* options) {
  return reinterpret_cast<Object*>(std::strtoull(options[0].value, nullptr, 10));
}

inline Slice factory_id(const quorate_backend_factory&) {
  return QUORATE_BACKEND_FACTORY;
}
inline Slice factory_id(const quorate_transport_factory&) {
  return QUORATE_TRANSPORT_FACTORY;
}
inline Slice factory_id(const quorate_frontend_factory&) {
  return QUORATE_FRONTEND_FACTORY;
}

// id, option: literals; the same at each call.
template <const auto& kFactory>
const quorate_plugin& test_plugin(const char* id, const char* option) {
  static const quorate_option_spec spec = {option, nullptr, "an address", QUORATE_OPTION_STRING,
                                           QUORATE_OPTION_REQUIRED};
  static const quorate_plugin plugin = {
      sizeof(quorate_plugin),
      QUORATE_ABI_MAJOR,
      QUORATE_ABI_MINOR,
      id,
      "1",
      [](const quorate_host*, quorate_error*) -> quorate_status { return QUORATE_OK; },
      [] {},
      [](const char* asked) -> const void* {
        return Slice(asked) == factory_id(kFactory) ? &kFactory : nullptr;
      },
      [](const char*, uint32_t* count) -> const quorate_option_spec* {
        *count = 1;
        return &spec;
      }};
  return plugin;
}

// A front-end that only hands the services it was given to Owner::take_services().
template <typename Owner>
const quorate_plugin& services_plugin() {
  static constexpr quorate_frontend_factory factory = {
      sizeof(quorate_frontend_factory),
      0,
      [](const quorate_frontend_options* options, const quorate_services* services,
         quorate_frontend** out, quorate_error*) -> quorate_status {
        Owner* const owner = object_at<Owner>(options->options);
        owner->take_services(services);
        *out = reinterpret_cast<quorate_frontend*>(owner);
        return QUORATE_OK;
      },
      [](quorate_frontend*, quorate_error*) -> quorate_status { return QUORATE_OK; },
      [](quorate_frontend*, uint64_t) {},
      [](quorate_frontend*) {},
      [](quorate_frontend*, const char*) -> const void* { return nullptr; }};
  return test_plugin<factory>("org.quorate.frontend.test", "owner");
}

}  // namespace quorate::test
