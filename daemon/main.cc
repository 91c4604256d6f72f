// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "daemon/options.h"
#include "daemon/run.h"

int main(int argc, char** argv, char** environment) {
  using namespace quorate::daemon;
  const std::vector<std::string> args(argv + 1, argv + argc);
  std::vector<std::string> variables;
  for (; *environment != nullptr; ++environment) variables.emplace_back(*environment);

  const auto options = parse_options(args, variables);
  if (!options) {
    fmt::print(stderr, "quorated: {}\n", options.error().message());
    return 2;
  }
  switch (options->action) {
    case Action::kPrintHelp: fmt::print("{}", help_text()); return 0;
    case Action::kPrintVersion: fmt::print("{}", version_text()); return 0;
    case Action::kServe: break;
  }
  return run(*options);
}
