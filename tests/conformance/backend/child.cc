// SPDX-License-Identifier: Apache-2.0
#include "conformance/backend/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <vector>

extern char** environ;

namespace quorate::conformance {
namespace {

constexpr int kParentFd = 3;

}  // namespace

Child::Child(const std::string& tag, const std::string& dir) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  fd_ = ends[0];

  std::vector<std::string> environment = {"QUORATE_CHILD_DIR=" + dir};
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  std::vector<char*> envp;
  for (std::string& entry : environment) envp.push_back(entry.data());
  envp.push_back(nullptr);
  std::string program = "/proc/self/exe", test = tag, flag = "-o", sink = "/dev/null";
  char* argv[] = {program.data(), test.data(), flag.data(), sink.data(), nullptr};

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kParentFd);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int error = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, envp.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(fd_);
    throw std::runtime_error("posix_spawn failed");
  }
}

Child::~Child() {
  kill();
  ::close(fd_);
}

void Child::kill() {
  if (killed_) return;
  killed_ = true;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<std::string> Child::line(int timeout_us) {
  for (;;) {
    if (const size_t end = buffered_.find('\n'); end != std::string::npos) {
      std::string found = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      return found;
    }
    pollfd poll = {fd_, POLLIN, 0};
    const timespec timeout = {timeout_us / 1000000, timeout_us % 1000000 * 1000};
    const int ready = ::ppoll(&poll, 1, timeout_us < 0 ? nullptr : &timeout, nullptr);
    if (ready == 0) return std::nullopt;
    char bytes[4096];
    const ssize_t count = ready < 0 ? -1 : ::read(fd_, bytes, sizeof bytes);
    if (count == 0) return std::nullopt;
    if (count > 0) buffered_.append(bytes, static_cast<size_t>(count));
  }
}

std::string child_dir() {
  const char* dir = std::getenv("QUORATE_CHILD_DIR");
  return dir == nullptr ? "" : dir;
}

void tell_parent(const std::string& line) {
  const std::string bytes = line + "\n";
  if (::write(kParentFd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    std::_Exit(1);
}

}  // namespace quorate::conformance
