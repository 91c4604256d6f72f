// SPDX-License-Identifier: Apache-2.0
// An engine that gives one record back changed: a real one, but for get(), which reads "truth" as
// something else while `lies` is on. What apply decides by such a value differs on the member that
// runs it, and from then on the members part.
#pragma once

#include <cstdint>
#include <string>

#include "quorate/backend.h"
#include "quorate/plugin.h"

namespace quorate::test {

// On while it lives.
template <typename What>
struct Switch {
  static inline bool on = false;
  explicit Switch(bool now) { on = now; }
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;
  ~Switch() { on = false; }
};
struct Lies : Switch<Lies> {
  using Switch::Switch;
};
struct Fails : Switch<Fails> {  // get() fails
  using Switch::Switch;
};

// lie: what is read instead; of the same size.
template <const quorate_plugin* (*kHonest)(), char kLie>
class LyingEngine {
 public:
  static const quorate_plugin* plugin() {
    static const quorate_plugin lying = [] {
      quorate_plugin copy = *kHonest();
      copy.get_factory = get_factory;
      return copy;
    }();
    return &lying;
  }

 private:
  static const quorate_backend_factory* honest() {
    return static_cast<const quorate_backend_factory*>(
        kHonest()->get_factory(QUORATE_BACKEND_FACTORY));
  }
  static const void* get_factory(const char* id) {
    if (std::string(id) != QUORATE_BACKEND_FACTORY) return kHonest()->get_factory(id);
    static const quorate_backend_factory lying = [] {
      quorate_backend_factory copy = *honest();
      copy.get = get;
      return copy;
    }();
    return &lying;
  }
  static quorate_status get(quorate_read* read, uint32_t bucket, quorate_slice key,
                            quorate_slice* value, quorate_error* error) {
    if (Fails::on) return QUORATE_IO_ERROR;
    const quorate_status status = honest()->get(read, bucket, key, value, error);
    if (status != QUORATE_OK || !Lies::on) return status;
    static thread_local std::string changed;
    changed.assign(reinterpret_cast<const char*>(value->data), value->size);
    const size_t at = changed.find("truth");
    if (at == std::string::npos) return status;
    changed.replace(at, 5, 5, kLie);
    *value = {reinterpret_cast<const uint8_t*>(changed.data()), changed.size()};
    return status;
  }
};

}  // namespace quorate::test
