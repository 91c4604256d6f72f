// SPDX-License-Identifier: Apache-2.0
// The backend table in C++: handles that close themselves, Slice and Status instead of pointers and
// codes. Nothing is added, nothing is virtual: whoever wants to stand between (a test, the
// simulator) does so with a table of its own.
//
// Every error carries the engine's short name, the call, and the engine's own text.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "plugin/factory.h"
#include "quorate/backend.h"

namespace quorate::plugin {

class BackendFactory : public Factory<quorate_backend_factory> {
 public:
  using Factory::Factory;
  // What write() took survives the process.
  bool durable() const { return (capabilities() & QUORATE_BACKEND_DURABLE) != 0; }
};

struct BackendOptions {
  std::string dir;                       // exists; the engine owns what is inside
  std::span<const char* const> buckets;  // by number; the names outlive the backend
  uint64_t quota_bytes = 0;              // must hold twice this; 0: what the file system holds
  Options options;
  HostServices host;
};

// One operation of a write; its bytes are borrowed until the write returns.
using Op = quorate_op;
// append: the key sorts after every key in the bucket.
inline Op put_op(uint32_t bucket, Slice key, Slice value, bool append = false) {
  return {QUORATE_OP_PUT, static_cast<uint16_t>(append ? QUORATE_OP_APPEND : 0), bucket, to_c(key),
          to_c(value)};
}
inline Op delete_op(uint32_t bucket, Slice key) {
  return {QUORATE_OP_DELETE, 0, bucket, to_c(key), {nullptr, 0}};
}

class Backend;

// A position in one bucket of a view. Ends before its EngineRead; one thread at a time, the view's.
class Cursor {
 public:
  Cursor(Cursor&& other) noexcept;
  Cursor& operator=(Cursor&& other) noexcept;
  ~Cursor();

  // At the first pair with a key >= `key`. False: there is none. May block on disk.
  Result<bool> seek(Slice key);
  // At the next pair in byte order. False: there is none; the cursor then takes only seek().
  // REQUIRES: the last seek() or next() returned true.
  Result<bool> next();

  // The pair the cursor is at; valid until its next call. REQUIRES: that call returned true.
  Slice key() const { return key_; }
  Slice value() const { return value_; }

 private:
  friend class EngineRead;
  Cursor(const Backend* backend, quorate_cursor* cursor) : backend_(backend), cursor_(cursor) {}
  Result<bool> moved(quorate_status status, const quorate_slice& key, const quorate_slice& value,
                     const class CallError& error, const char* what);

  const Backend* backend_;
  quorate_cursor* cursor_;
  Slice key_, value_;
};

// A consistent view of everything written before it was opened. Ends before its Backend, after its
// cursors. Any thread, one at a time.
class EngineRead {
 public:
  EngineRead(EngineRead&& other) noexcept;
  EngineRead& operator=(EngineRead&& other) noexcept;
  ~EngineRead();

  // Nothing when the key is absent. The value is valid until the next call on this view, cursors
  // apart. May block on disk.
  Result<std::optional<Slice>> get(uint32_t bucket, Slice key);
  Result<Cursor> cursor(uint32_t bucket);

 private:
  friend class Backend;
  EngineRead(const Backend* backend, quorate_read* read) : backend_(backend), read_(read) {}

  const Backend* backend_;
  quorate_read* read_;
};

// One open directory of an engine.
class Backend {
 public:
  // An option that the engine does not take, or another value than it can be, is kInvalidArgument.
  static Result<std::unique_ptr<Backend>> open(const BackendFactory& factory,
                                               BackendOptions options);
  // Closes. REQUIRES: no EngineRead is open.
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const std::string& name() const { return factory_.name(); }
  bool durable() const { return factory_.durable(); }
  const BackendFactory& factory() const { return factory_; }

  // All of `ops` or, after a crash or an error, none. On OK they are durable (if durable()) and
  // every view opened later sees them. One thread at a time; blocks on disk.
  Status write(std::span<const Op> ops);
  // Any thread; may block on disk.
  Result<EngineRead> read_open() const;
  // Any thread; may block on disk.
  Result<quorate_backend_stats> stats() const;

  // The engine's table for `id` (QUORATE_BACKEND_RECLAIM), nullptr when it has none; valid as long
  // as the backend. Any thread.
  const void* extension(const char* id) const { return table_->get_extension(handle_, id); }
  // For calls of an extension.
  quorate_backend* handle() const { return handle_; }

 private:
  friend class EngineRead;
  friend class Cursor;
  Backend(const BackendFactory& factory, HostServices host, Options options)
      : factory_(factory), table_(factory.table()), context_(std::move(host), std::move(options)) {}

  const BackendFactory factory_;
  const quorate_backend_factory* const table_;
  ObjectContext context_;
  std::string dir_;
  std::vector<const char*> buckets_;
  quorate_backend* handle_ = nullptr;
  mutable std::atomic<int> open_reads_{0};
};

}  // namespace quorate::plugin
