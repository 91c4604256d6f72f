// SPDX-License-Identifier: Apache-2.0
#include "support/sim_disk.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace quorate::test {
namespace {

constexpr size_t kSectorBytes = 512;

std::string parent_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return "";
  return path.substr(0, slash);
}

}  // namespace

class SimLock final : public FileLock {
 public:
  SimLock(SimDisk* disk, std::string path)
      : disk_(disk), path_(std::move(path)), epoch_(disk->epoch_) {}
  ~SimLock() override {
    if (epoch_ == disk_->epoch_) disk_->locked_.erase(path_);
  }

 private:
  SimDisk* disk_;
  std::string path_;
  uint64_t epoch_;
};

class SimFile final : public File {
 public:
  SimFile(SimDisk* disk, std::string path, SimDisk::InodePtr inode, bool writable)
      : disk_(disk),
        path_(std::move(path)),
        inode_(std::move(inode)),
        writable_(writable),
        epoch_(disk->epoch_) {}

  Result<size_t> read(uint64_t offset, char* to, size_t size) override {
    QUORATE_TRY(begin(SimDisk::Op::kRead));
    return inode_->current.read(offset, to, size);
  }

  Status write(uint64_t offset, std::span<const Slice> parts) override {
    uint64_t bytes = 0;
    for (Slice part : parts) bytes += part.size();
    Status status = begin(SimDisk::Op::kWrite);
    if (status.ok() && grows_beyond_capacity(offset + bytes))
      status = Status(Code::kNoSpace, "cannot write " + path_ + ": No space left on device");
    if (!writable_)
      return Status(Code::kIoError, "cannot write " + path_ + ": Bad file descriptor");
    if (epoch_ != disk_->epoch_) return status;
    if (!status.ok()) {
      bytes /= 2;
      if (grows_beyond_capacity(offset + bytes)) bytes = 0;
    }
    if (bytes > 0) {
      inode_->pending.emplace_back(*inode_->pages, offset, parts, bytes).apply(inode_->current);
      disk_->written_bytes_ += bytes;
    }
    return status;
  }

  Status sync() override {
    // Nobody asks the disk of a machine that is gone; what is on its way there stays so.
    const bool gone = disk_->is_gone();
    const Status status = begin(SimDisk::Op::kSync);
    if (gone || epoch_ != disk_->epoch_) return status;
    if (status.ok()) inode_->flush();
    inode_->pending.clear();
    return status;
  }

  Status truncate(uint64_t size) override {
    QUORATE_TRY(begin(SimDisk::Op::kTruncate));
    inode_->current.resize(size);
    inode_->durable.resize(size);
    for (SimWrite& write : inode_->pending) write.cut_at(size);
    return Status();
  }

  Result<uint64_t> size() override { return uint64_t{inode_->current.size()}; }

 private:
  Status begin(SimDisk::Op op) {
    if (epoch_ != disk_->epoch_)
      return Status(Code::kIoError, path_ + " was open when the simulated machine crashed");
    return disk_->begin(op, path_);
  }
  bool grows_beyond_capacity(uint64_t end) const {
    const uint64_t size = inode_->current.size();
    return end > size && disk_->used_bytes() + (end - size) > disk_->capacity_;
  }

  SimDisk* disk_;
  std::string path_;
  SimDisk::InodePtr inode_;
  bool writable_;
  uint64_t epoch_;
};

void SimDisk::Inode::flush() {
  for (const SimWrite& write : pending) write.apply(durable);
}

SimDisk::SimDisk() = default;
SimDisk::~SimDisk() = default;

void SimDisk::fail(Op op, int nth, Code code) {
  faults_.insert({op, {calls(op) + static_cast<uint64_t>(nth), code}});
}

Status SimDisk::begin(Op op, const std::string& path) {
  if (stop_after_ == 0) return Status(Code::kIoError, "the simulated machine is gone: " + path);
  if (op != Op::kOpen && op != Op::kRead && stop_after_ != ~uint64_t{0}) --stop_after_;
  const uint64_t call = ++calls_[static_cast<size_t>(op)];
  const auto [first, last] = faults_.equal_range(op);
  for (auto fault = first; fault != last; ++fault) {
    if (fault->second.at_call != call) continue;
    const Code code = fault->second.code;
    faults_.erase(fault);
    return Status(code, "injected fault at " + path);
  }
  return Status();
}

Status SimDisk::missing(const std::string& path) const {
  return Status(Code::kNotFound, path + ": No such file or directory");
}

uint64_t SimDisk::used_bytes() const {
  uint64_t used = 0;
  for (const auto& [path, inode] : names_) used += inode->current.size();
  return used;
}

void SimDisk::flip_bit(const std::string& path, uint64_t bit) {
  Inode& inode = *names_.at(path);
  for (SimContent* content : {&inode.current, &inode.durable}) content->flip_bit(bit);
}

void SimDisk::tear(Inode& inode, Random& random) {
  for (const SimWrite& write : inode.pending) {
    uint64_t done = 0;
    while (done < write.size()) {
      const uint64_t to_sector_end = kSectorBytes - (write.offset() + done) % kSectorBytes;
      const uint64_t size = std::min(to_sector_end, write.size() - done);
      if (random.one_in(2)) write.apply(inode.durable, done, size);
      done += size;
    }
  }
}

void SimDisk::crash(Random& random) {
  std::set<Inode*> inodes;
  for (const Names* names : {&names_, &durable_names_})
    for (const auto& [path, inode] : *names) {
      if (!inodes.insert(inode.get()).second) continue;
      // All, none, or sector by sector: whole outcomes are as likely as they are in life.
      switch (random.below(3)) {
        case 0: inode->flush(); break;
        case 1: break;
        default: tear(*inode, random);
      }
      inode->current = inode->durable;
      inode->pending.clear();
    }
  std::set<std::string> dirs;
  for (const Names* names : {&names_, &durable_names_})
    for (const auto& [path, inode] : *names)
      if (inode->is_dir) dirs.insert(path);
  for (const NameChange& change : pending_names_)
    if (random.one_in(2)) apply(durable_names_, change);
  pending_names_.clear();
  // What lies in a directory goes with it, though each name was drawn by itself.
  for (auto at = durable_names_.begin(); at != durable_names_.end();) {
    const std::string dir = parent_of(at->first);
    const bool lost = dirs.contains(dir) && !durable_names_.contains(dir);
    at = lost ? durable_names_.erase(at) : std::next(at);
  }
  names_ = durable_names_;
  locked_.clear();
  faults_.clear();
  stop_after_ = ~uint64_t{0};
  ++epoch_;
}

void SimDisk::kill() {
  locked_.clear();
  faults_.clear();
  stop_after_ = ~uint64_t{0};
  ++epoch_;
}

std::string SimDisk::content(const std::string& path) const {
  return names_.at(path)->current.to_string();
}

void SimDisk::set_content(const std::string& path, const std::string& content) {
  InodePtr& inode = names_[path];
  if (!inode) inode = make_inode();
  inode->current.assign(content);
  inode->durable = inode->current;
  inode->pending.clear();
  durable_names_[path] = inode;
}

std::vector<std::string> SimDisk::paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, inode] : names_)
    if (!inode->is_dir) paths.push_back(path);
  return paths;
}

void SimDisk::apply(Names& names, const NameChange& change) {
  for (const auto& [path, inode] : change.names) {
    if (inode)
      names[path] = inode;
    else
      names.erase(path);
  }
}

void SimDisk::change_names(NameChange change) {
  apply(names_, change);
  pending_names_.push_back(std::move(change));
}

Result<std::unique_ptr<File>> SimDisk::open(const std::string& path, OpenMode mode) {
  QUORATE_TRY(begin(Op::kOpen, path));
  auto found = names_.find(path);
  if (found != names_.end() && found->second->is_dir)
    return Status(Code::kIoError, "cannot open " + path + ": Is a directory");
  if (mode == OpenMode::kCreate && found != names_.end())
    return Status(Code::kIoError, "cannot create " + path + ": File exists");
  if (found == names_.end()) {
    if (mode == OpenMode::kRead || mode == OpenMode::kReadWrite) return missing(path);
    const std::string dir = parent_of(path);
    if (!dir.empty() && names_.count(dir) == 0) return missing(dir);
    change_names({{{path, make_inode()}}});
    found = names_.find(path);
  }
  auto file = std::make_unique<SimFile>(this, path, found->second, mode != OpenMode::kRead);
  if (mode == OpenMode::kReplace) {
    found->second->current.resize(0);
    found->second->durable.resize(0);
    found->second->pending.clear();
  }
  return std::unique_ptr<File>(std::move(file));
}

bool SimDisk::exists(const std::string& path) {
  return path == "/" || names_.count(path) != 0;
}

Result<std::vector<std::string>> SimDisk::list(const std::string& dir) {
  if (names_.count(dir) == 0) return missing(dir);
  std::vector<std::string> names;
  for (const auto& [path, inode] : names_)
    if (parent_of(path) == dir && path.size() > dir.size())
      names.push_back(path.substr(dir.size() + 1));
  return names;
}

Status SimDisk::create_dir(const std::string& dir) {
  if (dir.empty()) return Status();
  if (auto found = names_.find(dir); found != names_.end()) {
    if (found->second->is_dir) return Status();
    return Status(Code::kIoError, "cannot create directory " + dir + ": File exists");
  }
  QUORATE_TRY(create_dir(parent_of(dir)));
  auto inode = make_inode();
  inode->is_dir = true;
  change_names({{{dir, std::move(inode)}}});
  return Status();
}

Status SimDisk::sync_dir(const std::string& dir) {
  QUORATE_TRY(begin(Op::kSyncDir, dir));
  if (!dir.empty() && dir != "/" && names_.count(dir) == 0) return missing(dir);
  const std::string key = dir == "/" ? "" : dir;
  std::vector<NameChange> left;
  for (NameChange& change : pending_names_) {
    const bool here = std::any_of(change.names.begin(), change.names.end(),
                                  [&](const auto& name) { return parent_of(name.first) == key; });
    if (here)
      apply(durable_names_, change);
    else
      left.push_back(std::move(change));
  }
  pending_names_ = std::move(left);
  return Status();
}

Status SimDisk::rename(const std::string& from, const std::string& to) {
  QUORATE_TRY(begin(Op::kRename, from));
  if (names_.count(from) == 0) return missing(from);
  NameChange change;
  for (const auto& [path, inode] : names_) {
    if (path != from && path.rfind(from + "/", 0) != 0) continue;
    change.names.push_back({path, nullptr});
    change.names.push_back({to + path.substr(from.size()), inode});
  }
  change_names(std::move(change));
  return Status();
}

Status SimDisk::remove(const std::string& path) {
  QUORATE_TRY(begin(Op::kRemove, path));
  if (names_.count(path) == 0) return missing(path);
  change_names({{{path, nullptr}}});
  return Status();
}

Status SimDisk::remove_all(const std::string& path) {
  QUORATE_TRY(begin(Op::kRemove, path));
  std::vector<std::string> doomed;
  for (const auto& [name, inode] : names_)
    if (name == path || name.rfind(path + "/", 0) == 0) doomed.push_back(name);
  std::reverse(doomed.begin(), doomed.end());
  for (const std::string& name : doomed) change_names({{{name, nullptr}}});
  return Status();
}

Result<std::unique_ptr<FileLock>> SimDisk::lock(const std::string& path) {
  if (!locked_.insert(path).second) return Status(Code::kBusy, path + " is locked");
  if (names_.count(path) == 0) change_names({{{path, make_inode()}}});
  return std::unique_ptr<FileLock>(std::make_unique<SimLock>(this, path));
}

Result<uint64_t> SimDisk::free_bytes(const std::string&) {
  const uint64_t used = used_bytes();
  return capacity_ > used ? capacity_ - used : 0;
}

}  // namespace quorate::test
