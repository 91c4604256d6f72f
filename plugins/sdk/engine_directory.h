// SPDX-License-Identifier: Apache-2.0
// The two files that every durable engine has in its directory beside its own, so that no engine
// takes a damaged, half-made or foreign directory for a new one.
//
// engine.lock    held by the object that has the directory open. The lock is the open file's: a
//                second open in the same process is refused too, and a process that dies lets go.
// engine.format  text: format version, state, engine, buckets, a line each, and the CRC-32C of the
//                lines before. State "creating" is written before an engine makes its first file,
//                "complete" before its first open returns; so what is in a directory that was still
//                being created was never promised to anybody, and is cleared away.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/crc32c.h"
#include "sdk/error.h"

namespace quorate::sdk {

inline Failure system_failure(const std::string& what, int error) {
  return Failure(error == ENOSPC ? QUORATE_NO_SPACE : QUORATE_IO_ERROR,
                 "cannot " + what + ": " + std::strerror(error), error);
}

// An open file descriptor. Throws Failure for every call that fails.
class FileHandle {
 public:
  FileHandle(std::string path, int flags)
      : path_(std::move(path)), fd_(::open(path_.c_str(), flags | O_CLOEXEC, 0600)) {
    if (fd_ < 0) throw system_failure("open " + path_, errno);
  }
  ~FileHandle() { ::close(fd_); }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;

  int fd() const { return fd_; }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno != EINTR) throw system_failure("write " + path_, errno);
      if (count > 0) bytes.remove_prefix(static_cast<size_t>(count));
    }
  }
  void sync() {
    if (::fsync(fd_) != 0) throw system_failure("sync " + path_, errno);
  }
  // All of the file; what is longer than `size_max` is cut.
  std::string read(size_t size_max) {
    std::string bytes(size_max, '\0');
    size_t size = 0;
    while (size < size_max) {
      const ssize_t count = ::read(fd_, bytes.data() + size, size_max - size);
      if (count < 0 && errno != EINTR) throw system_failure("read " + path_, errno);
      if (count == 0) break;
      if (count > 0) size += static_cast<size_t>(count);
    }
    bytes.resize(size);
    return bytes;
  }

 private:
  std::string path_;
  int fd_;
};

// Makes `dir`/`name` hold `bytes`, after a crash as well; before, it holds what it held.
inline void replace_file(const std::string& dir, const std::string& name, std::string_view bytes) {
  const std::string path = dir + "/" + name, aside = path + ".new";
  {
    FileHandle file(aside, O_WRONLY | O_CREAT | O_TRUNC);
    file.write(bytes);
    file.sync();
  }
  if (::rename(aside.c_str(), path.c_str()) != 0) throw system_failure("rename " + aside, errno);
  FileHandle(dir, O_RDONLY | O_DIRECTORY).sync();
}

class DirectoryLock {
 public:
  // Throws Failure: IO_ERROR when the directory cannot be used, BUSY when it is held.
  explicit DirectoryLock(const std::string& dir) : file_(dir + "/engine.lock", O_RDWR | O_CREAT) {
    if (::flock(file_.fd(), LOCK_EX | LOCK_NB) == 0) return;
    if (errno != EWOULDBLOCK) throw system_failure("lock " + dir + "/engine.lock", errno);
    throw Failure(QUORATE_BUSY,
                  dir + " is open already, here or in another process; stop that one first");
  }

 private:
  FileHandle file_;
};

// What engine.format says, checked and kept up. The directory is locked by the caller.
class DirectoryFormat {
 public:
  // Makes the directory ready for the engine: complete() as found, or empty but for "creating".
  // Throws Failure: CORRUPT for a damaged directory, INVALID_ARGUMENT for one of another engine or
  // with other buckets.
  DirectoryFormat(std::string dir, const char* engine, const std::vector<std::string>& buckets)
      : dir_(std::move(dir)), tail_(tail_of(engine, buckets)) {
    const std::filesystem::path path = path_of("engine.format");
    if (std::filesystem::exists(path)) {
      complete_ = read_complete();
    } else {
      refuse_files_of_others();
    }
    if (complete_) return;
    clear();
    store("creating");
  }

  // True when an engine's open had returned before; false when there is nothing yet.
  bool complete() const { return complete_; }

  // The engine's files are there and synced.
  void set_complete() {
    if (complete_) return;
    store("complete");
    complete_ = true;
  }

 private:
  static constexpr size_t kSizeMax = 64 << 10;
  static constexpr std::string_view kHead = "quorate engine directory 1\n";

  static std::string tail_of(const char* engine, const std::vector<std::string>& buckets) {
    std::string tail = "engine " + std::string(engine) + "\n";
    for (const std::string& bucket : buckets) tail += "bucket " + bucket + "\n";
    return tail;
  }
  static std::string checksum_line(std::string_view text) {
    char line[32];
    std::snprintf(line, sizeof line, "crc32c %08x\n", crc32c(text));
    return line;
  }
  std::string path_of(const char* name) const { return dir_ + "/" + name; }

  bool read_complete() const {
    const std::string path = path_of("engine.format");
    const std::string text = FileHandle(path, O_RDONLY).read(kSizeMax);
    const size_t line_size = checksum_line("").size();
    const std::string_view body =
        std::string_view(text).substr(0, text.size() < line_size ? 0 : text.size() - line_size);
    if (text.size() < line_size || text.substr(body.size()) != checksum_line(body))
      throw Failure(QUORATE_CORRUPT,
                    path + " is damaged; restore this directory, or the member from its peers");
    const std::string creating = std::string(kHead) + "creating\n";
    const std::string complete = std::string(kHead) + "complete\n";
    if (body == creating + tail_) return false;
    if (body == complete + tail_) return true;
    throw Failure(QUORATE_INVALID_ARGUMENT,
                  dir_ + " was made by another engine, version or with other buckets; see " + path);
  }

  void refuse_files_of_others() const {
    for (const auto& entry : std::filesystem::directory_iterator(dir_)) {
      const std::string name = entry.path().filename().string();
      if (name != "engine.lock" && name != "engine.format.new")
        throw Failure(QUORATE_CORRUPT, dir_ + " holds " + name +
                                           " but no engine.format; restore that file, or give an "
                                           "empty directory");
    }
  }

  void clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(dir_)) {
      const std::string name = entry.path().filename().string();
      if (name != "engine.lock" && name != "engine.format")
        std::filesystem::remove_all(entry.path());
    }
  }

  void store(const char* state) const {
    const std::string body = std::string(kHead) + state + "\n" + tail_;
    replace_file(dir_, "engine.format", body + checksum_line(body));
  }

  std::string dir_;
  std::string tail_;
  bool complete_ = false;
};

}  // namespace quorate::sdk
