// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/command_line.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace quorate::ctl {
namespace {

constexpr std::string_view kHelp = R"(quoratectl: looks at what a member has on its disk

  quoratectl wal verify DIR   say whether the log is whole; what is lost, if it is not
  quoratectl wal dump DIR     print segments, batches and records

DIR is the data directory of a member that does not run, or its log's (--wal-dir, DATA-DIR/wal).
Nothing in it is changed, and no member can start there meanwhile.

  --json          one JSON object a line
  --from INDEX    dump: no entry below this index, and no batch without one to print
  --to INDEX      dump: no entry above this index
  --help          print this
  --version       print the version

Exit code 0: the log is whole, a torn end that a crash left included. 1: it is damaged; dump prints
what stands before the damage. 2: it could not be read, or the command was not understood.
docs/formats.md gives the bytes.
)";

Status misuse(const std::string& what) {
  return Status(Code::kInvalidArgument, what + "; quoratectl --help shows what there is");
}

std::optional<uint64_t> parse_index(std::string_view text) {
  uint64_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return index;
}

// The words of a command line, options and their values as two.
std::vector<std::string> split_options(const std::vector<std::string>& args) {
  std::vector<std::string> words;
  for (const std::string& arg : args) {
    const size_t equals = arg.starts_with("--") ? arg.find('=') : std::string::npos;
    words.push_back(arg.substr(0, equals));
    if (equals != std::string::npos) words.push_back(arg.substr(equals + 1));
  }
  return words;
}

Status name_action(const std::vector<std::string>& words, Command& command) {
  if (words.empty()) return misuse("no command was given");
  if (words[0] != "wal") return misuse("there is no command \"" + words[0] + "\"");
  if (words.size() < 2) return misuse("\"wal\" needs \"dump\" or \"verify\"");
  if (words[1] == "dump") {
    command.action = Action::kWalDump;
  } else if (words[1] == "verify") {
    command.action = Action::kWalVerify;
  } else {
    return misuse("\"wal\" has no command \"" + words[1] + "\"");
  }
  if (words.size() < 3) return misuse("\"wal " + words[1] + "\" needs a directory");
  if (words.size() > 3) return misuse("\"wal " + words[1] + "\" takes one directory");
  command.dir = words[2];
  return Status();
}

}  // namespace

Result<Command> parse_command(const std::vector<std::string>& args) {
  Command command;
  std::vector<std::string> plain;
  bool ranged = false;
  const std::vector<std::string> words = split_options(args);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h" || (word == "help" && plain.empty())) return Command{};
    if (word == "--version" || (word == "version" && plain.empty()))
      return Command{Action::kVersion, {}};
    if (word == "--json") {
      command.json = true;
    } else if (word == "--from" || word == "--to") {
      const auto index = i + 1 < words.size() ? parse_index(words[++i]) : std::nullopt;
      if (!index) return misuse(word + " needs an index, as in " + word + "=120");
      (word == "--from" ? command.first : command.last) = *index;
      ranged = true;
    } else if (word.starts_with("-")) {
      return misuse("there is no option " + word);
    } else {
      plain.push_back(word);
    }
  }
  QUORATE_TRY(name_action(plain, command));
  if (ranged && command.action != Action::kWalDump)
    return misuse("--from and --to are for \"wal dump\": a log is whole or it is not");
  if (command.first > command.last) return misuse("--from is above --to");
  return command;
}

std::string help_text() {
  return std::string(kHelp);
}

std::string version_text() {
  return "quoratectl version: " QUORATE_VERSION "\n";
}

}  // namespace quorate::ctl
