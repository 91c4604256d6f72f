// SPDX-License-Identifier: Apache-2.0
#include "backend_rocksdb/engine.h"

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <memory>

#include "sdk/crc32c.h"

namespace quorate::backend_rocksdb {
namespace {

constexpr size_t kBucketsMax = 255;  // the byte 0xff stays free, as the end of the last one

quorate_status status_of(const rocksdb::Status& status) {
  if (status.IsNoSpace()) return QUORATE_NO_SPACE;
  if (status.IsCorruption() || status.IsPathNotFound()) return QUORATE_CORRUPT;
  if (status.IsIOError()) return QUORATE_IO_ERROR;
  if (status.IsInvalidArgument()) return QUORATE_CORRUPT;
  return QUORATE_INTERNAL;
}

void check(const rocksdb::Status& status, const char* what, const std::string& dir) {
  if (status.ok()) return;
  throw sdk::Failure(status_of(status),
                     std::string("cannot ") + what + " " + dir + ": " + status.ToString(),
                     static_cast<int>(status.code()) << 8 | static_cast<int>(status.subcode()));
}

rocksdb::Slice to_slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}
std::string_view to_view(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

int positive(const sdk::Options& options, const char* key) {
  const int64_t value = options.integer(key);
  if (value < 1 || value > 1 << 20)
    throw sdk::Failure(QUORATE_INVALID_ARGUMENT, std::string("option ") + key + " is " +
                                                     std::to_string(value) +
                                                     "; write a number from 1 to 1048576");
  return static_cast<int>(value);
}

// Recovery from a write error by itself would go on with the file that failed; it belongs to
// whoever opens the store the next time.
class StayFailed final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

// RocksDB's own lines, warnings and up, in the host's log. A log file of RocksDB's beside the data
// would be one more file to fail on a full disk, and Debian's build aborts when one that has failed
// is written to again.
class HostLogger final : public rocksdb::Logger {
 public:
  explicit HostLogger(sdk::Log log)
      : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL), log_(log) {}

  using rocksdb::Logger::Logv;
  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level < GetInfoLogLevel()) return;
    char text[1024];
    std::vsnprintf(text, sizeof text, format, arguments);
    level >= rocksdb::InfoLogLevel::ERROR_LEVEL ? log_.error(text) : log_.warn(text);
  }
  void Logv(const char* format, va_list arguments) override {
    Logv(rocksdb::InfoLogLevel::INFO_LEVEL, format, arguments);
  }

 private:
  const sdk::Log log_;
};

rocksdb::Options rocksdb_options(const sdk::BackendConfig& config) {
  rocksdb::Options options;
  options.create_if_missing = config.create;
  options.error_if_exists = config.create;
  options.paranoid_checks = true;
  // A batch above one write call can be torn by a kill; kAbsoluteConsistency then refuses to open a
  // store that lost nothing it had acknowledged, and the default forgets whatever stands behind a
  // damaged record. This one cuts a torn last record and refuses any other damage.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.track_and_verify_wals_in_manifest = true;
  options.compression = rocksdb::kNoCompression;
  options.max_background_jobs = positive(config.options, "background-jobs");
  options.max_open_files = positive(config.options, "max-open-files");
  options.write_buffer_size = config.options.bytes("write-buffer");
  options.max_write_buffer_number = 3;
  options.enable_pipelined_write = false;
  options.two_write_queues = false;
  options.allow_concurrent_memtable_write = false;  // there is one writer
  options.avoid_flush_during_recovery = false;
  options.atomic_flush = false;
  options.recycle_log_file_num = 0;
  options.WAL_ttl_seconds = 0;
  options.WAL_size_limit_MB = 0;
  options.listeners.push_back(std::make_shared<StayFailed>());
  options.max_bgerror_resume_count = 0;
  options.info_log = std::make_shared<HostLogger>(config.log);

  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(config.options.bytes("block-cache"));
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

std::string voucher_line(uint64_t sequence) {
  const std::string number = std::to_string(sequence);
  return number + " " + std::to_string(sdk::crc32c(number)) + "\n";
}

void set_key(std::string& to, uint32_t bucket, std::string_view key) {
  to.assign(1, static_cast<char>(bucket)).append(key);
}

}  // namespace

Engine::Engine(const sdk::BackendConfig& config) : dir_(config.dir) {
  if (config.buckets.size() > kBucketsMax)
    throw sdk::Failure(QUORATE_INVALID_ARGUMENT, "there can be 255 buckets at most");
  rocksdb::DB* db = nullptr;
  check(rocksdb::DB::Open(rocksdb_options(config), dir_ + "/db", &db), "open", dir_);
  db_.reset(db);
  if (config.create) {
    store_voucher();
  } else {
    check_voucher();
  }
}

Engine::~Engine() {
  // After a failed write nothing is flushed: what was acknowledged is in the WAL, a sequence number
  // may have been used up that nothing on disk has, and Debian's RocksDB, which is built with its
  // assertions, aborts when it meets a WAL file again that has failed.
  if (!write_failed_) {
    rocksdb::FlushOptions flush;
    flush.allow_write_stall = true;
    if (db_->Flush(flush).ok()) sdk::barrier(nullptr, [this] { store_voucher(); });
  }
  db_->Close().PermitUncheckedError();
}

void Engine::check_voucher() const {
  const std::string path = dir_ + "/voucher";
  const std::string line = sdk::FileHandle(path, O_RDONLY).read(64);
  const uint64_t there = db_->GetLatestSequenceNumber();
  const size_t number_size = line.find(' ');
  const auto vouched = sdk::parse_int(std::string_view(line).substr(0, number_size));
  if (!vouched || line != voucher_line(static_cast<uint64_t>(*vouched)))
    throw sdk::Failure(QUORATE_CORRUPT,
                       path + " is damaged; restore this member from its peers or a snapshot");
  if (there < static_cast<uint64_t>(*vouched))
    throw sdk::Failure(QUORATE_CORRUPT,
                       dir_ + " ends at change " + std::to_string(there) + ", but had reached " +
                           std::to_string(*vouched) +
                           ": its manifest or WAL is cut; restore this member from its peers or a "
                           "snapshot");
}

void Engine::store_voucher() const {
  sdk::replace_file(dir_, "voucher", voucher_line(db_->GetLatestSequenceNumber()));
}

void Engine::write(std::span<const quorate_op> ops) {
  if (write_failed_)
    throw sdk::Failure(QUORATE_IO_ERROR, "a write to " + dir_ + " has failed; open it anew");
  rocksdb::WriteBatch batch;
  for (const quorate_op& op : ops) {
    const char bucket = static_cast<char>(op.bucket);
    const rocksdb::Slice key[] = {{&bucket, 1}, to_slice(sdk::view(op.key))};
    const rocksdb::Slice value = to_slice(sdk::view(op.value));
    if (op.kind == QUORATE_OP_PUT) {
      check(batch.Put(rocksdb::SliceParts(key, 2), rocksdb::SliceParts(&value, 1)), "write to",
            dir_);
    } else {
      check(batch.Delete(rocksdb::SliceParts(key, 2)), "write to", dir_);
    }
  }
  rocksdb::WriteOptions options;
  options.sync = true;
  const rocksdb::Status status = db_->Write(options, &batch);
  if (!status.ok()) write_failed_ = true;
  check(status, "write to", dir_);
}

sdk::EngineStats Engine::stats() {
  const auto number = [&](const std::string& property) {
    uint64_t value = 0;
    db_->GetIntProperty(property, &value);
    return value;
  };
  const uint64_t memtables = number(rocksdb::DB::Properties::kCurSizeAllMemTables);
  return {number(rocksdb::DB::Properties::kLiveSstFilesSize) + memtables,
          number(rocksdb::DB::Properties::kEstimateLiveDataSize) + memtables};
}

void Engine::reclaim() {
  cancelled_ = false;
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.canceled = &cancelled_;
  const rocksdb::Status status = db_->CompactRange(options, nullptr, nullptr);
  if (status.IsIncomplete() && cancelled_)
    throw sdk::Failure(QUORATE_CANCELLED, "the compaction was cancelled");
  check(status, "compact", dir_);
}

const void* Engine::extension(const char* id) {
  static constexpr quorate_backend_reclaim kReclaim = {
      sizeof(quorate_backend_reclaim),
      [](quorate_backend* handle, quorate_error* error) {
        return sdk::barrier(error,
                            [&] { sdk::BackendPlugin<Engine>::engine_of(handle).reclaim(); });
      },
      [](quorate_backend* handle) {
        sdk::BackendPlugin<Engine>::engine_of(handle).cancel_reclaim();
      }};
  return std::string_view(id) == QUORATE_BACKEND_RECLAIM ? &kReclaim : nullptr;
}

Engine::View::View(Engine& engine) : engine_(engine), snapshot_(engine.db_->GetSnapshot()) {}

Engine::View::~View() {
  value_.Reset();
  engine_.db_->ReleaseSnapshot(snapshot_);
}

bool Engine::View::get(uint32_t bucket, std::string_view key, std::string_view& value) {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot_;
  set_key(key_, bucket, key);
  value_.Reset();
  const rocksdb::Status status =
      engine_.db_->Get(options, engine_.db_->DefaultColumnFamily(), key_, &value_);
  if (status.IsNotFound()) return false;
  check(status, "read from", engine_.dir_);
  value = to_view(value_);
  return true;
}

Engine::Cursor::Cursor(View& view, uint32_t bucket)
    : dir_(view.engine_.dir_), above_(1, static_cast<char>(bucket + 1)), above_slice_(above_) {
  rocksdb::ReadOptions options;
  options.snapshot = view.snapshot_;
  options.iterate_upper_bound = &above_slice_;
  set_key(key_, bucket, {});
  iterator_.reset(view.engine_.db_->NewIterator(options));
}

bool Engine::Cursor::seek(std::string_view key, sdk::Pair& pair) {
  key_.resize(1);
  key_.append(key);
  iterator_->Seek(key_);
  return take(pair);
}

bool Engine::Cursor::next(sdk::Pair& pair) {
  iterator_->Next();
  return take(pair);
}

bool Engine::Cursor::take(sdk::Pair& pair) {
  if (!iterator_->Valid()) {
    check(iterator_->status(), "read from", dir_);
    return false;
  }
  pair = {to_view(iterator_->key()).substr(1), to_view(iterator_->value())};
  return true;
}

}  // namespace quorate::backend_rocksdb

QUORATE_PLUGIN_ENTRY(backend_rocksdb,
                     quorate::sdk::BackendPlugin<quorate::backend_rocksdb::Engine>::kPlugin)
