// SPDX-License-Identifier: Apache-2.0
#include "backend_lmdb/env.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace quorate::backend_lmdb {
namespace {

constexpr uint64_t kFullDiskBytes = 1 << 20;

quorate_status status_of(int code) {
  switch (code) {
    case MDB_MAP_FULL:
    case ENOSPC:
    case EDQUOT: return QUORATE_NO_SPACE;
    case MDB_PAGE_NOTFOUND:
    case MDB_CORRUPTED:
    case MDB_VERSION_MISMATCH:
    case MDB_INVALID:
    case MDB_INCOMPATIBLE: return QUORATE_CORRUPT;
    case MDB_READERS_FULL:
    case EBUSY:
    case EAGAIN: return QUORATE_BUSY;
    default: return code > 0 || code == MDB_PANIC ? QUORATE_IO_ERROR : QUORATE_INTERNAL;
  }
}

}  // namespace

void check(int code, const std::string& what) {
  if (code == MDB_SUCCESS) return;
  throw sdk::Failure(status_of(code), "cannot " + what + ": " + mdb_strerror(code), code);
}

Env::Env(const std::string& dir, const EnvOptions& options) : dir_(dir) {
  check(mdb_env_create(&env_), "make an LMDB environment");
  try {
    check(mdb_env_set_mapsize(env_, options.map_size), "set the size of the map");
    check(mdb_env_set_maxreaders(env_, options.readers_max), "set the number of readers");
    check(mdb_env_set_maxdbs(env_, options.databases_max), "set the number of databases");
    // NOTLS: a view may move from one thread to another. Not WRITEMAP: slower in batches, and a
    // stray pointer would write into the store. Not NOSYNC: a power cut could damage the file.
    check(mdb_env_open(env_, dir.c_str(), MDB_NOTLS, 0600), "open " + dir);
    int dead = 0;
    check(mdb_reader_check(env_, &dead), "free the readers of " + dir + " that died");
  } catch (...) {
    mdb_env_close(env_);
    throw;
  }
}

bool Env::disk_is_full() const {
  struct statvfs fs {};
  return ::statvfs(dir_.c_str(), &fs) == 0 && fs.f_bavail * fs.f_frsize < kFullDiskBytes;
}

Txn::Txn(const Env& env, unsigned flags) : env_(env) {
  check(mdb_txn_begin(env.get(), nullptr, flags, &txn_), "begin a transaction");
}

void Txn::commit() {
  int code = mdb_txn_commit(std::exchange(txn_, nullptr));
  // The last write that a full disk takes is a short one, which LMDB reports as EIO.
  if (code == EIO && env_.disk_is_full()) code = ENOSPC;
  check(code, "commit");
}

}  // namespace quorate::backend_lmdb
