// SPDX-License-Identifier: Apache-2.0
// Holds a directory for one object of one process: the lock is the open file's, so a second open in
// the same process is refused too, and a process that dies lets go.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "sdk/error.h"

namespace quorate::sdk {

class DirectoryLock {
 public:
  // Throws Failure: IO_ERROR when the directory cannot be used, BUSY when it is held.
  explicit DirectoryLock(const std::string& dir) {
    const std::string path = dir + "/engine.lock";
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ < 0) {
      const int error = errno;
      throw Failure(error == ENOSPC ? QUORATE_NO_SPACE : QUORATE_IO_ERROR,
                    "cannot open " + path + ": " + std::strerror(error), error);
    }
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
    const int error = errno;
    ::close(fd_);
    if (error != EWOULDBLOCK)
      throw Failure(QUORATE_IO_ERROR, "cannot lock " + path + ": " + std::strerror(error), error);
    throw Failure(QUORATE_BUSY,
                  dir + " is open already, here or in another process; stop that one first", error);
  }
  ~DirectoryLock() { ::close(fd_); }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace quorate::sdk
