// SPDX-License-Identifier: Apache-2.0
// Files by plain system calls (pread, pwritev, fdatasync), so that a fault injected at a system
// call reaches the kernel's code. Interrupted and short calls are carried on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "env/env.h"

namespace quorate {

class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  bool exists(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& dir) override;
  Status create_dir(const std::string& dir) override;
  Status sync_dir(const std::string& dir) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_all(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  Result<uint64_t> free_bytes(const std::string& dir) override;
};

}  // namespace quorate
