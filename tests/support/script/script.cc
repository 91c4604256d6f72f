// SPDX-License-Identifier: Apache-2.0
#include "support/script/script.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

namespace quorate::script {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (char c : line) {
    depth += (c == '(') - (c == ')');
    if (c != ' ' || depth > 0) {
      part.push_back(c);
    } else if (!part.empty()) {
      parts.push_back(std::exchange(part, {}));
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

bool is_command(const std::string& line) {
  return line.starts_with("> ");
}
bool is_output(const std::string& line) {
  return !line.empty() && !line.starts_with("#") && !is_command(line);
}

std::vector<std::string> lines_of(std::istream& from) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(from, line);) lines.push_back(line);
  return lines;
}

// The script with the output that really came.
std::vector<std::string> play(const std::vector<std::string>& script, Handler& handler) {
  std::vector<std::string> played;
  for (size_t i = 0; i < script.size(); ++i) {
    played.push_back(script[i]);
    if (!is_command(script[i])) continue;
    try {
      const Command command(std::string_view(script[i]).substr(2));
      std::istringstream output(handler.run(command));
      command.require_all_used();
      for (const std::string& line : lines_of(output)) played.push_back(line);
    } catch (const std::exception& error) {
      throw BadCommand("line " + std::to_string(i + 1) + ": " + script[i] + ": " + error.what());
    }
    while (i + 1 < script.size() && is_output(script[i + 1])) ++i;
  }
  return played;
}

bool report_difference(const fs::path& file, const std::vector<std::string>& expected,
                       const std::vector<std::string>& played) {
  if (expected == played) return false;
  const auto [there, here] =
      std::mismatch(expected.begin(), expected.end(), played.begin(), played.end());
  std::cout << file.string() << ":" << there - expected.begin() + 1
            << ": differs\n  expected: " << (there == expected.end() ? "the end" : *there)
            << "\n  got:      " << (here == played.end() ? "the end" : *here) << "\n";
  return true;
}

bool fails(const fs::path& file, bool rewrite, Handler& handler) {
  std::ifstream in(file);
  const std::vector<std::string> script = lines_of(in);
  std::vector<std::string> played;
  try {
    played = play(script, handler);
  } catch (const std::exception& error) {
    std::cout << file.string() << ": " << error.what() << "\n";
    return true;
  }
  if (!rewrite) return report_difference(file, script, played);
  if (script == played) return false;
  std::ofstream out(file);
  for (const std::string& line : played) out << line << "\n";
  std::cout << "rewrote " << file.string() << "\n";
  return false;
}

}  // namespace

uint64_t to_number(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw BadCommand("'" + text + "' is no number");
  return number;
}

Command::Command(std::string_view line) {
  const std::vector<std::string> parts = split(line);
  if (parts.empty()) throw BadCommand("a command without a name");
  name_ = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals == std::string::npos) {
      words_.push_back(parts[i]);
    } else {
      values_[parts[i].substr(0, equals)] = parts[i].substr(equals + 1);
    }
  }
}

const std::string& Command::word(size_t i) const {
  if (i >= words_.size()) throw BadCommand("too few arguments");
  return words_[i];
}

uint64_t Command::number(size_t i) const {
  return to_number(word(i));
}

std::string Command::text(const std::string& key, std::string otherwise) const {
  used_[key] = true;
  const auto found = values_.find(key);
  return found == values_.end() ? otherwise : found->second;
}

uint64_t Command::number(const std::string& key, uint64_t otherwise) const {
  const std::string value = text(key, "");
  return value.empty() ? otherwise : to_number(value);
}

bool Command::flag(const std::string& key, bool otherwise) const {
  const std::string value = text(key, otherwise ? "on" : "off");
  if (value != "on" && value != "off") throw BadCommand(key + " is neither on nor off");
  return value == "on";
}

std::vector<std::string> Command::list(const std::string& key) const {
  std::string value = text(key, "");
  if (value.starts_with("(") && value.ends_with(")")) value = value.substr(1, value.size() - 2);
  return split(value);
}

std::vector<uint64_t> Command::numbers(const std::string& key) const {
  std::vector<uint64_t> numbers;
  for (const std::string& item : list(key)) numbers.push_back(to_number(item));
  return numbers;
}

void Command::require_all_used() const {
  for (const auto& [key, value] : values_)
    if (!used_.contains(key)) throw BadCommand("nobody knows the argument " + key + "=" + value);
}

int run_scripts(const std::vector<std::string>& arguments,
                const std::function<std::unique_ptr<Handler>()>& make_handler) {
  bool rewrite = false;
  std::vector<fs::path> files;
  for (const std::string& argument : arguments) {
    if (argument == "--rewrite") {
      rewrite = true;
    } else if (fs::is_directory(argument)) {
      for (const auto& entry : fs::directory_iterator(argument))
        if (entry.path().extension() == ".txt" && entry.path().filename() != "CMakeLists.txt")
          files.push_back(entry.path());
    } else {
      files.emplace_back(argument);
    }
  }
  std::sort(files.begin(), files.end());
  int failed = 0;
  for (const fs::path& file : files) failed += fails(file, rewrite, *make_handler());
  std::cout << files.size() - static_cast<size_t>(failed) << " of " << files.size()
            << " scripts agree\n";
  return files.empty() ? 1 : failed;
}

}  // namespace quorate::script
