// SPDX-License-Identifier: Apache-2.0
#include "env/posix_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace quorate {
namespace {

constexpr mode_t kDirMode = 0700;
constexpr mode_t kFileMode = 0600;

Code code_of(int error) {
  switch (error) {
    case ENOENT: return Code::kNotFound;
    case ENOSPC:
    case EDQUOT: return Code::kNoSpace;
    default: return Code::kIoError;
  }
}

Status error_of(std::string_view action, const std::string& path, int error) {
  std::string text = "cannot ";
  text.append(action).append(" ").append(path).append(": ").append(strerrordesc_np(error));
  return Status(code_of(error), std::move(text));
}

template <typename Call>
auto retry_eintr(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

Descriptor open_descriptor(const std::string& path, int flags) {
  return Descriptor(
      retry_eintr([&] { return ::open(path.c_str(), flags | O_CLOEXEC, kFileMode); }));
}

int flags_of(OpenMode mode) {
  switch (mode) {
    case OpenMode::kRead: return O_RDONLY;
    case OpenMode::kReadWrite: return O_RDWR;
    case OpenMode::kCreate: return O_RDWR | O_CREAT | O_EXCL;
    case OpenMode::kReplace: return O_RDWR | O_CREAT | O_TRUNC;
  }
  return O_RDONLY;
}

constexpr size_t kVectorsMax = 1024;         // of one call: IOV_MAX
constexpr size_t kBlockBytes = 4096;         // of the page cache
constexpr size_t kCallBytesMax = 256 << 10;  // while the disk takes these, the next are copied
using Vectors = std::array<iovec, kVectorsMax>;

// The parts not yet written, handed to the kernel a bounded number at a time.
class PartCursor {
 public:
  explicit PartCursor(std::span<const Slice> parts) : parts_(parts) {
    for (const Slice part : parts) left_ += part.size();
    skip_empty();
  }
  bool done() const { return left_ == 0; }
  // What goes to `offset`. If more remains, it ends at a block's end: a block that is written in
  // two calls and is not in memory has to be read between them.
  int fill(Vectors& to, uint64_t offset) const {
    size_t count = 0, bytes = 0, used = used_;
    for (size_t i = next_; i < parts_.size() && count < to.size() && bytes < kCallBytesMax; ++i) {
      const Slice part = parts_[i].substr(std::exchange(used, 0), kCallBytesMax - bytes);
      if (part.empty()) continue;
      to[count++] = {const_cast<char*>(part.data()), part.size()};
      bytes += part.size();
    }
    const size_t beyond = (offset + bytes) % kBlockBytes;
    if (bytes < left_ && beyond < bytes) count = shorten(to, count, beyond);
    return static_cast<int>(count);
  }
  void advance(size_t size) {
    left_ -= size;
    while (size > 0) {
      const size_t step = std::min(size, parts_[next_].size() - used_);
      used_ += step;
      size -= step;
      skip_empty();
    }
  }

 private:
  static size_t shorten(Vectors& vectors, size_t count, size_t bytes) {
    while (bytes > 0) {
      iovec& last = vectors[count - 1];
      const size_t cut = std::min(bytes, last.iov_len);
      last.iov_len -= cut;
      bytes -= cut;
      if (last.iov_len == 0) --count;
    }
    return count;
  }
  void skip_empty() {
    while (next_ < parts_.size() && used_ == parts_[next_].size()) {
      ++next_;
      used_ = 0;
    }
  }
  std::span<const Slice> parts_;
  size_t next_ = 0;
  size_t used_ = 0;  // of parts_[next_]
  size_t left_ = 0;
};

class PosixFile final : public File {
 public:
  PosixFile(std::string path, Descriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  Result<size_t> read(uint64_t offset, char* to, size_t size) override {
    size_t got = 0;
    while (got < size) {
      const ssize_t n = retry_eintr([&] {
        return ::pread(descriptor_.get(), to + got, size - got, static_cast<off_t>(offset + got));
      });
      if (n < 0) return error_of("read", path_, errno);
      if (n == 0) break;
      got += static_cast<size_t>(n);
    }
    return got;
  }

  Status write(uint64_t offset, std::span<const Slice> parts) override {
    Vectors vectors;
    for (PartCursor cursor(parts); !cursor.done();) {
      const int count = cursor.fill(vectors, offset);
      const ssize_t n = retry_eintr([&] {
        return ::pwritev(descriptor_.get(), vectors.data(), count, static_cast<off_t>(offset));
      });
      if (n < 0) return error_of("write", path_, errno);
      if (n == 0) return error_of("write", path_, EIO);
      cursor.advance(static_cast<size_t>(n));
      if (!cursor.done()) start_writing_out(offset, n);
      offset += static_cast<uint64_t>(n);
    }
    return Status();
  }

  // EINTR is retried, unlike any other error: the call had not begun.
  Status sync() override {
    if (retry_eintr([&] { return ::fdatasync(descriptor_.get()); }) != 0)
      return error_of("sync", path_, errno);
    return Status();
  }

  void drop_cache() override {
    static_cast<void>(::posix_fadvise(descriptor_.get(), 0, 0, POSIX_FADV_DONTNEED));
  }

  Status truncate(uint64_t size) override {
    if (retry_eintr([&] { return ::ftruncate(descriptor_.get(), static_cast<off_t>(size)); }) != 0)
      return error_of("truncate", path_, errno);
    return Status();
  }

  Result<uint64_t> size() override {
    struct stat info;
    if (::fstat(descriptor_.get(), &info) != 0) return error_of("examine", path_, errno);
    return static_cast<uint64_t>(info.st_size);
  }

 private:
  // Advice: an error of the disk is reported by sync().
  void start_writing_out(uint64_t offset, ssize_t bytes) {
    static_cast<void>(::sync_file_range(descriptor_.get(), static_cast<off_t>(offset), bytes,
                                        SYNC_FILE_RANGE_WRITE));
  }

  const std::string path_;
  const Descriptor descriptor_;
};

class PosixLock final : public FileLock {
 public:
  explicit PosixLock(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

 private:
  Descriptor descriptor_;  // closing it lets the lock go
};

struct DirCloser {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

}  // namespace

Result<std::unique_ptr<File>> PosixFileSystem::open(const std::string& path, OpenMode mode) {
  Descriptor descriptor = open_descriptor(path, flags_of(mode));
  if (!descriptor.valid())
    return error_of(mode == OpenMode::kCreate ? "create" : "open", path, errno);
  return std::unique_ptr<File>(std::make_unique<PosixFile>(path, std::move(descriptor)));
}

bool PosixFileSystem::exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

Result<std::vector<std::string>> PosixFileSystem::list(const std::string& dir) {
  const std::unique_ptr<DIR, DirCloser> stream(::opendir(dir.c_str()));
  if (!stream) return error_of("list", dir, errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) {
      if (errno != 0) return error_of("list", dir, errno);
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status PosixFileSystem::create_dir(const std::string& dir) {
  if (::mkdir(dir.c_str(), kDirMode) == 0) return Status();
  if (errno == ENOENT) {
    const size_t slash = dir.find_last_of('/');
    if (slash != std::string::npos && slash > 0) {
      QUORATE_TRY(create_dir(dir.substr(0, slash)));
      if (::mkdir(dir.c_str(), kDirMode) == 0) return Status();
    }
  }
  const int error = errno;
  struct stat info;
  if (error == EEXIST && ::stat(dir.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return Status();
  return error_of("create directory", dir, error);
}

Status PosixFileSystem::sync_dir(const std::string& dir) {
  const Descriptor descriptor = open_descriptor(dir, O_RDONLY | O_DIRECTORY);
  if (!descriptor.valid()) return error_of("open directory", dir, errno);
  if (retry_eintr([&] { return ::fsync(descriptor.get()); }) != 0)
    return error_of("sync directory", dir, errno);
  return Status();
}

Status PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    return error_of("rename to " + to + " the file", from, errno);
  return Status();
}

Status PosixFileSystem::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return error_of("remove", path, errno);
  return Status();
}

Status PosixFileSystem::remove_all(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0)
    return errno == ENOENT ? Status() : error_of("examine", path, errno);
  if (!S_ISDIR(info.st_mode)) return remove(path);
  Result<std::vector<std::string>> names = list(path);
  QUORATE_TRY(names.status());
  for (const std::string& name : *names) QUORATE_TRY(remove_all(path + "/" + name));
  if (::rmdir(path.c_str()) != 0) return error_of("remove directory", path, errno);
  return Status();
}

Result<std::unique_ptr<FileLock>> PosixFileSystem::lock(const std::string& path) {
  Descriptor descriptor = open_descriptor(path, O_RDWR | O_CREAT);
  if (!descriptor.valid()) return error_of("open", path, errno);
  // flock, not fcntl: a second lock of this process must be refused too.
  if (retry_eintr([&] { return ::flock(descriptor.get(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno != EWOULDBLOCK) return error_of("lock", path, errno);
    return Status(
        Code::kBusy,
        path +
            " is locked: another process uses this directory; stop it, or name another directory");
  }
  return std::unique_ptr<FileLock>(std::make_unique<PosixLock>(std::move(descriptor)));
}

Result<uint64_t> PosixFileSystem::free_bytes(const std::string& dir) {
  struct statvfs info;
  if (::statvfs(dir.c_str(), &info) != 0) return error_of("examine", dir, errno);
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

}  // namespace quorate
