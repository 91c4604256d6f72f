// SPDX-License-Identifier: Apache-2.0
// LMDB's handles as objects, and its error codes as Failures.
#pragma once

#include <lmdb.h>

#include <string>
#include <string_view>

#include "sdk/error.h"

namespace quorate::backend_lmdb {

// Throws what `code` means unless it is MDB_SUCCESS. `what` completes "cannot ...".
void check(int code, const std::string& what);

inline MDB_val to_val(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}
inline std::string_view to_view(const MDB_val& val) {
  return {static_cast<const char*>(val.mv_data), val.mv_size};
}

struct EnvOptions {
  uint64_t map_size;
  uint32_t readers_max;
  uint32_t databases_max;
};

// An open environment: data.mdb and lock.mdb in `dir`. Slots of readers that died are freed.
class Env {
 public:
  Env(const std::string& dir, const EnvOptions& options);
  ~Env() { mdb_env_close(env_); }
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;

  MDB_env* get() const { return env_; }
  bool disk_is_full() const;

 private:
  std::string dir_;
  MDB_env* env_ = nullptr;
};

// A transaction that ends without effect unless it was committed. One that writes belongs to the
// thread that began it.
class Txn {
 public:
  Txn(const Env& env, unsigned flags);
  ~Txn() {
    if (txn_ != nullptr) mdb_txn_abort(txn_);
  }
  Txn(const Txn&) = delete;
  Txn& operator=(const Txn&) = delete;

  // Synced when it returns; when it throws, nothing took effect.
  void commit();

  MDB_txn* get() const { return txn_; }

 private:
  const Env& env_;
  MDB_txn* txn_ = nullptr;
};

}  // namespace quorate::backend_lmdb
