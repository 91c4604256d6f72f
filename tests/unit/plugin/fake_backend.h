// SPDX-License-Identifier: Apache-2.0
// A backend table whose every answer the test decides, and which counts what is open.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "quorate/backend.h"

namespace quorate::plugin {

struct FakeEngine {
  // What the next calls answer.
  quorate_status answer = QUORATE_OK;
  int32_t native_code = 0;
  std::string message;
  bool gives_handles = true;

  // What it was given and holds.
  std::map<std::string, std::string> pairs;
  std::string dir;
  std::vector<std::string> buckets;
  std::map<std::string, std::string> options;
  uint64_t quota_bytes = 0;
  const quorate_host* host = nullptr;
  int backends = 0, reads = 0, cursors = 0;
  std::map<std::string, std::string>::iterator at;

  // The engine that the table's functions work on; a test makes one at a time.
  static FakeEngine*& current() {
    static FakeEngine* engine = nullptr;
    return engine;
  }
  FakeEngine() { current() = this; }
  ~FakeEngine() { current() = nullptr; }

  quorate_status fail(quorate_error* error) const {
    if (error) {
      error->code = answer;
      error->native_code = native_code;
      std::snprintf(error->message, sizeof(error->message), "%s", message.c_str());
    }
    return answer;
  }
};

inline FakeEngine& engine() {
  return *FakeEngine::current();
}

template <typename Handle>
quorate_status fake_open(Handle** out, int& counter, quorate_error* error) {
  if (engine().answer != QUORATE_OK) return engine().fail(error);
  if (engine().gives_handles) {
    *out = reinterpret_cast<Handle*>(&engine());
    ++counter;
  }
  return QUORATE_OK;
}

inline quorate_status fake_position(quorate_slice* key, quorate_slice* value,
                                    quorate_error* error) {
  if (engine().answer != QUORATE_OK) return engine().fail(error);
  if (engine().at == engine().pairs.end()) return QUORATE_NOT_FOUND;
  *key = to_c(engine().at->first);
  *value = to_c(engine().at->second);
  return QUORATE_OK;
}

inline const quorate_backend_factory& fake_backend_table() {
  static const quorate_backend_factory table = [] {
    quorate_backend_factory t{};
    t.struct_size = sizeof(t);
    t.capabilities = QUORATE_BACKEND_DURABLE;
    t.open = [](const quorate_backend_options* options, quorate_backend** out,
                quorate_error* error) {
      engine().dir = options->dir;
      engine().buckets.assign(options->buckets, options->buckets + options->bucket_count);
      for (uint32_t i = 0; i < options->option_count; ++i)
        engine().options[options->options[i].key] = options->options[i].value;
      engine().quota_bytes = options->quota_bytes;
      engine().host = options->host;
      return fake_open(out, engine().backends, error);
    };
    t.close = [](quorate_backend*) { --engine().backends; };
    t.write = [](quorate_backend*, const quorate_op* ops, size_t count, quorate_error* error) {
      if (engine().answer != QUORATE_OK) return engine().fail(error);
      for (size_t i = 0; i < count; ++i) {
        const std::string key(from_c(ops[i].key));
        if (ops[i].kind == QUORATE_OP_DELETE)
          engine().pairs.erase(key);
        else
          engine().pairs[key] = from_c(ops[i].value);
      }
      return quorate_status{QUORATE_OK};
    };
    t.read_open = [](quorate_backend*, quorate_read** out, quorate_error* error) {
      return fake_open(out, engine().reads, error);
    };
    t.read_close = [](quorate_read*) { --engine().reads; };
    t.get = [](quorate_read*, uint32_t, quorate_slice key, quorate_slice* value,
               quorate_error* error) {
      if (engine().answer != QUORATE_OK) return engine().fail(error);
      const auto found = engine().pairs.find(std::string(from_c(key)));
      if (found == engine().pairs.end()) return quorate_status{QUORATE_NOT_FOUND};
      *value = to_c(found->second);
      return quorate_status{QUORATE_OK};
    };
    t.cursor_open = [](quorate_read*, uint32_t, quorate_cursor** out, quorate_error* error) {
      return fake_open(out, engine().cursors, error);
    };
    t.cursor_close = [](quorate_cursor*) { --engine().cursors; };
    t.seek = [](quorate_cursor*, quorate_slice key, quorate_slice* out_key,
                quorate_slice* out_value, quorate_error* error) {
      engine().at = engine().pairs.lower_bound(std::string(from_c(key)));
      return fake_position(out_key, out_value, error);
    };
    t.next = [](quorate_cursor*, quorate_slice* out_key, quorate_slice* out_value,
                quorate_error* error) {
      ++engine().at;
      return fake_position(out_key, out_value, error);
    };
    t.stats = [](quorate_backend*, quorate_backend_stats* out, quorate_error* error) {
      if (engine().answer != QUORATE_OK) return engine().fail(error);
      out->size = 100;
      out->size_in_use = 60;
      return quorate_status{QUORATE_OK};
    };
    t.get_extension = [](quorate_backend*, const char* id) -> const void* {
      static const quorate_backend_reclaim reclaim = {sizeof(reclaim), nullptr, nullptr};
      return std::string_view(id) == QUORATE_BACKEND_RECLAIM ? &reclaim : nullptr;
    };
    return t;
  }();
  return table;
}

}  // namespace quorate::plugin
