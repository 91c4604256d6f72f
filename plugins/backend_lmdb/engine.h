// SPDX-License-Identifier: Apache-2.0
// Buckets in an LMDB environment, a database each. A write is one synced transaction; a view is a
// read transaction; what get, seek and next give back lies in the map. docs/backends.md describes
// the bytes.
//
// Threads: as quorate/backend.h says. A write transaction belongs to its thread, and begins and
// ends within one write().
#pragma once

#include <array>
#include <string>
#include <vector>

#include "backend_lmdb/env.h"
#include "backend_lmdb/record.h"
#include "sdk/backend.h"

namespace quorate::backend_lmdb {

struct Bucket {
  MDB_dbi dbi;
  uint32_t checksum_seed;
};

class Engine {
 public:
  static constexpr const char* kId = "org.quorate.backend.lmdb";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr uint32_t kCapabilities = QUORATE_BACKEND_DURABLE;
  static constexpr std::array<quorate_option_spec, 3> kOptions = {{
      {"map-size", "0",
       "largest size of the data file; 0: by the quota, or the file system without one",
       QUORATE_OPTION_BYTES, 0},
      {"readers-max", "1022", "views that may be open at once", QUORATE_OPTION_INT, 0},
      {"verify", "true", "check the structure of the whole data file when it is opened",
       QUORATE_OPTION_BOOL, 0},
  }};

  explicit Engine(const sdk::BackendConfig& config);

  void write(std::span<const quorate_op> ops);
  sdk::EngineStats stats();
  const void* extension(const char*) { return nullptr; }

  class View {
   public:
    explicit View(Engine& engine) : buckets_(engine.buckets_), txn_(engine.env_, MDB_RDONLY) {}
    bool get(uint32_t bucket, std::string_view key, std::string_view& value);

   private:
    friend class Engine;
    const std::vector<Bucket>& buckets_;
    Txn txn_;
  };

  class Cursor {
   public:
    Cursor(View& view, uint32_t bucket);
    ~Cursor() { mdb_cursor_close(cursor_); }
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    bool seek(std::string_view key, sdk::Pair& pair);
    bool next(sdk::Pair& pair);

   private:
    bool move(MDB_cursor_op op, std::string_view to);
    bool take(sdk::Pair& pair);
    bool take_from_shelf(sdk::Pair& pair);

    Bucket bucket_;
    MDB_cursor* cursor_ = nullptr;
    std::string_view lmdb_key_, data_;  // where the LMDB cursor is
    ShelfReader shelf_{{}};
    std::string long_key_;  // a shelf has keys in two parts; here they are one
  };

 private:
  void put(MDB_txn* txn, const quorate_op& op);
  void erase(MDB_txn* txn, const quorate_op& op);
  void store(MDB_txn* txn, const Bucket& bucket, std::string_view lmdb_key, std::string_view data,
             bool append);
  void store_commit_record(MDB_txn* txn);

  Env env_;
  MDB_dbi control_ = 0;
  std::vector<Bucket> buckets_;
};

}  // namespace quorate::backend_lmdb
