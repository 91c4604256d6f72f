// SPDX-License-Identifier: Apache-2.0
// Where the log's lines go: stderr, stdout or files, as JSON lines or as text for people.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "daemon/options.h"

namespace spdlog {
class logger;
}

namespace quorate::daemon {

// A LogSink over spdlog. Any thread; each line is written out before write() returns.
class LogOutput final : public LogSink {
 public:
  // An error names the file that cannot be opened.
  static Result<std::unique_ptr<LogOutput>> open(const LogOptions& options);
  ~LogOutput() override;

  bool enabled(LogLevel level) const override { return level >= level_; }
  void write(LogLevel level, std::string_view component, std::string_view text) override;

 private:
  LogOutput(std::unique_ptr<spdlog::logger> logger, const LogOptions& options);

  const std::unique_ptr<spdlog::logger> logger_;
  const LogLevel level_;
  const bool json_;
};

// `text` as the inside of a JSON string: quotes, backslashes and control characters escaped.
std::string json_escaped(std::string_view text);

}  // namespace quorate::daemon
