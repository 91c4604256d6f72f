// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/command_line.h"

#include <catch2/catch.hpp>

namespace quorate::ctl {
namespace {

using Words = std::vector<std::string>;

Command accepted(const Words& args) {
  const auto command = parse_command(args);
  INFO(command.status().to_string());
  REQUIRE(command.has_value());
  return *command;
}
std::string refusal(const Words& args) {
  const auto command = parse_command(args);
  return command ? "accepted" : std::string(command.error().message());
}

TEST_CASE("a log is dumped or verified by the directory's name", "[ctl]") {
  const Command verify = accepted({"wal", "verify", "/data"});
  CHECK(verify.action == Action::kWalVerify);
  CHECK(verify.dir == "/data");
  CHECK_FALSE(verify.json);
  const Command dump = accepted({"wal", "--json", "dump", "--from=3", "--to", "9", "/data"});
  CHECK(dump.action == Action::kWalDump);
  CHECK(dump.json);
  CHECK(dump.first == 3);
  CHECK(dump.last == 9);
  CHECK_FALSE(dump.dumps_all());
}

TEST_CASE("help and version need no command", "[ctl]") {
  for (const char* word : {"--help", "-h", "help"}) CHECK(accepted({word}).action == Action::kHelp);
  CHECK(accepted({"wal", "--help"}).action == Action::kHelp);
  CHECK(accepted({"--version"}).action == Action::kVersion);
  CHECK(help_text().find("wal verify DIR") != std::string::npos);
}

TEST_CASE("what is not understood is refused with the word that was meant", "[ctl]") {
  const auto refused = [](const Words& args, const std::string& words) {
    INFO(refusal(args));
    return refusal(args).starts_with(words);
  };
  CHECK(refused({}, "no command was given"));
  CHECK(refused({"wall"}, "there is no command \"wall\""));
  CHECK(refused({"wal"}, "\"wal\" needs \"dump\" or \"verify\""));
  CHECK(refused({"wal", "check", "/d"}, "\"wal\" has no command \"check\""));
  CHECK(refused({"wal", "dump"}, "\"wal dump\" needs a directory"));
  CHECK(refused({"wal", "dump", "/a", "/b"}, "\"wal dump\" takes one directory"));
  CHECK(refused({"wal", "dump", "/a", "--jsn"}, "there is no option --jsn"));
  CHECK(refused({"wal", "dump", "/a", "--from"}, "--from needs an index"));
  CHECK(refused({"wal", "dump", "/a", "--to=x1"}, "--to needs an index, as in --to=120"));
  CHECK(refused({"wal", "dump", "/a", "--from=4", "--to=3"}, "--from is above --to"));
  CHECK(refused({"wal", "verify", "/a", "--from=4"}, "--from and --to are for \"wal dump\""));
}

}  // namespace
}  // namespace quorate::ctl
