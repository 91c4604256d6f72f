// SPDX-License-Identifier: Apache-2.0
// Buckets in one RocksDB store: a key is the bucket's number in one byte, then the key. One column
// family, not one for each bucket: then there is one memtable, one flush and one order of WAL
// files, and none of the rules that keep several families in step can be broken.
//
// A write is one WriteBatch, synced to RocksDB's WAL. A view is a snapshot. docs/backends.md says
// which options are set and why.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "sdk/backend.h"

namespace quorate::backend_rocksdb {

class Engine {
 public:
  static constexpr const char* kId = "org.quorate.backend.rocksdb";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr uint32_t kCapabilities = QUORATE_BACKEND_DURABLE;
  static constexpr std::array<quorate_option_spec, 4> kOptions = {{
      {"block-cache", "64MiB", "memory for blocks read from table files", QUORATE_OPTION_BYTES, 0},
      {"write-buffer", "64MiB", "size of a memtable; as much again of WAL is kept",
       QUORATE_OPTION_BYTES, 0},
      {"background-jobs", "2", "flushes and compactions that may run at once", QUORATE_OPTION_INT,
       0},
      {"max-open-files", "512", "table files held open", QUORATE_OPTION_INT, 0},
  }};

  explicit Engine(const sdk::BackendConfig& config);
  // Writes the memtable to a table file, so that a closed store has no WAL to lose, and vouches for
  // what is there: RocksDB takes a manifest that lost its end for one that was never longer.
  ~Engine();

  void write(std::span<const quorate_op> ops);
  sdk::EngineStats stats();
  const void* extension(const char* id);

  void reclaim();
  void cancel_reclaim() { cancelled_ = true; }

  class View {
   public:
    explicit View(Engine& engine);
    ~View();
    View(const View&) = delete;
    View& operator=(const View&) = delete;

    bool get(uint32_t bucket, std::string_view key, std::string_view& value);

   private:
    friend class Engine;
    Engine& engine_;
    const rocksdb::Snapshot* snapshot_;
    rocksdb::PinnableSlice value_;
    std::string key_;
  };

  class Cursor {
   public:
    Cursor(View& view, uint32_t bucket);
    bool seek(std::string_view key, sdk::Pair& pair);
    bool next(sdk::Pair& pair);

   private:
    bool take(sdk::Pair& pair);

    const std::string& dir_;
    std::string key_;    // of the bucket, and the one last sought
    std::string above_;  // the first key that is not the bucket's
    rocksdb::Slice above_slice_;
    std::unique_ptr<rocksdb::Iterator> iterator_;
  };

 private:
  void check_voucher() const;
  void store_voucher() const;

  std::string dir_;
  std::unique_ptr<rocksdb::DB> db_;
  std::atomic<bool> write_failed_ = false;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace quorate::backend_rocksdb
