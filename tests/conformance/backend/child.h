// SPDX-License-Identifier: Apache-2.0
// This program again, as a child that runs one hidden test: for what a test must kill, or what may
// crash. The child answers in lines.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace quorate::conformance {

class Child {
 public:
  // Runs the hidden test with `tag` ("[.writer]") on a directory.
  Child(const std::string& tag, const std::string& dir);
  // Killed with SIGKILL if it still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The next whole line, or nothing when the child has closed its end, or no line came in time; a
  // negative time waits for as long as it takes.
  std::optional<std::string> line(int timeout_us = -1);
  // Kills it; what it has written can still be read.
  void kill();

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  std::string buffered_;
  bool killed_ = false;
};

// In the child: the directory it was given (empty: this is no child, and a filter has chosen a
// hidden test), and a line to its parent.
std::string child_dir();
void tell_parent(const std::string& line);

}  // namespace quorate::conformance
