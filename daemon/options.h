// SPDX-License-Identifier: Apache-2.0
// What the command line and the environment ask for, checked and in types that cannot be wrong.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "server/config.h"

namespace quorate::daemon {

enum class Action { kServe, kPrintHelp, kPrintVersion };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  bool json = true;
  std::vector<std::string> outputs{"stderr"};  // stderr, stdout, or files
};

struct Options {
  Action action = Action::kServe;

  server::Config config;   // all but reader_threads, which hangs on the machine
  std::string plugin_dir;  // empty: beside the program
  LogOptions log;
  // Sentences for the log: what was accepted and yet deserves a look.
  std::vector<std::string> warnings;
};

// args: the command line without the program's name. environment: "NAME=value" entries; those that
// begin with QUORATE_ or ETCD_ are settings. An error is one line that says what to write instead.
// Touches no file and no network.
Result<Options> parse_options(std::span<const std::string> args,
                              std::span<const std::string> environment);

std::string help_text();
std::string version_text();

}  // namespace quorate::daemon
