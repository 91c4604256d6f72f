// SPDX-License-Identifier: Apache-2.0
#include "env/posix_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "support/temp_dir.h"

namespace quorate {
namespace {

struct FileFixture {
  test::TempDir dir;
  PosixFileSystem files;

  std::unique_ptr<File> make(const std::string& name) {
    return std::move(*files.open(dir.file(name), OpenMode::kCreate));
  }
};

std::string read_all(File& file) {
  std::string content(*file.size(), '\0');
  CHECK(*file.read(0, content.data(), content.size()) == content.size());
  return content;
}

TEST_CASE("a file gives back the parts that were written", "[env]") {
  FileFixture f;
  auto file = f.make("a");
  const Slice parts[] = {"hello", "", ", ", "world"};
  REQUIRE(file->write(3, parts).ok());
  REQUIRE(file->sync().ok());
  CHECK(read_all(*file) == Slice("\0\0\0hello, world", 15));
}

TEST_CASE("more parts than one system call takes are all written", "[env]") {
  FileFixture f;
  auto file = f.make("a");
  std::string expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) texts.push_back(std::to_string(i) + (i % 7 ? "," : ""));
  std::vector<Slice> parts(texts.begin(), texts.end());
  parts.push_back({});
  for (Slice part : parts) expected.append(part);
  REQUIRE(file->write(5, parts).ok());
  CHECK(read_all(*file) == std::string(5, '\0') + expected);
}

TEST_CASE("parts larger than one call's share are written whole, at any offset", "[env]") {
  FileFixture f;
  std::string large(1'300'001, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761u >> 24);
  const Slice text = large;
  const size_t cuts[] = {0, 7, 262'144 - 5, 262'144 - 5, 2 * 262'144, 900'001, large.size()};
  std::vector<Slice> parts;
  for (size_t i = 1; i < std::size(cuts); ++i)
    parts.push_back(text.substr(cuts[i - 1], cuts[i] - cuts[i - 1]));
  for (const uint64_t offset : {0, 1, 5, 4095, 4096, 70'000}) {
    auto file = f.make(std::to_string(offset));
    REQUIRE(file->write(offset, parts).ok());
    REQUIRE(read_all(*file) == std::string(offset, '\0') + large);
  }
}

TEST_CASE("a read behind the end gives what there is", "[env]") {
  FileFixture f;
  auto file = f.make("a");
  const Slice text = "abc";
  REQUIRE(file->write(0, {&text, 1}).ok());
  char buffer[8];
  CHECK(*file->read(2, buffer, 8) == 1);
  CHECK(*file->read(3, buffer, 8) == 0);
}

TEST_CASE("what left the page cache is read from the disk again", "[env]") {
  FileFixture f;
  auto file = f.make("a");
  const std::string content(10'000, 'x');
  const Slice part = content;
  REQUIRE(file->write(0, {&part, 1}).ok());
  REQUIRE(file->sync().ok());
  file->drop_cache();
  CHECK(read_all(*file) == content);
}

TEST_CASE("opening tells what is wrong with which file", "[env]") {
  FileFixture f;
  const auto absent = f.files.open(f.dir.file("none"), OpenMode::kRead);
  CHECK(absent.error().code() == Code::kNotFound);
  CHECK(absent.error().message() ==
        "cannot open " + f.dir.file("none") + ": No such file or directory");
  f.make("a");
  CHECK(f.files.open(f.dir.file("a"), OpenMode::kCreate).error().code() == Code::kIoError);
  CHECK(f.files.open(f.dir.path(), OpenMode::kReadWrite).error().code() == Code::kIoError);
}

TEST_CASE("a file opened for reading refuses a write", "[env]") {
  FileFixture f;
  f.make("a");
  auto file = std::move(*f.files.open(f.dir.file("a"), OpenMode::kRead));
  const Slice text = "abc";
  CHECK(file->write(0, {&text, 1}).code() == Code::kIoError);
}

TEST_CASE("files and directories belong to their owner alone", "[env]") {
  FileFixture f;
  REQUIRE(f.files.create_dir(f.dir.file("x/y")).ok());
  f.make("x/y/a");
  struct stat info;
  REQUIRE(::stat(f.dir.file("x/y/a").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  REQUIRE(::stat(f.dir.file("x/y").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
}

TEST_CASE("a directory is made with those above it, and making it again is fine", "[env]") {
  FileFixture f;
  REQUIRE(f.files.create_dir(f.dir.file("x/y/z")).ok());
  CHECK(f.files.create_dir(f.dir.file("x/y/z")).ok());
  CHECK(f.files.sync_dir(f.dir.file("x/y")).ok());
  f.make("a");
  CHECK_FALSE(f.files.create_dir(f.dir.file("a")).ok());
  CHECK_FALSE(f.files.create_dir(f.dir.file("a/b")).ok());
}

TEST_CASE("names are listed in order, renamed and removed", "[env]") {
  FileFixture f;
  for (const char* name : {"c", "a", "b"}) f.make(name);
  CHECK(*f.files.list(f.dir.path()) == std::vector<std::string>{"a", "b", "c"});
  REQUIRE(f.files.rename(f.dir.file("a"), f.dir.file("b")).ok());
  REQUIRE(f.files.remove(f.dir.file("c")).ok());
  CHECK(*f.files.list(f.dir.path()) == std::vector<std::string>{"b"});
  CHECK(f.files.remove(f.dir.file("c")).code() == Code::kNotFound);
  CHECK(f.files.list(f.dir.file("none")).error().code() == Code::kNotFound);
}

TEST_CASE("remove_all takes a tree, a file, and nothing at all", "[env]") {
  FileFixture f;
  REQUIRE(f.files.create_dir(f.dir.file("x/y")).ok());
  f.make("x/y/a");
  f.make("x/b");
  REQUIRE(::symlink(f.dir.path().c_str(), f.dir.file("x/loop").c_str()) == 0);
  CHECK(f.files.remove_all(f.dir.file("x")).ok());
  CHECK_FALSE(f.files.exists(f.dir.file("x")));
  CHECK(f.files.exists(f.dir.path()));
  CHECK(f.files.remove_all(f.dir.file("x")).ok());
}

TEST_CASE("a lock is held once, even within a process, until it is destroyed", "[env]") {
  FileFixture f;
  auto lock = f.files.lock(f.dir.file("LOCK"));
  REQUIRE(lock.has_value());
  const auto second = f.files.lock(f.dir.file("LOCK"));
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code() == Code::kBusy);
  CHECK(second.error().message().find(f.dir.file("LOCK")) != std::string_view::npos);
  lock->reset();
  CHECK(f.files.lock(f.dir.file("LOCK")).has_value());
}

TEST_CASE("truncating cuts and free space is known", "[env]") {
  FileFixture f;
  auto file = f.make("a");
  const Slice text = "abcdef";
  REQUIRE(file->write(0, {&text, 1}).ok());
  REQUIRE(file->truncate(2).ok());
  CHECK(read_all(*file) == "ab");
  CHECK(*f.files.free_bytes(f.dir.path()) > 0);
}

TEST_CASE("a file written atomically replaces the old one and leaves nothing beside it", "[env]") {
  FileFixture f;
  REQUIRE(write_file_atomically(f.files, f.dir.file("CURRENT"), "one").ok());
  REQUIRE(write_file_atomically(f.files, f.dir.file("CURRENT"), "two").ok());
  CHECK(*read_file(f.files, f.dir.file("CURRENT")) == "two");
  CHECK(f.files.list(f.dir.path())->size() == 1);
  CHECK(read_file(f.files, f.dir.file("none")).error().code() == Code::kNotFound);
}

}  // namespace
}  // namespace quorate
