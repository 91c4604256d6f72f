// SPDX-License-Identifier: Apache-2.0
// The log of a member that does not run.
#pragma once

#include <string>

#include "base/result.h"
#include "env/env.h"

namespace quorate::ctl {

// Keeps a member from starting there while it lives. Creates and changes nothing.
class LogDirectory {
 public:
  // dir: a member's data directory, or that of its log. kNotFound: it holds no log. kBusy: a member
  // runs there. A log that lies apart from its data (--wal-dir) does not show whether one does.
  static Result<LogDirectory> open(FileSystem& files, const std::string& dir);
  LogDirectory(LogDirectory&& other) noexcept;
  LogDirectory& operator=(LogDirectory&&) = delete;
  ~LogDirectory();

  const std::string& path() const { return path_; }

 private:
  LogDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;  // a descriptor, -1 for none
};

}  // namespace quorate::ctl
