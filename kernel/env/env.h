// SPDX-License-Identifier: Apache-2.0
// The only door to clock, randomness, threads and files. In production posix_env.cc and
// thread_executor.cc stand behind it; the simulator puts virtual time and a faulty disk there. No
// other folder of the kernel names a thread, a lock, a clock or a file descriptor, save the five
// shared classes that tests/layout lists.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/status.h"
#include "env/latch.h"

namespace quorate {

// Any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since some start; never goes back. All deadlines and durations are of this clock.
  virtual uint64_t now_ns() const = 0;
  // Milliseconds since 1970. For prepare, log lines and metrics only: it may jump.
  virtual int64_t wall_ms() const = 0;
};

// One run of a loop: what an Executor executes. It must not wait for another party.
class Turn {
 public:
  virtual ~Turn() = default;
  virtual void run() = 0;
};

// Runs turns one at a time, in the order they were posted. Several loops may share one.
class Executor {
 public:
  // Stops first, as stop() does.
  virtual ~Executor() = default;
  // Runs turn->run() once, soon. The turn is borrowed: it must live until it has run or until
  // stop() has returned. After stop() it is dropped. [any thread]
  virtual void post(Turn* turn) = 0;
  // The same, not before `due_ns` of the clock. A turn may be posted several times. [any thread]
  virtual void post_at(uint64_t due_ns, Turn* turn) = 0;
  // Returns when the turn that is running has ended; no turn runs after that. Not from a turn of
  // its own. Idempotent.
  virtual void stop() = 0;
  // True on the thread (in the simulator: in a turn) of this executor. For checks.
  virtual bool is_current() const = 0;
};

// Work for the reader pool, cut in steps so that long jobs take turns with others.
class Job {
 public:
  enum class Next { kDone, kMore };
  virtual ~Job() = default;
  // Does a slice of the work (at most a few milliseconds); may block on the member's own disk, and
  // on nothing else. kMore: called again later, perhaps on another thread; kDone: destroyed.
  virtual Next step() = 0;
};

// A few threads, at lower priority than the loops. A job that must wait for something ends, and
// whoever has what it waits for submits its continuation.
class Pool {
 public:
  virtual ~Pool() = default;                          // stops first
  virtual void submit(std::unique_ptr<Job> job) = 0;  // [any thread]
  // Waits for the steps that are running, destroys the jobs that are left. Idempotent.
  virtual void stop() = 0;
};

// An open file. One thread at a time. Paths and errno texts are part of every error's message. An
// error of write() or sync() is final for what it covered: pages may be lost, so never retry.
class File {
 public:
  virtual ~File() = default;  // closes
  // Reads up to `size` bytes at `offset`; fewer only at the end of the file.
  virtual Result<size_t> read(uint64_t offset, char* to, size_t size) = 0;
  // Writes all parts back to back at `offset`; the file grows as needed. kNoSpace when full.
  virtual Status write(uint64_t offset, std::span<const Slice> parts) = 0;
  // What was written is durable when this returns OK, and the file's size with it (fdatasync).
  virtual Status sync() = 0;
  virtual Status truncate(uint64_t size) = 0;
  virtual Result<uint64_t> size() = 0;
  // Advice: what is synced need not stay in the page cache.
  virtual void drop_cache() {}
};

enum class OpenMode {
  kRead,       // must exist
  kReadWrite,  // must exist
  kCreate,     // read and write; must not exist
  kReplace,    // read and write; created, or cut to zero bytes
};

// Held until destroyed; the lock is the process's and vanishes with it.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// Any thread. Directories are created 0700, files 0600.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  virtual bool exists(const std::string& path) = 0;
  // The names in `dir` without "." and "..", sorted.
  virtual Result<std::vector<std::string>> list(const std::string& dir) = 0;
  // Creates the directory and those above it; one that exists is OK. Not durable before sync_dir of
  // the directory above.
  virtual Status create_dir(const std::string& dir) = 0;
  // A name is durable only after sync_dir of its directory.
  virtual Status sync_dir(const std::string& dir) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status remove(const std::string& path) = 0;      // a file
  virtual Status remove_all(const std::string& path) = 0;  // a file or a tree; absent is OK
  // kBusy, with the path, when another process (or another lock of this one) holds it. The file is
  // created when absent.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
  // What an unprivileged process could still write in the file system of `dir`.
  virtual Result<uint64_t> free_bytes(const std::string& dir) = 0;
};

// One server's world. Outlives everything that it made.
class Env {
 public:
  virtual ~Env() = default;
  virtual Clock& clock() = 0;
  virtual FileSystem& files() = 0;
  // Seeds for Random and bytes for secrets, from the operating system (the simulator: from the
  // run's seed). [any thread]
  virtual uint64_t random_seed() = 0;
  virtual void random_bytes(char* to, size_t size) = 0;
  // name: shown for the thread, at most 15 bytes.
  virtual std::unique_ptr<Executor> make_executor(std::string_view name) = 0;
  virtual std::unique_ptr<Pool> make_pool(std::string_view name, int threads) = 0;
  // The host thread waits for what a loop will open; the simulator runs the loops meanwhile.
  virtual void wait(Latch& latch) = 0;
};

// The production Env, ready to use.
std::unique_ptr<Env> make_posix_env();

// The directory that holds `path`: "." when it names none.
std::string dir_of(const std::string& path);
// Creates the directory and those above it that are missing. After OK each of them outlives a power
// cut. Any that is there already may be left by a process that was killed before it got so far, so
// its name is synced too, if this process may open the directory above: one that it may not open
// was not its own work.
Status create_dir_durably(FileSystem& files, const std::string& dir);
// Writes `content` beside `path`, syncs it, renames it over `path` and syncs the directory: after
// OK the new content is there, after a crash the old one or the new one.
Status write_file_atomically(FileSystem& files, const std::string& path, Slice content);
// The whole file; kNotFound when it is absent.
Result<std::string> read_file(FileSystem& files, const std::string& path);

}  // namespace quorate
