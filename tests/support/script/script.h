// SPDX-License-Identifier: Apache-2.0
// Tests written as dialogues. A script is a text file:
//
//   # a comment, kept
//   > command argument key=value list=(1 2 3) rest
//   the exact output of the command, up to the next blank line, comment or command
//
// run_scripts() plays each file on a fresh handler and reports the first line that differs; with
// --rewrite it writes what came out into the file, to be read as a diff.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace quorate::script {

// What a command that cannot be understood throws; the run fails with file and line.
class BadCommand : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One command line, taken apart. A key that nobody asks for is an error, so that a misspelled one
// does not pass silently.
class Command {
 public:
  explicit Command(std::string_view line);

  const std::string& name() const { return name_; }
  // The words without a key, in order; nothing of them is interpreted.
  const std::vector<std::string>& words() const { return words_; }
  const std::string& word(size_t i) const;
  uint64_t number(size_t i) const;

  bool has(const std::string& key) const { return values_.contains(key); }
  std::string text(const std::string& key, std::string otherwise) const;
  uint64_t number(const std::string& key, uint64_t otherwise) const;
  bool flag(const std::string& key, bool otherwise) const;  // on or off
  std::vector<std::string> list(const std::string& key) const;
  std::vector<uint64_t> numbers(const std::string& key) const;

  void require_all_used() const;

 private:
  std::string name_;
  std::vector<std::string> words_;
  std::map<std::string, std::string> values_;
  mutable std::map<std::string, bool> used_;
};

uint64_t to_number(const std::string& text);

// One script's state. Returns the output, lines that end in '\n'; none may be blank.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual std::string run(const Command& command) = 0;
};

// arguments: [--rewrite] file or directory... Returns the number of scripts that differ, and at
// least 1 when there is none.
int run_scripts(const std::vector<std::string>& arguments,
                const std::function<std::unique_ptr<Handler>()>& make_handler);

}  // namespace quorate::script
