// SPDX-License-Identifier: Apache-2.0
#include "backend_lmdb/engine.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

#include "backend_lmdb/verify.h"
#include "sdk/crc32c.h"

namespace quorate::backend_lmdb {
namespace {

// Room beside twice the quota for pages that views keep from being reused, and for half-full ones.
constexpr uint64_t kMapSlackBytes = uint64_t{1} << 30;
constexpr uint64_t kMapBytesMin = uint64_t{16} << 20;

uint64_t file_system_bytes(const std::string& dir) {
  struct statvfs fs {};
  if (::statvfs(dir.c_str(), &fs) != 0) throw sdk::system_failure("ask the size of " + dir, errno);
  return static_cast<uint64_t>(fs.f_blocks) * fs.f_frsize;
}

uint64_t map_bytes(const sdk::BackendConfig& config) {
  uint64_t bytes = config.options.bytes("map-size");
  if (bytes == 0 && config.quota_bytes != 0) bytes = config.quota_bytes * 2 + kMapSlackBytes;
  if (bytes == 0) bytes = file_system_bytes(config.dir);
  constexpr uint64_t kPage = 4096;
  return std::max(bytes, kMapBytesMin) / kPage * kPage;
}

EnvOptions env_options(const sdk::BackendConfig& config) {
  const int64_t readers = config.options.integer("readers-max");
  if (readers < 1 || readers > 100000)
    throw sdk::Failure(
        QUORATE_INVALID_ARGUMENT,
        "option readers-max is " + std::to_string(readers) + "; write a number from 1 to 100000");
  return {map_bytes(config), static_cast<uint32_t>(readers),
          static_cast<uint32_t>(config.buckets.size() + 1)};
}

Env open_env(const sdk::BackendConfig& config) {
  const EnvOptions options = env_options(config);
  if (!config.create) verify_file(config.dir + "/data.mdb", config.options.boolean("verify"));
  return Env(config.dir, options);
}

MDB_dbi open_database(const Txn& txn, const std::string& name, bool create) {
  MDB_dbi dbi = 0;
  const int code = mdb_dbi_open(txn.get(), name.c_str(), create ? MDB_CREATE : 0, &dbi);
  if (code == MDB_NOTFOUND)
    throw sdk::Failure(QUORATE_CORRUPT, "the data file has no database " + name +
                                            "; restore this member from its peers");
  check(code, "open database " + name);
  return dbi;
}

}  // namespace

Engine::Engine(const sdk::BackendConfig& config) : env_(open_env(config)) {
  Txn txn(env_, config.create ? 0 : MDB_RDONLY);
  control_ = open_database(txn, kControlDatabase, config.create);
  for (const std::string& name : config.buckets)
    buckets_.push_back(
        {open_database(txn, kBucketPrefix + name, config.create), sdk::crc32c(name)});
  if (config.create) store_commit_record(txn.get());
  txn.commit();
}

void Engine::write(std::span<const quorate_op> ops) {
  Txn txn(env_, 0);
  for (const quorate_op& op : ops) {
    if (op.kind == QUORATE_OP_PUT) {
      put(txn.get(), op);
    } else {
      erase(txn.get(), op);
    }
  }
  store_commit_record(txn.get());
  txn.commit();
}

void Engine::put(MDB_txn* txn, const quorate_op& op) {
  const Bucket& bucket = buckets_[op.bucket];
  const std::string_view key = sdk::view(op.key), value = sdk::view(op.value);
  if (key.size() < kStemSize)
    return store(txn, bucket, key, value, (op.flags & QUORATE_OP_APPEND) != 0);
  MDB_val stem = to_val(stem_of(key)), stored{};
  const int code = mdb_get(txn, bucket.dbi, &stem, &stored);
  std::string_view shelf;
  if (code != MDB_NOTFOUND) {
    check(code, "read");
    shelf = checked_data(bucket.checksum_seed, stem_of(key), to_view(stored));
  }
  store(txn, bucket, stem_of(key), shelf_with(shelf, key.substr(kStemSize), value), false);
}

void Engine::erase(MDB_txn* txn, const quorate_op& op) {
  const Bucket& bucket = buckets_[op.bucket];
  const std::string_view key = sdk::view(op.key);
  MDB_val stem = to_val(stem_of(key)), stored{};
  if (is_shelf(stem_of(key))) {
    const int code = mdb_get(txn, bucket.dbi, &stem, &stored);
    if (code == MDB_NOTFOUND) return;
    check(code, "read");
    const std::string shelf = shelf_without(
        checked_data(bucket.checksum_seed, stem_of(key), to_view(stored)), key.substr(kStemSize));
    if (!shelf.empty()) return store(txn, bucket, stem_of(key), shelf, false);
  }
  const int code = mdb_del(txn, bucket.dbi, &stem, nullptr);
  if (code != MDB_NOTFOUND) check(code, "delete");
}

void Engine::store(MDB_txn* txn, const Bucket& bucket, std::string_view lmdb_key,
                   std::string_view data, bool append) {
  MDB_val key = to_val(lmdb_key);
  MDB_val room = {data.size() + kChecksumSize, nullptr};
  int code = append ? mdb_put(txn, bucket.dbi, &key, &room, MDB_RESERVE | MDB_APPEND)
                    : static_cast<int>(MDB_KEYEXIST);
  if (code == MDB_KEYEXIST) {
    room = {data.size() + kChecksumSize, nullptr};
    code = mdb_put(txn, bucket.dbi, &key, &room, MDB_RESERVE);
  }
  check(code, "put");
  char* to = static_cast<char*>(room.mv_data);
  if (!data.empty()) std::memcpy(to, data.data(), data.size());
  const uint32_t checksum = record_checksum(bucket.checksum_seed, lmdb_key, data);
  std::memcpy(to + data.size(), &checksum, sizeof checksum);
}

void Engine::store_commit_record(MDB_txn* txn) {
  const uint64_t id = mdb_txn_id(txn);
  store(txn, {control_, sdk::crc32c(kControlDatabase)}, kCommitKey,
        {reinterpret_cast<const char*>(&id), sizeof id}, false);
}

sdk::EngineStats Engine::stats() {
  const Txn txn(env_, MDB_RDONLY);
  MDB_envinfo info{};
  check(mdb_env_info(env_.get(), &info), "ask for the environment's state");
  constexpr MDB_dbi kFreeList = 0, kNames = 1;
  std::vector<MDB_dbi> databases = {kFreeList, kNames, control_};
  for (const Bucket& bucket : buckets_) databases.push_back(bucket.dbi);
  uint64_t pages = 2, page_size = 0;
  for (const MDB_dbi dbi : databases) {
    MDB_stat stat{};
    check(mdb_stat(txn.get(), dbi, &stat), "ask for a database's state");
    pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    page_size = stat.ms_psize;
  }
  return {(info.me_last_pgno + 1) * page_size, pages * page_size};
}

bool Engine::View::get(uint32_t number, std::string_view key, std::string_view& value) {
  const Bucket& bucket = buckets_[number];
  MDB_val stem = to_val(stem_of(key)), stored{};
  const int code = mdb_get(txn_.get(), bucket.dbi, &stem, &stored);
  if (code == MDB_NOTFOUND) return false;
  check(code, "read");
  value = checked_data(bucket.checksum_seed, stem_of(key), to_view(stored));
  if (!is_shelf(stem_of(key))) return true;
  ShelfReader shelf(value);
  while (shelf.next()) {
    if (shelf.key_rest() != key.substr(kStemSize)) continue;
    value = shelf.value();
    return true;
  }
  return false;
}

Engine::Cursor::Cursor(View& view, uint32_t bucket) : bucket_(view.buckets_[bucket]) {
  check(mdb_cursor_open(view.txn_.get(), bucket_.dbi, &cursor_), "open a cursor");
}

bool Engine::Cursor::move(MDB_cursor_op op, std::string_view to) {
  MDB_val key = to_val(to), stored{};
  shelf_ = ShelfReader({});
  const int code = mdb_cursor_get(cursor_, &key, &stored, op);
  if (code == MDB_NOTFOUND) return false;
  check(code, "read");
  lmdb_key_ = to_view(key);
  data_ = checked_data(bucket_.checksum_seed, lmdb_key_, to_view(stored));
  if (is_shelf(lmdb_key_)) shelf_ = ShelfReader(data_);
  return true;
}

bool Engine::Cursor::take(sdk::Pair& pair) {
  if (is_shelf(lmdb_key_)) return take_from_shelf(pair);
  pair = {lmdb_key_, data_};
  return true;
}

bool Engine::Cursor::take_from_shelf(sdk::Pair& pair) {
  if (!shelf_.next()) return false;
  long_key_.assign(lmdb_key_).append(shelf_.key_rest());
  pair = {long_key_, shelf_.value()};
  return true;
}

bool Engine::Cursor::seek(std::string_view key, sdk::Pair& pair) {
  const bool found = key.empty() ? move(MDB_FIRST, {}) : move(MDB_SET_RANGE, stem_of(key));
  if (!found) return false;
  if (lmdb_key_ != key.substr(0, kStemSize) || !is_shelf(lmdb_key_)) return take(pair);
  while (take_from_shelf(pair))
    if (pair.key >= key) return true;
  return move(MDB_NEXT, {}) && take(pair);
}

bool Engine::Cursor::next(sdk::Pair& pair) {
  return take_from_shelf(pair) || (move(MDB_NEXT, {}) && take(pair));
}

}  // namespace quorate::backend_lmdb

QUORATE_PLUGIN_ENTRY(backend_lmdb,
                     quorate::sdk::BackendPlugin<quorate::backend_lmdb::Engine>::kPlugin)
