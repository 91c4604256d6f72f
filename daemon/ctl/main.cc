// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "daemon/ctl/command_line.h"
#include "daemon/ctl/log_directory.h"
#include "daemon/ctl/wal_dump.h"
#include "daemon/ctl/wal_verify.h"
#include "env/env.h"

namespace quorate::ctl {
namespace {

constexpr int kNotDone = 2;

int fail(const Status& status) {
  fmt::print(stderr, "quoratectl: {}\n", status.message());
  return kNotDone;
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int look_at_log(const Command& command) {
  const auto env = make_posix_env();
  const auto dir = LogDirectory::open(env->files(), command.dir);
  if (!dir) return fail(dir.status());
  if (command.action == Action::kWalDump)
    return dump_log(env->files(), dir->path(), command, print);
  const Report report = verify_log(env->files(), dir->path());
  print(to_text(report, command.json));
  return exit_code(report.verdict);
}

}  // namespace

int run(const std::vector<std::string>& args) {
  const auto command = parse_command(args);
  if (!command) return fail(command.status());
  switch (command->action) {
    case Action::kHelp: print(help_text()); return 0;
    case Action::kVersion: print(version_text()); return 0;
    case Action::kWalDump:
    case Action::kWalVerify: return look_at_log(*command);
  }
  return kNotDone;
}

}  // namespace quorate::ctl

int main(int argc, char** argv) {
  return quorate::ctl::run({argv + 1, argv + argc});
}
