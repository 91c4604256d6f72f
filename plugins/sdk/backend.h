// SPDX-License-Identifier: Apache-2.0
// Makes a backend plugin out of three C++ classes. What every engine would do alike is done here:
// the exception barrier, the lock and the format of the directory, the check of what comes in, the
// handles. An engine so never sees a bucket that is not there, an empty key in a write, or an
// unknown kind of operation.
//
//   class Engine {
//    public:
//     static constexpr const char* kId = "org.example.backend.x";
//     static constexpr const char* kVersion = "1.0.0";
//     static constexpr uint32_t kCapabilities = QUORATE_BACKEND_DURABLE;
//     static constexpr std::array<quorate_option_spec, N> kOptions = {...};
//
//     explicit Engine(const sdk::BackendConfig&);    // opens; the directory is locked already
//     void write(std::span<const quorate_op>);       // all or none
//     sdk::EngineStats stats();
//     const void* extension(const char* id);         // or nullptr
//
//     class View {                                   // a consistent one, from its construction on
//       explicit View(Engine&);
//       bool get(uint32_t bucket, std::string_view key, std::string_view& value);
//     };
//     class Cursor {
//       Cursor(View&, uint32_t bucket);
//       bool seek(std::string_view key, sdk::Pair&);  // first pair with a key >= key
//       bool next(sdk::Pair&);                        // only after a pair was found
//     };
//   };
//   QUORATE_PLUGIN_ENTRY(backend_x, quorate::sdk::BackendPlugin<Engine>::kPlugin)
//
// Every function may throw; a Failure crosses as its status and text. Threads and lifetimes are
// those of quorate/backend.h.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quorate/backend.h"
#include "sdk/engine_directory.h"
#include "sdk/entry.h"
#include "sdk/error.h"
#include "sdk/host.h"
#include "sdk/options.h"
#include "sdk/slice.h"

namespace quorate::sdk {

struct BackendConfig {
  std::string dir;
  bool create;  // the directory is new and empty; else what was made in it must be there
  std::vector<std::string> buckets;
  uint64_t quota_bytes;  // 0: none
  Options options;
  Log log;
};

struct EngineStats {
  uint64_t size;
  uint64_t size_in_use;
};

struct Pair {
  std::string_view key;
  std::string_view value;
};

template <class Engine>
class BackendPlugin {
  using View = typename Engine::View;
  using Cursor = typename Engine::Cursor;

  struct Backend {
    explicit Backend(const quorate_backend_options& from)
        : lock(from.dir),
          format(format_of(from)),
          bucket_count(from.bucket_count),
          engine(config_of(from, !format || !format->complete())) {
      if (format) format->set_complete();
    }

    // What keeps nothing has no directory to mistake.
    static std::optional<DirectoryFormat> format_of(const quorate_backend_options& from) {
      if ((Engine::kCapabilities & QUORATE_BACKEND_DURABLE) == 0) return std::nullopt;
      return DirectoryFormat(from.dir, Engine::kId, buckets_of(from));
    }
    static std::vector<std::string> buckets_of(const quorate_backend_options& from) {
      return {from.buckets, from.buckets + from.bucket_count};
    }
    static BackendConfig config_of(const quorate_backend_options& from, bool create) {
      return {from.dir,
              create,
              buckets_of(from),
              from.quota_bytes,
              Options(Engine::kOptions, from.options, from.option_count),
              Log(from.host, Engine::kId)};
    }

    DirectoryLock lock;
    std::optional<DirectoryFormat> format;
    uint32_t bucket_count;
    Engine engine;
    std::atomic<uint32_t> open_reads = 0;
  };

  struct Read {
    explicit Read(Backend& from) : backend(from), view(from.engine) { ++backend.open_reads; }
    ~Read() { --backend.open_reads; }

    Backend& backend;
    View view;
  };

  struct OpenCursor {
    OpenCursor(Read& read, uint32_t bucket) : cursor(read.view, bucket) {}

    // At the end, and before the first seek, there is no successor.
    quorate_status take(bool found, const Pair& pair, quorate_slice* key, quorate_slice* value) {
      at_pair = found;
      if (!found) return QUORATE_NOT_FOUND;
      *key = slice(pair.key);
      *value = slice(pair.value);
      return QUORATE_OK;
    }

    Cursor cursor;
    bool at_pair = false;
  };

  static Backend& backend_of(quorate_backend* handle) {
    return *reinterpret_cast<Backend*>(handle);
  }
  static Read& read_of(quorate_read* handle) { return *reinterpret_cast<Read*>(handle); }
  static OpenCursor& cursor_of(quorate_cursor* handle) {
    return *reinterpret_cast<OpenCursor*>(handle);
  }

  static void check_bucket(const Backend& backend, uint32_t bucket) {
    if (bucket < backend.bucket_count) return;
    throw Failure(QUORATE_INVALID_ARGUMENT, "bucket " + std::to_string(bucket) +
                                                " does not exist; there are " +
                                                std::to_string(backend.bucket_count));
  }

  static void check_op(const Backend& backend, const quorate_op& op) {
    check_bucket(backend, op.bucket);
    if (op.kind != QUORATE_OP_PUT && op.kind != QUORATE_OP_DELETE)
      throw Failure(QUORATE_INVALID_ARGUMENT,
                    "operation kind " + std::to_string(op.kind) + " is not known");
    if (op.key.size == 0)
      throw Failure(QUORATE_INVALID_ARGUMENT, "a key in a write must not be empty");
  }

  static quorate_status open(const quorate_backend_options* options, quorate_backend** out,
                             quorate_error* error) {
    return barrier(error,
                   [&] { *out = reinterpret_cast<quorate_backend*>(new Backend(*options)); });
  }
  static void close(quorate_backend* handle) {
    barrier(nullptr, [&] { delete &backend_of(handle); });
  }
  static quorate_status write(quorate_backend* handle, const quorate_op* ops, size_t count,
                              quorate_error* error) {
    return barrier(error, [&] {
      Backend& backend = backend_of(handle);
      for (size_t i = 0; i < count; ++i) check_op(backend, ops[i]);
      backend.engine.write({ops, count});
    });
  }

  static quorate_status read_open(quorate_backend* handle, quorate_read** out,
                                  quorate_error* error) {
    return barrier(error,
                   [&] { *out = reinterpret_cast<quorate_read*>(new Read(backend_of(handle))); });
  }
  static void read_close(quorate_read* handle) {
    barrier(nullptr, [&] { delete &read_of(handle); });
  }
  static quorate_status get(quorate_read* handle, uint32_t bucket, quorate_slice key,
                            quorate_slice* value, quorate_error* error) {
    return barrier(error, [&]() -> quorate_status {
      Read& read = read_of(handle);
      check_bucket(read.backend, bucket);
      std::string_view found;
      if (key.size == 0 || !read.view.get(bucket, sdk::view(key), found)) return QUORATE_NOT_FOUND;
      *value = slice(found);
      return QUORATE_OK;
    });
  }

  static quorate_status cursor_open(quorate_read* handle, uint32_t bucket, quorate_cursor** out,
                                    quorate_error* error) {
    return barrier(error, [&] {
      Read& read = read_of(handle);
      check_bucket(read.backend, bucket);
      *out = reinterpret_cast<quorate_cursor*>(new OpenCursor(read, bucket));
    });
  }
  static void cursor_close(quorate_cursor* handle) {
    barrier(nullptr, [&] { delete &cursor_of(handle); });
  }
  static quorate_status seek(quorate_cursor* handle, quorate_slice key, quorate_slice* out_key,
                             quorate_slice* out_value, quorate_error* error) {
    return barrier(error, [&] {
      OpenCursor& open = cursor_of(handle);
      Pair pair;
      open.at_pair = false;
      const bool found = open.cursor.seek(sdk::view(key), pair);
      return open.take(found, pair, out_key, out_value);
    });
  }
  static quorate_status next(quorate_cursor* handle, quorate_slice* out_key,
                             quorate_slice* out_value, quorate_error* error) {
    return barrier(error, [&] {
      OpenCursor& open = cursor_of(handle);
      Pair pair;
      const bool from_pair = std::exchange(open.at_pair, false);
      const bool found = from_pair && open.cursor.next(pair);
      return open.take(found, pair, out_key, out_value);
    });
  }

  static quorate_status stats(quorate_backend* handle, quorate_backend_stats* out,
                              quorate_error* error) {
    return barrier(error, [&] {
      Backend& backend = backend_of(handle);
      const EngineStats now = backend.engine.stats();
      out->open_reads = backend.open_reads;
      out->size = now.size;
      out->size_in_use = now.size_in_use < now.size ? now.size_in_use : now.size;
    });
  }
  static const void* get_extension(quorate_backend* handle, const char* id) {
    return backend_of(handle).engine.extension(id);
  }

  static constexpr quorate_backend_factory kFactory = {sizeof(quorate_backend_factory),
                                                       Engine::kCapabilities,
                                                       open,
                                                       close,
                                                       write,
                                                       read_open,
                                                       read_close,
                                                       get,
                                                       cursor_open,
                                                       cursor_close,
                                                       seek,
                                                       next,
                                                       stats,
                                                       get_extension};

 public:
  // The engine behind a handle, for what get_extension() hands out.
  static Engine& engine_of(quorate_backend* handle) { return backend_of(handle).engine; }

  struct Door {
    static constexpr const char* kId = Engine::kId;
    static constexpr const char* kVersion = Engine::kVersion;
    static constexpr const char* kFactoryId = QUORATE_BACKEND_FACTORY;
    static const void* factory() { return &kFactory; }
    static std::span<const quorate_option_spec> options() { return Engine::kOptions; }
  };
  static constexpr quorate_plugin kPlugin = OneFactory<Door>::kPlugin;
};

}  // namespace quorate::sdk
