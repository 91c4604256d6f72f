// SPDX-License-Identifier: Apache-2.0
// A file system in memory that forgets what a disk may forget. A crash keeps, drops or tears, by
// the seed, whatever was not synced: file contents in sectors of 512 bytes, each for itself; names
// (create, rename, remove) each for itself until sync_dir of their directory. A failed sync drops
// what it covered, as a kernel does that marks the pages clean. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "env/env.h"
#include "support/sim_content.h"

namespace quorate::test {

class SimDisk final : public FileSystem {
 public:
  enum class Op {
    kOpen,
    kRead,
    kWrite,
    kSync,
    kTruncate,
    kSyncDir,
    kRename,
    kRemove,
    kOther,
    kCount
  };

  SimDisk();
  ~SimDisk() override;

  // Faults. The `nth` next call of `op` (1: the very next), and only that, fails with `code`; a
  // write has then done a part of its work.
  void fail(Op op, int nth, Code code);
  void clear_faults() { faults_.clear(); }
  // Of the calls that change something the next `calls` are done; then all calls fail, as on a
  // machine that is gone, until crash() or kill().
  void stop_after(uint64_t calls) { stop_after_ = calls; }
  bool is_gone() const { return stop_after_ == 0; }
  // A call that changes something, of the same machine but not of a file: an engine's write.
  Status other_write(const std::string& path) { return begin(Op::kOther, path); }
  // Writes that would make all files together exceed this fail with kNoSpace.
  void set_capacity(uint64_t bytes) { capacity_ = bytes; }
  void fill() { capacity_ = used_bytes(); }
  void flip_bit(const std::string& path, uint64_t bit);
  // How often `op` was called.
  uint64_t calls(Op op) const { return calls_[static_cast<size_t>(op)]; }
  uint64_t written_bytes() const { return written_bytes_; }

  // The power goes and comes back. Files and locks that are still open are dead: they fail.
  void crash(Random& random);
  // A crash in which everything that was written survives, as after kill -9.
  void kill();

  // The content as a reader sees it now. The file must exist.
  std::string content(const std::string& path) const;
  void set_content(const std::string& path, const std::string& content);  // durable at once
  std::vector<std::string> paths() const;

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

 private:
  friend class SimFile;
  friend class SimLock;
  struct Inode {
    explicit Inode(std::shared_ptr<SimPages> from) : pages(std::move(from)) {}
    const std::shared_ptr<SimPages> pages;
    bool is_dir = false;
    SimContent current{*pages};
    SimContent durable{*pages};
    std::vector<SimWrite> pending;  // since the last sync; truncates are durable at once
    void flush();
  };
  using InodePtr = std::shared_ptr<Inode>;
  using Names = std::map<std::string, InodePtr>;
  // What one call did to names, atomically. A null inode: the name is gone.
  struct NameChange {
    std::vector<std::pair<std::string, InodePtr>> names;
  };

  Status begin(Op op, const std::string& path);
  Status missing(const std::string& path) const;
  void change_names(NameChange change);
  static void apply(Names& names, const NameChange& change);
  InodePtr make_inode() { return std::make_shared<Inode>(pages_); }
  static void tear(Inode& inode, Random& random);
  uint64_t used_bytes() const;

  const std::shared_ptr<SimPages> pages_ = std::make_shared<SimPages>();
  Names names_;
  Names durable_names_;
  std::vector<NameChange> pending_names_;
  std::set<std::string> locked_;
  uint64_t epoch_ = 0;  // of the crash; open files carry it
  uint64_t calls_[static_cast<size_t>(Op::kCount)] = {};
  struct Fault {
    uint64_t at_call;
    Code code;
  };
  std::multimap<Op, Fault> faults_;
  uint64_t stop_after_ = ~uint64_t{0};
  uint64_t capacity_ = ~uint64_t{0};
  uint64_t written_bytes_ = 0;
};

}  // namespace quorate::test
