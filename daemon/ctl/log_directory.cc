// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/log_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "wal/segment.h"

namespace quorate::ctl {
namespace {

bool holds_segments(FileSystem& files, const std::string& dir) {
  const auto segments = wal::list_segments(files, dir);
  return segments && !segments->empty();
}

// A descriptor that shares the member's lock file, -1 where there is none.
Result<int> share_lock(const std::string& data_dir) {
  const int lock = ::open((data_dir + "/LOCK").c_str(), O_RDONLY | O_CLOEXEC);
  if (lock < 0 || ::flock(lock, LOCK_SH | LOCK_NB) == 0) return lock;
  const int error = errno;
  ::close(lock);
  if (error != EWOULDBLOCK) return -1;
  return Status(Code::kBusy, data_dir +
                                 " is in use by a running member, whose log changes while it is "
                                 "read; stop the member, or look at a copy of the directory");
}

}  // namespace

Result<LogDirectory> LogDirectory::open(FileSystem& files, const std::string& dir) {
  QUORATE_TRY(files.list(dir).status());
  const bool is_data_dir = holds_segments(files, dir + "/wal");
  if (!is_data_dir && !holds_segments(files, dir))
    return Status(Code::kNotFound, dir +
                                       " holds no log, neither itself nor in wal/; name a member's "
                                       "data directory, or its --wal-dir");
  Result<int> lock = share_lock(is_data_dir ? dir : dir + "/..");
  QUORATE_TRY(lock.status());
  return LogDirectory(is_data_dir ? dir + "/wal" : dir, *lock);
}

LogDirectory::LogDirectory(LogDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

LogDirectory::~LogDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace quorate::ctl
