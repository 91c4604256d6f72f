// SPDX-License-Identifier: Apache-2.0
#include "env/env.h"

namespace quorate {
namespace {

Status write_new_file(FileSystem& files, const std::string& path, Slice content) {
  Result<std::unique_ptr<File>> file = files.open(path, OpenMode::kReplace);
  QUORATE_TRY(file.status());
  QUORATE_TRY((*file)->write(0, {&content, 1}));
  return (*file)->sync();
}

}  // namespace

std::string dir_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status create_dir_durably(FileSystem& files, const std::string& dir) {
  const std::string above = dir_of(dir);
  if (above == dir) return Status();  // "/" or "."
  QUORATE_TRY(create_dir_durably(files, above));
  const bool was_there = files.exists(dir);
  QUORATE_TRY(files.create_dir(dir));
  Status status = files.sync_dir(above);
  return was_there ? Status() : status;
}

Status write_file_atomically(FileSystem& files, const std::string& path, Slice content) {
  const std::string aside = path + ".tmp";
  QUORATE_TRY(write_new_file(files, aside, content));
  QUORATE_TRY(files.rename(aside, path));
  return files.sync_dir(dir_of(path));
}

Result<std::string> read_file(FileSystem& files, const std::string& path) {
  Result<std::unique_ptr<File>> file = files.open(path, OpenMode::kRead);
  QUORATE_TRY(file.status());
  const Result<uint64_t> size = (*file)->size();
  QUORATE_TRY(size.status());
  std::string content(*size, '\0');
  const Result<size_t> got = (*file)->read(0, content.data(), content.size());
  QUORATE_TRY(got.status());
  content.resize(*got);
  return content;
}

}  // namespace quorate
